/** Converts between gRPC metadata and the Fetch API's `Headers`, which Connect shows to handlers. */
import { Metadata } from "@grpc/grpc-js";

/** The types that Connect accepts as headers (the Fetch API's `HeadersInit`). */
export type HeaderSource = ConstructorParameters<typeof Headers>[0];

/** Copies metadata into `Headers`; binary values (`-bin`) become base64, as in Connect. */
export function toHeaders(metadata: Metadata): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(metadata.toJSON() as Record<string, unknown[]>)) {
    for (const value of values) {
      headers.append(name, Buffer.isBuffer(value) ? value.toString("base64") : String(value));
    }
  }
  return headers;
}

/** HTTP/2 forbids or reserves these headers; copying them would break the call. */
const RESERVED = new Set(["connection", "content-length", "content-type", "host", "te"]);

/**
 * Adds headers to metadata and replaces values of the same name. Throws for a value with characters outside
 * printable ASCII (gRPC over HTTP/2, "Custom-Metadata").
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

/** The metadata of the given headers, or undefined when there are none. */
export function toMetadata(headers: Headers | undefined): Metadata | undefined {
  if (headers === undefined) return undefined;
  const metadata = new Metadata();
  addHeaders(metadata, headers);
  return metadata;
}
