import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { readBody } from "../../shared/io/read-body.ts";
import type { CountersSnapshot } from "../app/counters.ts";
import type { Behaviour, BehaviourChange } from "../domain/behaviour.ts";
import { type HandsetMessage, parseHandsetMessage } from "../domain/handset-message.ts";
import { ControlError, parseBehaviour } from "../domain/parse-behaviour.ts";

const BODY_BYTES_MAX = 64 * 1024;

/** The operations of the control port. */
export interface ControlPort {
  counters(): CountersSnapshot;
  reset(): void;
  behaviour(): Behaviour;
  applyBehaviour(change: BehaviourChange): void;
  /** Returns the number of parts to deliver. */
  injectMessage(message: HandsetMessage): number;
}

/** Listens for the control requests of README.md. Port 0 takes a free one. */
export async function startControl(
  host: string,
  port: number,
  control: ControlPort,
): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    answer(request, control).then(
      (value) => send(response, 200, value),
      (error: unknown) => {
        if (error instanceof ControlError) return send(response, 400, { error: error.message });
        if (error instanceof NotFound) return send(response, 404, { error: "not found" });
        return send(response, 500, { error: "internal error" });
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

class NotFound extends Error {}

async function answer(request: IncomingMessage, control: ControlPort): Promise<unknown> {
  const path = new URL(request.url ?? "/", "http://control").pathname;
  switch (`${request.method} ${path}`) {
    case "GET /counters":
      return control.counters();
    case "POST /reset":
      control.reset();
      return {};
    case "GET /behaviour":
      return control.behaviour();
    case "POST /behaviour":
      control.applyBehaviour(parseBehaviour(await readJson(request)));
      return control.behaviour();
    case "POST /mo":
      return { parts: control.injectMessage(parseHandsetMessage(await readJson(request))) };
    default:
      throw new NotFound();
  }
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await readBody(request, BODY_BYTES_MAX);
  if (body === undefined) throw new ControlError("body is too large");
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    throw new ControlError("body is not JSON");
  }
}

function send(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body);
}
