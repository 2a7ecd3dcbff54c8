/**
 * The cheap refusal. Under overload most of the work would otherwise go into saying no: a 503 by
 * way of the application costs a third of an accepted send. Here the answer, the same to the
 * byte but for the request's id, goes out before anything is made of the request.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { newId } from "../../services/shared/core/ids.ts";
import type { Logger } from "../../services/shared/core/logger.ts";
import { closeAfterResponse } from "../http/connection-close.ts";
import { endAfterDrain, mustDrain } from "../http/drain-request.ts";
import { PROBLEM_TYPE, problemHeaders, toProblem } from "../http/problem.ts";
import type { Operation } from "../operations/operation.ts";
import { type LoadLimiter, serviceBusy } from "./limiter.ts";

/** What shedding needs. */
export type Fast503Parts = {
  readonly loadLimiter: LoadLimiter;
  readonly operations: readonly Operation[];
  readonly docsUrl: string;
  /** Whether answers depend on the asking origin, as they do with `cors.ts` at work. */
  readonly variesByOrigin: boolean;
  readonly log: Logger;
  /** Counts one refusal in the metrics. */
  readonly onRefused: (method: string, path: string) => void;
};

/** How often the log says how many were refused; a line for each would be work of its own. */
const LOG_INTERVAL_MS = 1000;

/** The place of the request's id in the prepared answer. */
const ID_MARK = "req_";

/** Answers a request that there is no room for; tells whether it did. */
export type Fast503 = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Answers 503 when there is no room. All other requests are left to the application, and so are those
 * whose refusal needs more than the plain answer: deprecated paths, browsers of other origins. So are those of
 * a connection that has not taken its last answer: what is answered here is counted nowhere, and is
 * one answer a connection at most.
 */
export function createFast503(parts: Fast503Parts): Fast503 {
  const { loadLimiter, log } = parts;
  const plain = new Map<string, string>();
  for (const { method, path, isDeprecated } of parts.operations) {
    if (isDeprecated !== true && !path.includes(":")) plain.set(`${method} ${path}`, path);
  }
  const answer = prepare(parts);
  let refused = 0;

  function count(method: string, path: string): void {
    parts.onRefused(method, path);
    refused += 1;
    if (refused > 1) return;
    const timer = setTimeout(() => {
      log.warn({ refused }, "requests were refused: the service is busy");
      refused = 0;
    }, LOG_INTERVAL_MS);
    timer.unref();
  }

  return (request, response) => {
    if (loadLimiter.hasCapacity() || request.headers.origin !== undefined) return false;
    if (response.socket === null || response.socket.writableLength > 0) return false;
    const path = plain.get(`${request.method} ${request.url}`);
    if (path === undefined) return false;
    answer(response);
    count(request.method ?? "", path);
    return true;
  };
}

/** Writes the refusal once, around the request's id. */
function prepare({ docsUrl, variesByOrigin }: Fast503Parts): (response: ServerResponse) => void {
  const error = serviceBusy();
  const [before = "", after = ""] = JSON.stringify(toProblem(error, ID_MARK, docsUrl)).split(
    `"${ID_MARK}"`,
  );
  const common = Object.entries({
    "Cache-Control": "no-store",
    ...(variesByOrigin ? { Vary: "Origin" } : {}),
    ...problemHeaders(error),
    "Content-Type": PROBLEM_TYPE,
  }).flat();
  // Every id has the same length.
  const length = Buffer.byteLength(`${before}"${newId("request")}"${after}`);
  const headers = [...common, "Content-Length", String(length)];
  return (response) => {
    const requestId = newId("request");
    const body = `${before}"${requestId}"${after}`;
    const isDrained = mustDrain(response, false);
    if (isDrained) closeAfterResponse(response);
    response.writeHead(503, ["X-Request-Id", requestId, ...headers]);
    if (isDrained) {
      response.write(body);
      endAfterDrain(response);
    } else {
      response.end(body);
    }
  };
}
