/** One request and its response on one connection. */
import { startDeadlineTimer } from "../../../shared/flow/deadline-timer.ts";
import type { WebhookRequest } from "../../app/ports.ts";
import type { AttemptError, RequestResult } from "../../domain/delivery.ts";
import type { Connection, ConnectionListener } from "./connection.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { ResponseParser } from "./response-parser.ts";
import { serializeRequest } from "./serialize-request.ts";
import { AddressNotAllowedError } from "./ssrf-guard.ts";

/** Counts responses by the kind of their connection. */
export type ConnectionMetrics = { readonly onConnection: (kind: "new" | "reused") => void };

/** The parts that the requests of a client share. */
export type RequestContext = {
  readonly connections: ConnectionPool;
  readonly metrics: ConnectionMetrics;
  /** Requests that have not ended. */
  readonly live: Set<HttpRequest>;
};

/** How long the body of a 2xx response is read: a complete response keeps the connection. */
const BODY_GRACE_MS = 1000;

/** One request. It ends once: with a result, or without one when it was stopped before it was written. */
export class HttpRequest implements ConnectionListener {
  readonly endpointId: string;
  readonly #parts: RequestContext;
  readonly #options: WebhookRequest;
  readonly #request: string;
  readonly #onEnd: (result: RequestResult | undefined) => void;
  readonly #startedMs = performance.now();
  #timer: NodeJS.Timeout;
  #connection: Connection | undefined = undefined;
  #response = new ResponseParser();
  /** Whether the request was not written yet. */
  #isToBeWritten = true;
  #isOver = false;

  constructor(
    parts: RequestContext,
    options: WebhookRequest,
    onEnd: (result: RequestResult | undefined) => void,
  ) {
    this.endpointId = options.endpointId;
    this.#parts = parts;
    this.#options = options;
    this.#request = serializeRequest(options.target, options.headers, options.body);
    this.#onEnd = onEnd;
    // One deadline covers name, connection, handshake and the head of the response.
    this.#timer = startDeadlineTimer(options.timeoutMs, () => this.fail("timeout"));
    parts.live.add(this);
  }

  /** Call after the name was resolved and its addresses were allowed. */
  start(): void {
    if (this.#isOver) return;
    const { connections } = this.#parts;
    const { endpointId } = this;
    const { target } = this.#options;
    const connection = connections.acquire(endpointId, target);
    this.#connection = connection;
    connection.listener = this;
    if (connection.isReady) this.onReady(connection);
  }

  /** Ends the request if it was not written; a written request still gets its response. */
  stop(): void {
    if (this.#isToBeWritten) this.#end(undefined);
  }

  /**
   * A 2xx status line in time is success, regardless of the rest
   * (`docs/contract.md#webhook-delivery`).
   */
  fail(error: AttemptError): void {
    if (isSuccess(this.#response.httpStatus)) this.#finish();
    else this.#end({ error, httpStatus: this.#response.httpStatus, answer: "" });
  }

  onReady(connection: Connection): void {
    this.#isToBeWritten = false;
    connection.write(this.#request);
  }

  onData(connection: Connection, chunk: Buffer): void {
    const response = this.#response;
    const wasUnknown = response.httpStatus === 0;
    response.push(chunk);
    if (wasUnknown && response.httpStatus !== 0) {
      this.#parts.metrics.onConnection(connection.isReused ? "reused" : "new");
    }
    if (response.isDone) {
      this.#connection = undefined;
      if (response.isReusable) this.#parts.connections.release(connection, response.keepAliveMs);
      else connection.close();
      this.#finish();
    } else if (response.isFaulty) this.fail("connection");
    else if (wasUnknown && isSuccess(response.httpStatus)) this.#awaitBody();
  }

  /** The result is certain. The rest is read for the log, and to keep the connection. */
  #awaitBody(): void {
    const leftMs = this.#options.timeoutMs - (performance.now() - this.#startedMs);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#finish(), Math.min(BODY_GRACE_MS, leftMs));
  }

  /**
   * A connection that ends without a response is a failed attempt, also when it carried requests
   * before: the receiver may have processed this one, so it must not leave twice.
   */
  onClosed(_connection: Connection, error: Error | undefined): void {
    const response = this.#response;
    this.#connection = undefined;
    if (error === undefined) response.end();
    if (response.isDone) this.#finish();
    else this.fail(response.httpStatus === 0 ? classifyError(error) : "connection");
  }

  #finish(): void {
    const { httpStatus, text } = this.#response;
    const isRedirect = httpStatus >= 300 && httpStatus < 400;
    const error = isSuccess(httpStatus) ? "" : isRedirect ? "redirect" : "status";
    this.#end({ error, httpStatus, answer: text });
  }

  #end(ending: Omit<RequestResult, "durationMs"> | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#parts.live.delete(this);
    // A late response would be read as the response of the next request.
    this.#connection?.destroy();
    const durationMs = Math.round(performance.now() - this.#startedMs);
    this.#onEnd(ending === undefined ? undefined : { ...ending, durationMs });
  }
}

function isSuccess(httpStatus: number): boolean {
  return httpStatus >= 200 && httpStatus < 300;
}

/** The error class of a failure before the response. */
export function classifyError(error: unknown): AttemptError {
  if (error instanceof AddressNotAllowedError) return "address_not_allowed";
  const code = codeOf(error);
  const isTls =
    code.startsWith("ERR_TLS") ||
    code.startsWith("ERR_SSL") ||
    code === "EPROTO" ||
    /CERT|SIGNATURE|ISSUER|SELF_SIGNED|CRL|HOSTNAME_MISMATCH/.test(code);
  return isTls ? "tls" : "connection";
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
