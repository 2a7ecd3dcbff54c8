import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../../services/shared/core/errors.ts";
import { createLoopTurns } from "../../services/shared/flow/loop-turns.ts";
import { pauseRequests, resumeRequests } from "../../services/shared/vendor/node-http-socket.ts";
import { serviceBusy } from "../load-shedding/load-limiter.ts";
import type { BodyBudget, BodyReservation } from "./body-budget.ts";
import { isDuplicateHeader } from "./duplicate-header.ts";
import { createGrowableBuffer } from "./growable-buffer.ts";
import { LARGE_BYTES } from "./large-bodies.ts";
import { areTiny, CHUNKS_BEFORE_CHECK } from "./tiny-chunks.ts";

/** Limits of one request body, and the budget of all. */
export type BodyLimits = {
  readonly bytesMax: number;
  readonly timeoutMs: number;
  readonly budget: BodyBudget;
};

/** How one body is read. */
export type BodyReading = {
  /** Gets the body's share of the budget; the caller releases it after the response. */
  readonly onReserve: (reservation: BodyReservation) => void;
  readonly takesCsv: boolean;
  /**
   * Admits a large body before its bytes are kept; `bytes` is its announced length, or the limit. It returns
   * whether to keep them, and throws to refuse the request.
   */
  readonly admitLarge: (bytes: number) => Promise<boolean>;
};

/** Whether a request announces a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0;
}

/**
 * Reads the bytes of a request's body, limited in size and time. Errors: `payload_too_large` as soon as the
 * length is known to exceed the limit, `unsupported_media_type` for a body that is not JSON in UTF-8, nor CSV where
 * the operation takes it, `request_timeout` when it does not arrive in time, `service_unavailable` when the body budget
 * evicts it, and those of `admitLarge`. A body that is not to be kept is empty.
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  hooks: BodyReading,
): Promise<Buffer> {
  const { headers } = request;
  const isChunked = headers["transfer-encoding"] !== undefined;
  const announced = Number(headers["content-length"] ?? 0);
  if (announced === 0 && !isChunked) return EMPTY;
  if (announced > limits.bytesMax) throw tooLarge(limits.bytesMax);
  const isAcceptable = isOfType(request, hooks.takesCsv);
  // A chunked body may be empty, so wait for its first byte; an announced one is refused at once.
  if (!isAcceptable && !isChunked) throw wrongType(request, hooks.takesCsv);
  const isLarge = announced > LARGE_BYTES;
  const isKept = !isLarge || (await hooks.admitLarge(announced));
  if (request.socket.destroyed) throw incomplete();
  // HTTP/1.0 has no interim responses (RFC 9110 section 15.2).
  const mayContinue = request.httpVersion !== "1.0";
  if (mayContinue && headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
  return collect(request, {
    timeoutMs: limits.timeoutMs,
    budget: limits.budget,
    bytesMax: isAcceptable ? limits.bytesMax : 0,
    overflow: () => (isAcceptable ? tooLarge(limits.bytesMax) : wrongType(request, hooks.takesCsv)),
    isAdmitted: isLarge,
    isKept,
    hooks,
  });
}

const EMPTY = Buffer.alloc(0);

/** The loop turns of all bodies in tiny chunks: together they get a fifth of the event loop's time. */
const turns = createLoopTurns(4);

/** True for a body that is announced as CSV. Its encoding is checked where it is read. */
export function isCsv({ headers }: IncomingMessage): boolean {
  return /^[ \t]*text\/csv[ \t]*(?:;|$)/i.test(headers["content-type"] ?? "");
}

const JSON_TYPE = /^[ \t]*application\/json[ \t]*(?:;|$)/i;

