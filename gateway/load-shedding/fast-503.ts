/**
 * The fast 503. A refusal through the application costs a third of an accepted send, so under overload most of
 * the work would be refusals. This prebuilt response is written before the application sees the request. It is
 * identical to the application's, byte for byte, except for the request id.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { newId } from "../../services/shared/core/ids.ts";
import type { Logger } from "../../services/shared/core/logger.ts";
import { closeAfterResponse } from "../http/connection-close.ts";
import { endAfterDrain, mustDrain } from "../http/drain-request.ts";
import { PROBLEM_TYPE, problemHeaders, toProblem } from "../http/problem.ts";
import type { Operation } from "../operations/operation.ts";
import { type LoadLimiter, serviceBusy } from "./load-limiter.ts";

export type Fast503Parts = {
  readonly loadLimiter: LoadLimiter;
  readonly operations: readonly Operation[];
  readonly docsUrl: string;
  /** Whether responses carry `Vary: Origin`, as they do when CORS is configured. */
  readonly variesByOrigin: boolean;
  readonly log: Logger;
  /** Counts one refusal in the metrics. */
  readonly onRefused: (method: string, path: string) => void;
};

/** How often the number of refusals is logged; one line for each would add load. */
const LOG_INTERVAL_MS = 1000;

/** Placeholder of the request id in the prepared response. */
const ID_PLACEHOLDER = "req_";

/** Responds with 503 when there is no capacity; returns whether it did. */
export type Fast503 = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Creates the fast 503. It leaves to the application: all requests while there is capacity; deprecated paths and
 * browser requests, whose 503 has more headers; and requests on a connection with an unread response, because
 * a fast 503 is not in the response budget, so each connection may have at most one unread.
 */
export function createFast503(parts: Fast503Parts): Fast503 {
  const { loadLimiter, log } = parts;
  const paths = new Map<string, string>();
  for (const { method, path, isDeprecated } of parts.operations) {
    if (isDeprecated !== true && !path.includes(":")) paths.set(`${method} ${path}`, path);
  }
  const respond = prepareResponse(parts);
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
    const path = paths.get(`${request.method} ${request.url}`);
    if (path === undefined) return false;
    respond(response);
    count(request.method ?? "", path);
    return true;
  };
}

/** Serialises the response once, except for the request id. */
function prepareResponse(options: Fast503Parts): (response: ServerResponse) => void {
  const { docsUrl, variesByOrigin } = options;
  const error = serviceBusy();
  const [before = "", after = ""] = JSON.stringify(toProblem(error, ID_PLACEHOLDER, docsUrl)).split(
    `"${ID_PLACEHOLDER}"`,
  );
  const common = Object.entries({
    "Cache-Control": "no-store",
    ...(variesByOrigin ? { Vary: "Origin" } : {}),
    ...problemHeaders(error),
    "Content-Type": PROBLEM_TYPE,
  }).flat();
  // All ids have the same length.
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
