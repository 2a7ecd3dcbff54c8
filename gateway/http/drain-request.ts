/**
 * Answers that leave before the request's body has been read. Closing a socket with unread bytes
 * resets the connection, and the reset may overtake the answer: a client still sending would then
 * see a broken pipe instead of the 413. So the answer is written, the rest of the body is read and
 * thrown away for a while, and only then the connection ends.
 */
import type { ServerResponse } from "node:http";
import type { Context } from "koa";
import { closeAfterResponse, closesConnection } from "./connection-close.ts";

/** Bodies whose announced length is at most this are read to their end, and the connection kept that can be. */
const KEPT_BYTES_MAX = 262_144;

/** How much of a longer body is thrown away before the connection ends, and for how long. */
const DRAIN_BYTES_MAX = 67_108_864;
const DRAIN_MS = 5000;

/** A client that sends nothing for so long has read its answer, or never will. */
const DRAIN_IDLE_MS = 500;

/** Whether the answer must be drained after; a body that came too slowly is not awaited. */
export function mustDrain(response: ServerResponse, isTooSlow: boolean): boolean {
  const { req } = response;
  if (req.complete) return false;
  if (isTooSlow) return true;
  const { "content-length": length, "transfer-encoding": coding, expect } = req.headers;
  // No body at all (RFC 9112 section 6.3), though Node calls the request complete only a moment later.
  if (length === undefined && coding === undefined) return false;
  const announced = Number(length ?? Number.POSITIVE_INFINITY);
  if (announced === 0) return false;
  // Node itself reads a short rest before it takes the connection's next request, if there may be one.
  return expect !== undefined || !(announced <= KEPT_BYTES_MAX) || closesConnection(response);
}

/** Writes the answer that the context holds, drains the request, then closes the connection. */
export function respondAndDrain(context: Context): void {
  const { res } = context;
  context.respond = false;
  closeAfterResponse(res);
  if (context.method === "HEAD") res.flushHeaders();
  else res.write(context.body as string);
  endAfterDrain(res);
}

/** Ends an answer, which is its connection's last, once the rest of its request has been read. */
export function endAfterDrain(res: ServerResponse): void {
  const { req } = res;
  let left = DRAIN_BYTES_MAX;
  const timer = setTimeout(finish, DRAIN_MS);
  const idle = setTimeout(finish, DRAIN_IDLE_MS);
  req.on("data", onData);
  req.once("end", finish);
  req.once("close", finish);
  req.once("error", finish);
  req.resume();

  function onData(chunk: Buffer): void {
    left -= chunk.length;
    idle.refresh();
    if (left < 0) finish();
  }
  function finish(): void {
    clearTimeout(timer);
    clearTimeout(idle);
    req.off("data", onData);
    if (!res.writableEnded) res.end();
  }
}
