import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Clock } from "../../shared/core/clock.ts";
import { type Listening, listen } from "../../shared/io/listen.ts";
import { readBody } from "../../shared/io/read-body.ts";
import {
  type HttpInboundSettings,
  readHttpInbound,
  readInboundPath,
} from "../domain/http-inbound.ts";
import { readPointerText } from "../domain/http-template.ts";
import type { InboundPart } from "../domain/inbound-part.ts";
import type { IncomingReceipt, ReceiptVerdict } from "../domain/message.ts";
import {
  type HttpReceiptSettings,
  type ReceiptPlace,
  readReceiptPath,
} from "../domain/receipt-url.ts";

/** The listener for callbacks of HTTP carriers. */
export type CallbackListener = Listening;

/** The settings of a connector's callbacks. */
export type HttpCallbackSettings = HttpReceiptSettings & HttpInboundSettings;

export type CallbackListenerOptions = {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** An HTTP connector's settings; `not_read` while they cannot be read, undefined when there is no such connector. */
  readonly findSettings: (connectorId: string) => HttpCallbackSettings | "not_read" | undefined;
  /** Takes a receipt; the carrier gets 204 when the promise resolves. */
  readonly onReceipt: (receipt: IncomingReceipt) => Promise<void>;
  /** Takes a message from a handset; the carrier gets 200 when the promise resolves. */
  readonly onInbound: (connectorId: string, part: InboundPart) => Promise<void>;
};

const BODY_BYTES_MAX = 64 * 1024;
/**
 * The maximum number of open connections: the port may be public, and a flood must not harm the links to carriers
 * in this process.
 */
const CONNECTIONS_MAX = 1000;
/** An idle connection is closed after this time. */
const IDLE_MAX_MS = 30_000;

/**
 * Serves `POST /receipts/<connector>/<message>/<signature>` (204) and `POST /inbound/<connector>/<signature>` (200),
 * when the receipt or the message is durable. 404 for a URL that this service never issued, 422 for a body without a
 * known status, or without sender, number and text, 503 when the carrier should retry.
 */
export async function startCallbackListener(
  options: CallbackListenerOptions,
): Promise<CallbackListener> {
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

async function answer(request: IncomingMessage, options: CallbackListenerOptions): Promise<number> {
  const path = (request.url ?? "").split("?", 1)[0] ?? "";
  const receipt = readReceiptPath(path);
  if (receipt !== undefined) {
    return takeCallback(request, options, receipt, (document, settings) =>
      takeReceipt(document, settings, receipt, options),
    );
  }
  const inbound = readInboundPath(path);
  if (inbound === undefined) return 404;
  return takeCallback(request, options, inbound, async (document, settings) => {
    const part = readHttpInbound(document, settings);
    if (part === undefined) return 422;
    await options.onInbound(inbound.connectorId, part);
    return 200;
  });
}

/** Checks the URL and reads the body of a callback; `take` returns the status when its content is durable. */
async function takeCallback(
  request: IncomingMessage,
  options: CallbackListenerOptions,
  place: { readonly connectorId: string; isSigned(secret: string): boolean },
  take: (document: unknown, settings: HttpCallbackSettings) => Promise<number>,
): Promise<number> {
  const settings = options.findSettings(place.connectorId);
  if (settings === undefined) return 404;
  // Not 404, which is final for some carriers: the connectors will be read in a moment.
  if (settings === "not_read") return 503;
  if (!place.isSigned(settings.receiptSecret)) return 404;
  if (request.method !== "POST") return 405;
  const body = await readBody(request, BODY_BYTES_MAX);
  if (body === undefined) return 413;
  return take(parseBody(body.toString("utf8"), request.headers["content-type"] ?? ""), settings);
}

async function takeReceipt(
  document: unknown,
  settings: HttpReceiptSettings,
  { connectorId, messageId }: ReceiptPlace,
  { onReceipt, clock }: CallbackListenerOptions,
): Promise<number> {
  const raw = readPointerText(document, settings.receiptStatusPointer);
  const reading = readStatus(raw, settings.receiptStatuses);
  if (reading === undefined) return 422;
  await onReceipt({
    connectorId,
    messageId,
    keys: [],
    ...reading,
    carrierCode: raw.slice(0, 64),
    occurredAtMs: clock.now(),
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

function reply(response: ServerResponse, status: number): void {
  // Close the connection of a client without a valid URL: it has no further request to make.
  if (status === 404) response.setHeader("connection", "close");
  response.writeHead(status, { "cache-control": "no-store", "content-length": "0" });
  response.end();
}
