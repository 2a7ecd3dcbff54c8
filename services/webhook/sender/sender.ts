import type { ClientRequest, IncomingMessage } from "node:http";
import { request } from "node:https";
import type { TLSSocket } from "node:tls";
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
  /** Answers `undefined` when the endpoint was stopped before anything was sent. */
  send(wanted: SendRequest): Promise<AttemptResult | undefined>;
  /**
   * Ends the endpoint's attempts that have not sent anything yet: a name may take seconds to be
   * found and a connection to be made, and nothing may go out after the endpoint was turned off.
   * Requests already on their way get their answer.
   */
  stop(endpointId: string): void;
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
type Attempt = {
  request: ClientRequest | undefined;
  isOver: boolean;
  httpStatus: number;
  readonly finish: (ending: Ending | undefined) => void;
};

/** Makes the sender. */
export function createSender(parts: {
  readonly agents: Agents;
  readonly guard: HostGuard;
  readonly events: SenderEvents;
}): Sender {
  const { agents, guard, events } = parts;
  const running = new Map<string, Set<Attempt>>();

  function track(endpointId: string, attempt: Attempt): void {
    const others = running.get(endpointId);
    if (others === undefined) running.set(endpointId, new Set([attempt]));
    else others.add(attempt);
  }

  function forget(endpointId: string, attempt: Attempt): void {
    const others = running.get(endpointId);
    others?.delete(attempt);
    if (others?.size === 0) running.delete(endpointId);
  }

  async function send(wanted: SendRequest): Promise<AttemptResult | undefined> {
    const startedMs = performance.now();
    const ending = await new Promise<Ending | undefined>((resolve) => {
      const finish = (ending: Ending | undefined) => {
        if (attempt.isOver) return;
        attempt.isOver = true;
        clearTimeout(timer);
        forget(wanted.endpointId, attempt);
        resolve(ending);
      };
      const attempt: Attempt = { request: undefined, isOver: false, httpStatus: 0, finish };
      track(wanted.endpointId, attempt);
      // One clock for everything: name, connection, handshake, headers and body.
      const timer = setTimeout(() => {
        finish({ ...failed("timeout"), httpStatus: attempt.httpStatus });
        attempt.request?.destroy();
      }, wanted.timeoutMs);
      guard.vet(wanted.target.host).then(
        () => {
          if (!attempt.isOver) start(wanted, attempt, false);
        },
        (error: unknown) => finish(failed(classify(error))),
      );
    });
    if (ending === undefined) return undefined;
    return { ...ending, durationMs: Math.round(performance.now() - startedMs) };
  }

  function start(wanted: SendRequest, attempt: Attempt, isRepeat: boolean): void {
    const { target } = wanted;
    const { finish } = attempt;
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
        start(wanted, attempt, true);
      } else finish(failed(classify(error)));
    });
    outgoing.once("close", () => {
      if (attempt.request === outgoing) finish(failed("connection"));
    });
    outgoing.end(wanted.body, "utf8");
  }

  return {
    send,
    stop(endpointId) {
      for (const attempt of [...(running.get(endpointId) ?? [])]) {
        if (hasSent(attempt.request)) continue;
        attempt.finish(undefined);
        attempt.request?.destroy();
      }
    },
    close: () => agents.close(),
  };
}

/** A request leaves with the first write after the handshake; before that it is only queued. */
function hasSent(request: ClientRequest | undefined): boolean {
  const socket = request?.socket as (TLSSocket & { readonly secureConnecting: boolean }) | null;
  return socket != null && !socket.connecting && !socket.secureConnecting;
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
