/** One request and its answer: a connection is taken, used and given back. */
import { startDeadlineTimer } from "../../../shared/flow/deadline-timer.ts";
import type { AttemptError, AttemptResult } from "../../domain/delivery.ts";
import type { Connection, ConnectionUser } from "./connection.ts";
import type { Connections } from "./connection-pool.ts";
import { ResponseParser } from "./response-parser.ts";
import type { SenderEvents, SendRequest } from "./sender.ts";
import { composeRequest } from "./serialize-request.ts";
import { AddressNotAllowedError } from "./ssrf-guard.ts";

/** What the exchanges of a sender share. */
export type ExchangeParts = {
  readonly connections: Connections;
  readonly events: SenderEvents;
  /** Exchanges that are not over. */
  readonly live: Set<HttpRequest>;
};

/** After a head that says success, so much longer is read: a whole answer keeps the connection. */
const BODY_GRACE_MS = 1000;

/** Ends once, with a result, or with none when it was stopped before anything was written. */
export class HttpRequest implements ConnectionUser {
  readonly endpointId: string;
  readonly #parts: ExchangeParts;
  readonly #wanted: SendRequest;
  readonly #request: string;
  readonly #onEnd: (result: AttemptResult | undefined) => void;
  readonly #startedMs = performance.now();
  #timer: NodeJS.Timeout;
  #connection: Connection | undefined = undefined;
  #answer = new ResponseParser();
  /** Whether the request is still to be written, to the connection that it has or waits for. */
  #isToBeWritten = true;
  #isOver = false;

  constructor(
    parts: ExchangeParts,
    wanted: SendRequest,
    onEnd: (result: AttemptResult | undefined) => void,
  ) {
    this.endpointId = wanted.endpointId;
    this.#parts = parts;
    this.#wanted = wanted;
    this.#request = composeRequest(wanted.target, wanted.headers, wanted.body);
    this.#onEnd = onEnd;
    // One clock for everything: name, connection, handshake and the answer's head.
    this.#timer = startDeadlineTimer(wanted.timeoutMs, () => this.fail("timeout"));
    parts.live.add(this);
  }

  /** Goes on once it is known that the name may be asked. */
  start(): void {
    if (this.#isOver) return;
    const { connections } = this.#parts;
    const { endpointId } = this;
    const { target } = this.#wanted;
    const connection = connections.acquire(endpointId, target);
    this.#connection = connection;
    connection.user = this;
    if (connection.isReady) this.onReady(connection);
  }

  /** Ends the request if it was not written; a written request still gets its response. */
  stop(): void {
    if (this.#isToBeWritten) this.#end(undefined);
  }

  /** A 2xx head in time is success, whatever becomes of the body (`service.md` "Delivery rules"). */
  fail(error: AttemptError): void {
    if (isSuccess(this.#answer.httpStatus)) this.#judge();
    else this.#end({ error, httpStatus: this.#answer.httpStatus, answer: "" });
  }

  onReady(connection: Connection): void {
    this.#isToBeWritten = false;
    connection.write(this.#request);
  }

  onData(connection: Connection, chunk: Buffer): void {
    const answer = this.#answer;
    const wasUnknown = answer.httpStatus === 0;
    answer.push(chunk);
    if (wasUnknown && answer.httpStatus !== 0) {
      this.#parts.events.onConnection(connection.isReused ? "reused" : "new");
    }
    if (answer.isDone) {
      this.#connection = undefined;
      if (answer.isReusable) this.#parts.connections.release(connection, answer.keepAliveMs);
      else connection.retire();
      this.#judge();
    } else if (answer.isFaulty) this.fail("connection");
    else if (wasUnknown && isSuccess(answer.httpStatus)) this.#awaitRest();
  }

  /** The result is certain; the rest is awaited only for what the log and the connection gain. */
  #awaitRest(): void {
    const leftMs = this.#wanted.timeoutMs - (performance.now() - this.#startedMs);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#judge(), Math.min(BODY_GRACE_MS, leftMs));
  }

  /**
   * A connection that ends without a response is a failed attempt, also when it carried requests
   * before: the receiver may have processed this one, so it must not leave twice.
   */
  onGone(_connection: Connection, error: Error | undefined): void {
    const answer = this.#answer;
    this.#connection = undefined;
    if (error === undefined) answer.end();
    if (answer.isDone) this.#judge();
    else this.fail(answer.httpStatus === 0 ? classify(error) : "connection");
  }

  #judge(): void {
    const { httpStatus, text } = this.#answer;
    const isRedirect = httpStatus >= 300 && httpStatus < 400;
    const error = isSuccess(httpStatus) ? "" : isRedirect ? "redirect" : "status";
    this.#end({ error, httpStatus, answer: text });
  }

  #end(ending: Omit<AttemptResult, "durationMs"> | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#parts.live.delete(this);
    // An answer that is still to come would be taken for that of the next request.
    this.#connection?.destroy();
    const durationMs = Math.round(performance.now() - this.#startedMs);
    this.#onEnd(ending === undefined ? undefined : { ...ending, durationMs });
  }
}

function isSuccess(httpStatus: number): boolean {
  return httpStatus >= 200 && httpStatus < 300;
}

/** What a fault before the answer is called. */
export function classify(error: unknown): AttemptError {
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