/** One parameter of a media type, possibly empty (RFC 9110 section 5.6.6). */
const PARAMETER = /;[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=([\w!#$%&'*+.^`|~-]+|"[^"\\]*")[ \t]*)?/gy;

function isOfType(request: IncomingMessage, takesCsv: boolean): boolean {
  const { headers, rawHeaders } = request;
  const { "content-type": type, "content-encoding": encoding } = headers;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") return false;
  if (isDuplicateHeader(rawHeaders, "content-type")) return false;
  if (takesCsv && isCsv(request)) return true;
  return type === "application/json" || isJsonType(type ?? "");
}

/** `application/json` in UTF-8. Other parameters have no meaning (RFC 8259 section 11) and are ignored. */
function isJsonType(type: string): boolean {
  if (!JSON_TYPE.test(type)) return false;
  let end = type.indexOf(";");
  if (end === -1) return true;
  for (const [parameter, name = "", value = ""] of type.slice(end).matchAll(PARAMETER)) {
    end += parameter.length;
    if (name.toLowerCase() !== "charset") continue;
    const charset = value.replaceAll('"', "").toLowerCase();
    if (charset !== "utf-8") return false;
  }
  return end === type.length;
}

type Collecting = BodyLimits & {
  readonly overflow: () => AppError;
  readonly isAdmitted: boolean;
  readonly isKept: boolean;
  readonly hooks: BodyReading;
};

/**
 * `waiting`: the socket is paused until the body is admitted or gets a loop turn. `waiting, ended`: the body has ended
 * meanwhile, with bytes that were read before the pause.
 */
type BodyState = "reading" | "waiting" | "waiting, ended" | "done";

function collect(request: IncomingMessage, options: Collecting): Promise<Buffer> {
  const { bytesMax, timeoutMs, overflow, hooks } = options;
  const { socket } = request;
  let { isAdmitted, isKept } = options;
  return new Promise((resolve, reject) => {
    let buffer = createGrowableBuffer(bytesMax);
    let size = 0;
    let chunks = 0;
    let nextPauseAt = CHUNKS_BEFORE_CHECK;
    let state: BodyState = "reading";
    let isPaused = false;
    const stateNow = (): BodyState => state;
    /** The refusal of a chunked body; thrown at its end, because a 413 takes precedence. */
    let refusal: unknown;
    const timer = setTimeout(() => {
      fail(new AppError("request_timeout", "The request body did not arrive in time."));
    }, timeoutMs);
    const reservation = options.budget.reserve(() => fail(serviceBusy()));
    hooks.onReserve(reservation);

    function onData(chunk: Buffer): void {
      size += chunk.length;
      chunks += 1;
      if (size > bytesMax) {
        fail(overflow());
        return;
      }
      if (isKept) reservation.grow(buffer.append(chunk));
      if (state !== "reading") return;
      if (!isAdmitted && size > LARGE_BYTES) void waitFor(admit());
      else if (chunks >= nextPauseAt) pauseIfTiny();
    }
    /** Lets others have the event loop while the chunks are tiny. */
    function pauseIfTiny(): void {
      nextPauseAt = chunks + CHUNKS_BEFORE_CHECK;
      if (areTiny(chunks, size)) void waitFor(turns.next());
    }
    /** Admits a chunked body that turned out to be large. */
    async function admit(): Promise<void> {
      isAdmitted = true;
      try {
        isKept = await hooks.admitLarge(bytesMax);
      } catch (error) {
        isKept = false;
        refusal = error;
      }
      // Restart the timeout: the client did not cause the wait.
      if (stateNow() === "waiting") timer.refresh();
      if (isKept) return;
      buffer = createGrowableBuffer(0);
      reservation.shrink();
    }
    /**
     * Pauses the socket until `work` ends; bytes that were read before still arrive. A body in tiny chunks that fails
     * meanwhile stays paused too: to read and discard its rest costs as much as to keep it.
     */
    async function waitFor(work: Promise<void>): Promise<void> {
      state = "waiting";
      isPaused = true;
      pauseRequests(socket);
      await work;
      if (stateNow() === "waiting, ended") complete();
      if (stateNow() === "waiting") state = "reading";
      resume();
    }
    function resume(): void {
      if (isPaused) resumeRequests(socket);
      isPaused = false;
    }
    function onEnd(): void {
      if (state === "waiting") state = "waiting, ended";
      else complete();
    }
    function complete(): void {
      finish();
      if (refusal === undefined) resolve(isKept ? buffer.bytes() : EMPTY);
      else reject(refusal);
    }
    function onAbort(): void {
      // `close` also follows a body that has ended completely.
      if (state !== "waiting, ended") fail(incomplete());
    }
    function fail(error: unknown): void {
      finish();
      reject(error);
    }
    function finish(): void {
      if (!areTiny(chunks, size)) resume();
      state = "done";
      clearTimeout(timer);
      reservation.complete();
      request.off("data", onData);
      request.off("end", onEnd);
      request.off("error", onAbort);
      request.off("close", onAbort);
    }
    request.on("data", onData);
    // `finish` removes all listeners; `once` would wrap each in a further function.
    request.on("end", onEnd);
    request.on("error", onAbort);
    request.on("close", onAbort);
  });
}

function incomplete(): AppError {
  return new AppError("request_timeout", "The request ended before its body was complete.");
}

function tooLarge(bytesMax: number): AppError {
  return new AppError(
    "payload_too_large",
    `The body has more than ${bytesMax} bytes. Split the request.`,
  );
}

function wrongType({ headers, rawHeaders }: IncomingMessage, takesCsv: boolean): AppError {
  const wanted = `Content-Type: application/json${takesCsv ? " or text/csv" : ""}`;
  const { "content-type": type, "content-encoding": encoding } = headers;
  const refused = (text: string) => new AppError("unsupported_media_type", text);
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return refused("The body is compressed. Send it without Content-Encoding.");
  }
  if (isDuplicateHeader(rawHeaders, "content-type")) {
    return refused(`The request has two Content-Type headers. Send one: ${wanted}.`);
  }
  if (type === undefined) return refused(`The request has no Content-Type. Send ${wanted}.`);
  if (JSON_TYPE.test(type)) return refused(`JSON must be in UTF-8. Send ${wanted}.`);
  const [given = ""] = type.slice(0, TYPE_CHARS_MAX).split(";");
  return refused(`The body is ${given.trim()}. Send it with ${wanted}.`);
}

/** Characters of a media type that a problem shows. */
const TYPE_CHARS_MAX = 64;
