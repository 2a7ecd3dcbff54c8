/** One request to a carrier, and whether any of it can have left when no answer came. */
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as AgentHttps, request as requestHttps } from "node:https";
import { startDeadlineTimer } from "../../../shared/flow/deadline-timer.ts";

/** What a carrier answered. */
export type HttpReply = { readonly status: number; readonly body: string };

/** A request that ended without an answer. */
export class HttpFailure extends Error {
  /** What went wrong, as Node or OpenSSL names it; `timeout` when the time was over. */
  readonly code: string;
  /** False when there was no connection to take it: then no octet of it has left. */
  readonly mayHaveLeft: boolean;

  constructor(code: string, mayHaveLeft: boolean) {
    super(`no answer: ${code}`);
    this.name = "HttpFailure";
    this.code = code;
    this.mayHaveLeft = mayHaveLeft;
  }
}

/** What every request of a connector has in common. */
export type HttpTarget = {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For name, connection, handshake, request and answer together. */
  readonly timeoutMs: number;
};

/** Sends requests over connections that it keeps. */
export type HttpPoster = {
  /** Throws `HttpFailure`. A redirect is an answer: followed, it would give the message to others. */
  post(body: string): Promise<HttpReply>;
};

/** Octets of an answer that are read; a carrier's answer has some hundred. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** An idle connection is closed before most servers close theirs, or a request could meet that. */
const IDLE_MS = 4000;

/** Makes the poster of a connector. */
export function createHttpPoster(target: HttpTarget): HttpPoster {
  const isTls = target.url.startsWith("https:");
  const kept = { keepAlive: true, timeout: IDLE_MS };
  const agent = isTls ? new AgentHttps(kept) : new Agent(kept);
  const open = isTls ? requestHttps : requestHttp;
  const { method, headers, timeoutMs } = target;

  function post(body: string): Promise<HttpReply> {
    const time = new AbortController();
    const timer = startDeadlineTimer(timeoutMs, () => time.abort());
    return exchange(body, time.signal).finally(() => clearTimeout(timer));
  }

  function exchange(body: string, signal: AbortSignal): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      let isConnected = false;
      const fail = (error: Error) => {
        reject(new HttpFailure(signal.aborted ? "timeout" : codeOf(error), isConnected));
      };
      let request: ClientRequest;
      try {
        request = open(target.url, { agent, method, headers, signal });
      } catch (error) {
        // A header that cannot be written, for example.
        fail(error as Error);
        return;
      }
      whenConnected(request, isTls, () => {
        isConnected = true;
      });
      let isAnswered = false;
      request.on("error", fail);
      // Without a word of its own, when it does not know what to do with the answer.
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
        readBody(response).then(
          (text) => resolve({ status: response.statusCode ?? 0, body: text }),
          fail,
        );
      });
      // Given whole, so that its length goes with it; it waits in Node until the connection stands.
      request.end(body);
    });
  }

  // Nothing is to be closed: idle connections end by themselves, and what is under way by its time.
  return { post };
}

/** A kept connection stands already; a new one stands when the last handshake is over. */
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
