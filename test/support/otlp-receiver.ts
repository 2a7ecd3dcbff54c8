/**
 * A receiver of traces for tests: OTLP over HTTP in protobuf, as collectors take it, decoded by hand
 * after opentelemetry-proto's trace/v1/trace.proto.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { BinaryReader } from "@bufbuild/protobuf/wire";

/** One span as it arrived. Ids are in hexadecimal; `parentId` is empty for a root. */
export type ReceivedSpan = {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isError: boolean;
};

/** A running receiver. */
export type OtlpReceiver = {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  close(): Promise<void>;
};

/** Starts a receiver on a free port of 127.0.0.1. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const isOurs = request.method === "POST" && request.url === "/v1/traces";
      if (isOurs) spans.push(...readRequest(Buffer.concat(chunks)));
      response.writeHead(isOurs ? 200 : 404, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Fields = Map<number, (Uint8Array | number)[]>;

/** The fields of a message by number: length-delimited ones as bytes, varints as numbers. */
function fieldsOf(bytes: Uint8Array): Fields {
  const fields: Fields = new Map();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    let value: Uint8Array | number | undefined;
    if (wireType === 2) value = reader.bytes();
    else if (wireType === 0) value = Number(reader.int64());
    else reader.skip(wireType, field);
    if (value !== undefined) fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}

function bytesAt(fields: Fields, field: number): Uint8Array[] {
  return (fields.get(field) ?? []).filter((value) => typeof value !== "number");
}

function numberAt(fields: Fields, field: number): number {
  const value = fields.get(field)?.[0];
  return typeof value === "number" ? value : 0;
}

function textAt(fields: Fields, field: number): string {
  return Buffer.from(bytesAt(fields, field)[0] ?? []).toString("utf8");
}

function hexAt(fields: Fields, field: number): string {
  return Buffer.from(bytesAt(fields, field)[0] ?? []).toString("hex");
}

function readRequest(body: Uint8Array): ReceivedSpan[] {
  return bytesAt(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const fields = fieldsOf(resourceSpans);
    const resource = fieldsOf(bytesAt(fields, 1)[0] ?? new Uint8Array());
    const service = String(readAttributes(bytesAt(resource, 1))["service.name"] ?? "");
    return bytesAt(fields, 2)
      .flatMap((scopeSpans) => bytesAt(fieldsOf(scopeSpans), 2))
      .map((span) => readSpan(service, fieldsOf(span)));
  });
}

function readSpan(service: string, fields: Fields): ReceivedSpan {
  const status = fieldsOf(bytesAt(fields, 15)[0] ?? new Uint8Array());
  return {
    service,
    traceId: hexAt(fields, 1),
    spanId: hexAt(fields, 2),
    parentId: hexAt(fields, 4),
    name: textAt(fields, 5),
    kind: numberAt(fields, 6),
    attributes: readAttributes(bytesAt(fields, 9)),
    links: bytesAt(fields, 13).map((bytes) => {
      const link = fieldsOf(bytes);
      return { traceId: hexAt(link, 1), spanId: hexAt(link, 2) };
    }),
    isError: numberAt(status, 3) === 2,
  };
}

function readAttributes(pairs: readonly Uint8Array[]): Record<string, string | number | boolean> {
  return Object.fromEntries(
    pairs.map((bytes) => {
      const pair = fieldsOf(bytes);
      const value = fieldsOf(bytesAt(pair, 2)[0] ?? new Uint8Array());
      if (value.has(1)) return [textAt(pair, 1), textAt(value, 1)];
      if (value.has(2)) return [textAt(pair, 1), numberAt(value, 2) === 1];
      return [textAt(pair, 1), numberAt(value, 3)];
    }),
  );
}
