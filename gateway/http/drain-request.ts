/**
 * Responses that are sent before the request's body has been read. Closing a socket with unread bytes resets
 * the connection, and the reset may overtake the response: a client that is still sending would see a broken
 * pipe instead of the 413. So write the response, read and discard the rest of the body for a while, and only
 * then close the connection.
 */
import type { ServerResponse } from "node:http";
import type { Context } from "koa";
import { closeAfterResponse, closesConnection } from "./connection-close.ts";
import { areTiny, CHUNKS_BEFORE_CHECK } from "./tiny-chunks.ts";

/** Bodies announced up to this length are read to the end, so that the connection can stay open. */
const KEPT_BYTES_MAX = 262_144;

/** How much of a longer body is discarded before the connection closes, and for how long. */
const DRAIN_BYTES_MAX = 67_108_864;
const DRAIN_MS = 5000;

/** A client that sends nothing for this long has read its response, or never will. */
const DRAIN_IDLE_MS = 500;

/** Whether the body must be drained after the response. `isTooSlow`: the body exceeded its time or was evicted. */
export function mustDrain(response: ServerResponse, isTooSlow: boolean): boolean {
  const { req } = response;
  if (req.complete) return false;
  if (isTooSlow) return true;
  const { "content-length": length, "transfer-encoding": coding, expect } = req.headers;
  // No body (RFC 9112 section 6.3), although Node sets `complete` only a moment later.
  if (length === undefined && coding === undefined) return false;
  const announced = Number(length ?? Number.POSITIVE_INFINITY);
  if (announced === 0) return false;
  // If the connection stays open, Node itself discards the rest of a short body before the next request.
  return expect !== undefined || !(announced <= KEPT_BYTES_MAX) || closesConnection(response);
}

/** Writes the response of the context, drains the request, then closes the connection. */
export function respondAndDrain(context: Context): void {
  const { res } = context;
  context.respond = false;
  closeAfterResponse(res);
  if (context.method === "HEAD") res.flushHeaders();
  else res.write(context.body as string);
  endAfterDrain(res);
}

/** Ends the last response of a connection after the rest of its request has been read. */
export function endAfterDrain(res: ServerResponse): void {
  const { req } = res;
  let drained = 0;
  let chunks = 0;
  const timer = setTimeout(finish, DRAIN_MS);
  const idle = setTimeout(finish, DRAIN_IDLE_MS);
  req.on("data", onData);
  req.once("end", finish);
  req.once("close", finish);
  req.once("error", finish);
  req.resume();

  function onData(chunk: Buffer): void {
    drained += chunk.length;
    chunks += 1;
    idle.refresh();
    // The client is refused anyway, and reading tiny chunks costs too much.
    const isTiny = chunks > CHUNKS_BEFORE_CHECK && areTiny(chunks, drained);
    if (isTiny || drained > DRAIN_BYTES_MAX) finish();
  }
  function finish(): void {
    clearTimeout(timer);
    clearTimeout(idle);
    req.off("data", onData);
    if (!res.writableEnded) res.end();
  }
}
