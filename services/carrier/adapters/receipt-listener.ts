import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Clock } from "../../shared/core/clock.ts";
import { type Listening, listen } from "../../shared/io/listen.ts";
import { readPointerText } from "../domain/http-template.ts";
import type { IncomingReceipt, ReceiptVerdict } from "../domain/message.ts";
import { type HttpReceiptSettings, readReceiptPath } from "../domain/receipt-url.ts";

/** The listener for receipts of HTTP carriers. */
export type ReceiptListener = Listening;

export type ReceiptListenerOptions = {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** The settings of an HTTP connector; `not_read` when it may exist unread, undefined when it does not exist. */
  readonly findSettings: (connectorId: string) => HttpReceiptSettings | "not_read" | undefined;
  /** Takes a receipt; the carrier gets 204 when the promise resolves. */
  readonly onReceipt: (receipt: IncomingReceipt) => Promise<void>;
};

const BODY_BYTES_MAX = 64 * 1024;
/** The port may be public, and the process also has the links to carriers. */
const CONNECTIONS_MAX = 1000;
/** An idle connection is closed after this time. */
const IDLE_MAX_MS = 30_000;

/**
 * Serves `POST /receipts/<connector>/<message>/<signature>`: 204 when the receipt is durable, 404 for a URL that this
 * service never issued, 422 for a body without a known status, 503 when the carrier should retry.
 */
export async function startReceiptListener(
  options: ReceiptListenerOptions,
): Promise<ReceiptListener> {
  const server = createServer({
    requestTimeout: 10_000,
    headersTimeout: 5000,
    connectionsCheckingInterval: 5000,
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.timeout = IDLE_MAX_MS;
  server.on("request", (request, response) => {
    answer(request, options).then(
      (status) => reply(response, status),
      () => reply(response, 503),
    );
  });
  return listen(server, options.host, options.port);
}

async function answer(request: IncomingMessage, options: ReceiptListenerOptions): Promise<number> {
  const place = readReceiptPath((request.url ?? "").split("?", 1)[0] ?? "");
  const settings = place === undefined ? undefined : options.findSettings(place.connectorId);
  if (place === undefined || settings === undefined) return 404;
  // 404 would be final for some carriers, and the connectors will be read in a moment.
  if (settings === "not_read") return 503;
  if (!place.isSigned(settings.receiptSecret)) return 404;
  if (request.method !== "POST") return 405;
  const body = await readBody(request);
  if (body === undefined) return 413;
  const document = parseBody(body, request.headers["content-type"] ?? "");
  const raw = readPointerText(document, settings.receiptStatusPointer);
  const reading = readStatus(raw, settings.receiptStatuses);
  if (reading === undefined) return 422;
  await options.onReceipt({
    connectorId: place.connectorId,
    messageId: place.messageId,
    keys: [],
    ...reading,
    carrierCode: raw.slice(0, 64),
    occurredAtMs: options.clock.now(),
    to: "",
    from: "",
  });
  return 204;
}

/** A status maps to a verdict, or to our error code of an undelivered message. */
function readStatus(
  raw: string,
  statuses: Readonly<Record<string, string>>,
): { verdict: ReceiptVerdict; errorCode: string } | undefined {
  const ours = Object.hasOwn(statuses, raw) ? statuses[raw] : undefined;
  if (ours === undefined) return undefined;
  if (ours === "delivered" || ours === "acknowledged") return { verdict: ours, errorCode: "" };
  return { verdict: "undelivered", errorCode: ours === "undelivered" ? "unknown" : ours };
}

function parseBody(body: string, contentType: string): unknown {
  if (contentType.startsWith("application/x-www-form-urlencoded")) {
    return Object.fromEntries(new URLSearchParams(body));
  }
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function reply(response: ServerResponse, status: number): void {
  // A client without a valid URL needs no further request.
  if (status === 404) response.setHeader("connection", "close");
  response.writeHead(status, { "cache-control": "no-store", "content-length": "0" });
  response.end();
}
