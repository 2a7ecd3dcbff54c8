/** Requests to a carrier. A request without an answer says whether octets of it may have left. */
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as AgentHttps, request as requestHttps } from "node:https";
import { addressTimeoutMs } from "../../../shared/core/address-timeout.ts";
import { startDeadlineTimer } from "../../../shared/flow/deadline-timer.ts";
import { createAddressOrder } from "../../../shared/io/address-order.ts";
import type { HttpAnswer } from "../../domain/http-response.ts";

/** A request that ended without an answer. */
export class HttpFailure extends Error {
  /** The error code of Node or OpenSSL; `timeout` when the time limit ended the request. */
  readonly code: string;
  /** False when there was no connection: then no octet has left. */
  readonly mayHaveLeft: boolean;

  constructor(code: string, mayHaveLeft: boolean) {
    super(`no answer: ${code}`);
    this.name = "HttpFailure";
    this.code = code;
    this.mayHaveLeft = mayHaveLeft;
  }
}

/** The parts that all requests of a connector share. */
export type HttpTarget = {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For name resolution, connection, handshake, request and answer together. */
  readonly timeoutMs: number;
};

/** Sends requests over keep-alive connections. */
export type HttpPoster = {
  /** Throws `HttpFailure`. Returns redirects and does not follow them: the message must not go to another server. */
  post(body: string): Promise<HttpAnswer>;
};

/** The octets of an answer that are read; carriers answer with some hundred. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** Close idle connections before most servers do: otherwise a request could meet a closing connection. */
const IDLE_MS = 4000;

export function createHttpPoster(target: HttpTarget): HttpPoster {
  const isTls = target.url.startsWith("https:");
  const { method, headers, timeoutMs } = target;
  const addresses = createAddressOrder();
  const kept = {
    lookup: addresses.lookup,
    keepAlive: true,
    timeout: IDLE_MS,
    autoSelectFamilyAttemptTimeout: addressTimeoutMs(timeoutMs),
  };
  // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED in the environment would disable it.
  const agent = isTls ? new AgentHttps({ ...kept, rejectUnauthorized: true }) : new Agent(kept);
  const open = isTls ? requestHttps : requestHttp;

  function post(body: string): Promise<HttpAnswer> {
    const time = new AbortController();
    const timer = startDeadlineTimer(timeoutMs, () => time.abort());
    return exchange(body, time.signal).finally(() => clearTimeout(timer));
  }

  function exchange(body: string, signal: AbortSignal): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      let isConnected = false;
      const { turn } = addresses;
      const fail = (error: Error) => {
        // Keep the address of a server that ended an open connection: it is reachable. Skip one that did not answer.
        if (signal.aborted || !isConnected) addresses.skip(turn);
        reject(new HttpFailure(signal.aborted ? "timeout" : codeOf(error), isConnected));
      };
      let request: ClientRequest;
      try {
        request = open(target.url, { agent, method, headers, signal });
      } catch (error) {
        // Node throws here, for example for an invalid header.
        fail(error as Error);
        return;
      }
      whenConnected(request, isTls, () => {
        isConnected = true;
      });
      let isAnswered = false;
      request.on("error", fail);
      // Node emits only `close` when it cannot parse the answer.
      request.on("close", () => {
        if (!isAnswered) fail(new Error("closed"));
      });
      request.on("upgrade", ({ statusCode = 101 }, socket) => {
        isAnswered = true;
        socket.destroy();
        resolve({ status: statusCode, body: "" });
      });
      request.on("response", (response) => {
        isAnswered = true;
        addresses.prefer(response.socket.remoteAddress);
        readBody(response).then(
          (text) =>
            resolve({
              status: response.statusCode ?? 0,
              body: text,
              retryAfter: response.headers["retry-after"],
            }),
          fail,
        );
      });
      // `end` with the whole body sets its length; Node buffers it until the connection is open.
      request.end(body);
    });
  }

  // Needs no `close`: idle connections and requests in flight end by their timeouts.
  return { post };
}

/** A reused connection is open already; a new one is open when its last handshake is complete. */
function whenConnected(request: ClientRequest, isTls: boolean, act: () => void): void {
  request.on("socket", (socket) => {
    if (request.reusedSocket) act();
    else socket.once(isTls ? "secureConnect" : "connect", act);
  });
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    // Leaving the loop destroys the connection.
    if (bytes > ANSWER_BYTES_MAX) break;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "no_answer";
}
