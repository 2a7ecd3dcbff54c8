/** Between gRPC metadata and the Fetch API's `Headers`, which Connect's API shows to handlers. */
import { Metadata } from "@grpc/grpc-js";

/** What Connect's API takes for headers (the Fetch API's `HeadersInit`). */
export type HeaderSource = ConstructorParameters<typeof Headers>[0];

/** Copies metadata into `Headers`; binary values (`-bin`) become base64, as Connect has them. */
export function toHeaders(metadata: Metadata): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(metadata.toJSON() as Record<string, unknown[]>)) {
    for (const value of values) {
      headers.append(name, Buffer.isBuffer(value) ? value.toString("base64") : String(value));
    }
  }
  return headers;
}

/** HTTP/2 forbids or reserves these; a copy of them would break the call. */
const RESERVED = new Set(["connection", "content-length", "content-type", "host", "te"]);

/**
 * Adds headers to metadata, replacing what is there under the same name. Throws when a value has
 * characters outside printable ASCII (gRPC over HTTP/2, "Custom-Metadata").
 */
export function addHeaders(metadata: Metadata, headers: Headers): void {
  for (const [name, value] of headers) {
    if (RESERVED.has(name) || name.startsWith("grpc-")) continue;
    if (!name.endsWith("-bin")) {
      metadata.set(name, value);
      continue;
    }
    metadata.remove(name);
    for (const part of value.split(",")) metadata.add(name, Buffer.from(part.trim(), "base64"));
  }
}

/** Metadata of the given headers, or undefined when there are none. */
export function toMetadata(headers: Headers | undefined): Metadata | undefined {
  if (headers === undefined) return undefined;
  const metadata = new Metadata();
  addHeaders(metadata, headers);
  return metadata;
}
