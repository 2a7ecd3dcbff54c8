import type { ClientRequest, IncomingMessage } from "node:http";
import { request } from "node:https";
import type { AttemptError, AttemptResult } from "../domain/delivery.ts";
import type { Target } from "../domain/url-rules.ts";
import type { Agents } from "./agents.ts";
import { AddressNotAllowedError, type HostGuard } from "./host-guard.ts";

/** One request to be made. */
export type SendRequest = {
  readonly endpointId: string;
  readonly target: Target;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as UTF-8. As text it leaves in one write with the headers; bytes would need two. */
  readonly body: string;
  readonly timeoutMs: number;
};

/** Makes requests to endpoints; every fault of the network or the receiver is a result. */
export type Sender = {
  send(wanted: SendRequest): Promise<AttemptResult>;
  close(): void;
};

/** What the sender tells the metrics. */
export type SenderEvents = { readonly onConnection: (kind: "new" | "reused") => void };

/** Of an answer's body so much is read; what goes on for longer is cut off. */
export const ANSWER_BYTES_MAX = 16_384;

/** Of an answer's body so much is kept for the log. */
export const ANSWER_KEPT_BYTES = 1024;

type Ending = {
  readonly error: AttemptError;
  readonly httpStatus: number;
  readonly answer: string;
};

/** What is known of an attempt while it runs. */
type Attempt = { request: ClientRequest | undefined; isOver: boolean; httpStatus: number };

/** Makes the sender. */
export function createSender(parts: {
  readonly agents: Agents;
  readonly guard: HostGuard;
  readonly events: SenderEvents;
}): Sender {
  const { agents, guard, events } = parts;

  async function send(wanted: SendRequest): Promise<AttemptResult> {
    const startedMs = performance.now();
    const ending = await new Promise<Ending>((resolve) => {
      const attempt: Attempt = { request: undefined, isOver: false, httpStatus: 0 };
      const finish = (ending: Ending) => {
        if (attempt.isOver) return;
        attempt.isOver = true;
        clearTimeout(timer);
        resolve(ending);
      };
      // One clock for everything: name, connection, handshake, headers and body.
      const timer = setTimeout(() => {
        finish({ ...failed("timeout"), httpStatus: attempt.httpStatus });
        attempt.request?.destroy();
      }, wanted.timeoutMs);
      guard.vet(wanted.target.host).then(
        () => {
          if (!attempt.isOver) start(wanted, attempt, finish, false);
        },
        (error: unknown) => finish(failed(classify(error))),
      );
    });
    return { ...ending, durationMs: Math.round(performance.now() - startedMs) };
  }

  function start(
    wanted: SendRequest,
    attempt: Attempt,
    finish: (ending: Ending) => void,
    isRepeat: boolean,
  ): void {
    const { target } = wanted;
    const outgoing = request({
      agent: isRepeat ? agents.oneOff : agents.get(wanted.endpointId),
      host: target.host,
      port: target.port,
      path: target.path,
      method: "POST",
      headers: wanted.headers,
    });
    attempt.request = outgoing;
    outgoing.once("response", (response) => {
      attempt.httpStatus = response.statusCode ?? 0;
      events.onConnection(outgoing.reusedSocket ? "reused" : "new");
      readAnswer(outgoing, response, finish);
    });
    outgoing.once("error", (error) => {
      // The receiver closed the idle connection just as it was used again: nobody is at fault.
      if (outgoing.reusedSocket && isReset(error) && !isRepeat && !attempt.isOver) {
        start(wanted, attempt, finish, true);
      } else finish(failed(classify(error)));
    });
    outgoing.once("close", () => {
      if (attempt.request === outgoing) finish(failed("connection"));
    });
    outgoing.end(wanted.body, "utf8");
  }

  return { send, close: () => agents.close() };
}

/** Reads the answer to its end, or to as much as is worth reading. */
function readAnswer(
  outgoing: ClientRequest,
  response: IncomingMessage,
  finish: (ending: Ending) => void,
): void {
  const httpStatus = response.statusCode ?? 0;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const done = () => finish(judge(httpStatus, excerpt(chunks)));
  response.on("data", (chunk: Buffer) => {
    if (bytes < ANSWER_KEPT_BYTES) chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) {
      done();
      outgoing.destroy();
    }
  });
  response.once("end", done);
  response.once("error", () => finish({ ...failed("connection"), httpStatus }));
  response.once("aborted", () => finish({ ...failed("connection"), httpStatus }));
}

function judge(httpStatus: number, answer: string): Ending {
  if (httpStatus >= 200 && httpStatus < 300) return { error: "", httpStatus, answer };
  const isRedirect = httpStatus >= 300 && httpStatus < 400;
  return { error: isRedirect ? "redirect" : "status", httpStatus, answer };
}

function failed(error: AttemptError): Ending {
  return { error, httpStatus: 0, answer: "" };
}

function classify(error: unknown): AttemptError {
  if (error instanceof AddressNotAllowedError) return "address_not_allowed";
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const isTls =
    code.startsWith("ERR_TLS") ||
    code.startsWith("ERR_SSL") ||
    code === "EPROTO" ||
    /CERT|SIGNATURE|ISSUER|SELF_SIGNED|CRL|HOSTNAME_MISMATCH/.test(code);
  return isTls ? "tls" : "connection";
}

function isReset(error: Error): boolean {
  const code = "code" in error ? error.code : undefined;
  return code === "ECONNRESET" || code === "EPIPE";
}

/** The first bytes as text; what is not UTF-8 shows as replacement characters. */
function excerpt(chunks: readonly Buffer[]): string {
  if (chunks.length === 0) return "";
  const first = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  return first.subarray(0, ANSWER_KEPT_BYTES).toString("utf8");
}
