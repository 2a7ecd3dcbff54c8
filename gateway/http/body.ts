import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../../services/shared/core/errors.ts";
import { serviceBusy } from "../load-shedding/limiter.ts";
import type { BodyBudget, BodyReservation } from "./body-budget.ts";
import { isDuplicateHeader } from "./duplicate-header.ts";
import { createGrowableBuffer } from "./growable-buffer.ts";

/** Limits of one request body, and the budget of all. */
export type BodyLimits = {
  readonly bytesMax: number;
  readonly timeoutMs: number;
  readonly budget: BodyBudget;
};

/** Whether a request announces a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0;
}

/**
 * Reads the bytes of a request's body, limited in size and time. Errors: `payload_too_large` as soon as the
 * length is known to exceed the limit, `unsupported_media_type` for a body that is not JSON in UTF-8, nor CSV where the
 * operation takes it,
 * `request_timeout` when it does not arrive in time, `service_unavailable` when the body budget evicts it.
 * `onReserve` gets the reservation; the caller releases it after the response.
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
  onReserve: (reservation: BodyReservation) => void,
  takesCsv = false,
): Promise<Buffer> {
  const { headers } = request;
  const isChunked = headers["transfer-encoding"] !== undefined;
  const announced = Number(headers["content-length"] ?? 0);
  if (announced === 0 && !isChunked) return EMPTY;
  if (announced > limits.bytesMax) throw tooLarge(limits.bytesMax);
  const isAcceptable = isOfType(request, takesCsv);
  // A chunked body may be empty, so wait for its first byte; an announced one is refused at once.
  if (!isAcceptable && !isChunked) throw wrongType();
  // HTTP/1.0 has no interim responses (RFC 9110 section 15.2).
  const mayContinue = request.httpVersion !== "1.0";
  if (mayContinue && headers.expect?.toLowerCase() === "100-continue") response.writeContinue();
  const bounds = isAcceptable ? limits : { ...limits, bytesMax: 0 };
  const overflow = () => (isAcceptable ? tooLarge(limits.bytesMax) : wrongType());
  return collect(request, bounds, overflow, onReserve);
}

const EMPTY = Buffer.alloc(0);

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

function collect(
  request: IncomingMessage,
  limits: BodyLimits,
  overflow: () => AppError,
  onReserve: (reservation: BodyReservation) => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const buffer = createGrowableBuffer(limits.bytesMax);
    let size = 0;
    const timer = setTimeout(() => {
      finish();
      reject(new AppError("request_timeout", "The request body did not arrive in time."));
    }, limits.timeoutMs);

    const reservation = limits.budget.reserve(() => {
      finish();
      reject(serviceBusy());
    });
    onReserve(reservation);

    function onData(chunk: Buffer): void {
      size += chunk.length;
      if (size <= limits.bytesMax) {
        reservation.grow(buffer.append(chunk));
        return;
      }
      finish();
      reject(overflow());
    }
    function onEnd(): void {
      finish();
      resolve(buffer.bytes());
    }
    function onAbort(): void {
      finish();
      reject(new AppError("request_timeout", "The request ended before its body was complete."));
    }
    function finish(): void {
      clearTimeout(timer);
      reservation.complete();
      request.off("data", onData);
      request.off("end", onEnd);
      request.off("error", onAbort);
      request.off("close", onAbort);
    }
    request.on("data", onData);
    request.once("end", onEnd);
    request.once("error", onAbort);
    request.once("close", onAbort);
  });
}

function tooLarge(bytesMax: number): AppError {
  return new AppError("payload_too_large", `A request body has at most ${bytesMax} bytes.`);
}

function wrongType(): AppError {
  return new AppError(
    "unsupported_media_type",
    "Send the body as application/json in UTF-8, without content encoding.",
  );
}
