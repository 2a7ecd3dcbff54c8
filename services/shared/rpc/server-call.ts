/**
 * One call on the server, from its metadata to its status. It uses grpc-js's call interface directly: the
 * stream objects that grpc-js creates for handlers cost more than a short call. Messages are read one by one,
 * and each is sent after the one before was written.
 *
 * - opened: metadata arrived; refused here when the caller or the load does not allow it.
 * - running: the request is complete (or, for client streams, has begun) and the handler works.
 * - done: the status was sent, or the caller left; the handler's result no longer matters, but the call counts
 *   as in flight until the handler has settled.
 */
import { setImmediate as endOfTurn } from "node:timers/promises";
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata, type ServerInterceptingCallInterface, status } from "@grpc/grpc-js";
import { AppError } from "../core/errors.ts";
import type { OpenSpan } from "../io/tracing.ts";
import { readCall, runInCall } from "./call-context.ts";
import type { CallReport, RpcLog } from "./call-report.ts";
import { statusName } from "./call-report.ts";
import { endCallSpan, openServerSpan } from "./call-spans.ts";
import { refusal, showError, wrongCount } from "./error-status.ts";
import { CallScope } from "./handler-context.ts";
import { toHeaders, toMetadata } from "./headers.ts";
import { invokeStream, invokeUnary } from "./invoke.ts";
import { createInbox, type Inbox } from "./message-queue.ts";
import type { Route } from "./routes.ts";
import { encodeStatus } from "./wire-status.ts";

/** The state that all calls of one server share. */
export type CallHost = {
  /** Returns the caller's name, or throws an `AppError`. */
  readonly authorize: (
    route: Route,
    metadata: Metadata,
    call: ServerInterceptingCallInterface,
  ) => string | undefined;
  readonly maxInFlight: number;
  readonly maxMessageBytes: number;
  /** The time limit of unary calls without a deadline. */
  readonly unaryTimeoutMs: number;
  /** Calls whose handler has not settled. */
  inFlight: number;
  /** Calls in progress, for a forced end. */
  readonly calls: Set<ServerCall>;
  readonly onCall: ((report: CallReport) => void) | undefined;
  readonly log: RpcLog | undefined;
};

/** Drives one call. A class, because it owns an HTTP/2 stream and every call creates one. */
export class ServerCall {
  readonly #call: ServerInterceptingCallInterface;
  readonly #route: Route;
  readonly #host: CallHost;
  readonly #mayReceive: (() => boolean) | undefined;
  readonly #startedMs = performance.now();
  #metadata = NO_METADATA;
  #caller: string | undefined;
  #scope: CallScope | undefined;
  #span: OpenSpan | undefined;
  #inbox: Inbox<Message> | undefined;
  #message: Message | undefined;
  #timer: NodeJS.Timeout | undefined;
  #headersSent = false;
  #isDone = false;
  /** Rejects the pending write when the call ends during it. */
  #abandonWrite: ((reason: unknown) => void) | undefined;

  /** `mayReceive` decides about each message; it has ended the connection when it refuses one. */
  constructor(
    call: ServerInterceptingCallInterface,
    route: Route,
    host: CallHost,
    mayReceive?: () => boolean,
  ) {
    this.#call = call;
    this.#route = route;
    this.#host = host;
    this.#mayReceive = mayReceive;
  }

  onReceiveMetadata(metadata: Metadata): void {
    this.#metadata = metadata;
    try {
      if (!this.#route.isOpen) this.#caller = this.#admit(metadata);
    } catch (error) {
      this.#fail(error);
      return;
    }
    const { kind } = this.#route.spec;
    if (kind === "unary" || kind === "server_streaming") {
      this.#call.startRead();
      return;
    }
    const inbox = createInbox<Message>(() => this.#call.startRead());
    this.#inbox = inbox;
    this.#start((scope) => this.#stream(scope, inbox.messages));
    inbox.open();
  }

  onReceiveMessage(bytes: Buffer): void {
    if (this.#isDone || this.#mayReceive?.() === false) return;
    let message: Message;
    try {
      message = this.#route.decode(bytes);
    } catch (cause) {
      const text = "The request message cannot be decoded.";
      this.#fail(refusal(Code.InvalidArgument, "bad_request", text, cause));
      return;
    }
    if (this.#inbox !== undefined) {
      this.#inbox.push(message);
    } else if (this.#message !== undefined) {
      this.#fail(wrongCount("more than one request message"));
    } else {
      this.#message = message;
      this.#call.startRead();
    }
  }

  onReceiveHalfClose(): void {
    if (this.#isDone) return;
    if (this.#inbox !== undefined) {
      this.#inbox.end();
      return;
    }
    const message = this.#message;
    if (message === undefined) {
      this.#fail(wrongCount("no request message"));
    } else if (this.#route.spec.kind === "unary") {
      this.#start((scope) => this.#unary(scope, message));
    } else {
      this.#start((scope) => this.#stream(scope, one(message)));
    }
  }

  /** The caller cancelled, the deadline passed or the connection broke. */
  onCancel(): void {
    if (this.#isDone) return;
    const deadline = this.#call.getDeadline();
    const isLate = Number(deadline) <= Date.now();
    const reason = isLate
      ? new ConnectError("the operation timed out", Code.DeadlineExceeded)
      : new ConnectError("the caller cancelled", Code.Canceled);
    this.#finish(reason.code, reason);
  }

  /** Ends the call now, because the server stops. */
  abort(): void {
    this.#fail(new AppError("service_unavailable", "The service is stopping; try again."));
  }

  #admit(metadata: Metadata): string | undefined {
    if (this.#host.inFlight >= this.#host.maxInFlight) {
      throw new AppError("service_unavailable", "The service is busy; try again shortly.");
    }
    return this.#host.authorize(this.#route, metadata, this.#call);
  }

  #start(run: (scope: CallScope) => Promise<void>): void {
    const metadata = this.#metadata;
    const { kind } = this.#route.spec;
    let deadline = Number(this.#call.getDeadline());
    if (
      deadline === Number.POSITIVE_INFINITY &&
      (kind === "unary" || kind === "client_streaming")
    ) {
      deadline = Date.now() + this.#host.unaryTimeoutMs;
      this.#timer = setTimeout(() => {
        const text = "The operation timed out; try again shortly.";
        this.#fail(refusal(Code.DeadlineExceeded, "service_unavailable", text));
      }, this.#host.unaryTimeoutMs);
    }
    const deadlineAtMs = Number.isFinite(deadline) ? deadline : undefined;
    const scope = new CallScope(this.#route, "grpc", () => toHeaders(metadata), deadlineAtMs);
    let context = readCall((name) => text(metadata, name), {
      caller: this.#caller,
      method: this.#route.name,
      deadlineAtMs,
    });
    this.#span = openServerSpan(this.#route.name, context.traceparent);
    if (this.#span !== undefined) context = { ...context, traceparent: this.#span.traceparent };
    this.#scope = scope;
    this.#host.calls.add(this);
    if (!this.#route.isOpen) this.#host.inFlight += 1;
    void runInCall(context, () => run(scope)).finally(() => {
      context.isSettled = true;
      if (!this.#route.isOpen) this.#host.inFlight -= 1;
      this.#host.calls.delete(this);
    });
  }

  /**
   * After the process was blocked, it reads requests whose callers have left: each reset follows its request in
   * the same socket and is read before the end of the event-loop tick. Do not start such a call: its caller may
   * have retried elsewhere and have a response (ADR 81).
   */
  async #unary(scope: CallScope, message: Message): Promise<void> {
    try {
      await endOfTurn();
      if (this.#isDone) return;
      const answer = this.#encode(await invokeUnary(this.#route, scope, message));
      if (this.#isDone) return;
      this.#sendHeader(scope);
      // The status follows at once, so that message and trailers leave in one write.
      this.#call.sendMessage(answer, NOTHING);
      this.#succeed(scope);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #stream(scope: CallScope, input: AsyncIterable<Message>): Promise<void> {
    try {
      for await (const message of invokeStream(this.#route, scope, input)) {
        const bytes = this.#encode(message);
        if (this.#isDone) return;
        this.#sendHeader(scope);
        await new Promise<void>((resolve, reject) => {
          this.#abandonWrite = reject;
          this.#call.sendMessage(bytes, resolve);
        });
      }
      if (!this.#isDone) this.#succeed(scope);
    } catch (error) {
      this.#fail(error);
    }
  }

  #encode(message: Message): Buffer {
    const bytes = this.#route.encode(message);
    if (bytes.length <= this.#host.maxMessageBytes) return bytes;
    const text = "The answer is too large; ask for less.";
    throw refusal(Code.ResourceExhausted, "internal_error", text);
  }

  #sendHeader(scope: CallScope): void {
    if (this.#headersSent) return;
    this.#headersSent = true;
    const metadata = toMetadata(scope.sentHeader);
    if (metadata !== undefined) this.#call.sendMetadata(metadata);
  }

  #succeed(scope: CallScope): void {
    const metadata = toMetadata(scope.sentTrailer) ?? null;
    this.#call.sendStatus({ code: status.OK, details: "", metadata });
    this.#finish(0);
  }

  #fail(thrown: unknown): void {
    if (this.#isDone) return;
    const { error, isFault } = showError(thrown);
    if (isFault) {
      this.#host.log?.error({ method: this.#route.name, error: thrown }, "rpc handler failed");
    }
    this.#call.sendStatus(encodeStatus(error, this.#scope?.sentTrailer));
    this.#finish(error.code, error);
  }

  #finish(code: number, reason?: unknown): void {
    this.#isDone = true;
    clearTimeout(this.#timer);
    this.#scope?.end(reason);
    this.#inbox?.fail(reason);
    this.#abandonWrite?.(reason);
    endCallSpan(this.#span, statusName(code), "server");
    const durationMs = performance.now() - this.#startedMs;
    this.#host.onCall?.({ method: this.#route.name, code: statusName(code), durationMs });
  }
}

const NO_METADATA = new Metadata();
const NOTHING = (): void => {};

function text(metadata: Metadata, name: string): string | undefined {
  const value = metadata.get(name)[0];
  return typeof value === "string" ? value : undefined;
}

async function* one(message: Message): AsyncGenerator<Message> {
  yield message;
}
