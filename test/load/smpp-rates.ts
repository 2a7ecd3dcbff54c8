/**
 * Submits per second of SMPP clients against SMPP servers: ours, the simulator, and those of the
 * npm package smpp. A server runs in a thread of its own, which loads this same file.
 */
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { createSmppClient } from "../../services/shared/smpp/client.ts";
import { startSmppServer } from "../../services/shared/smpp/server.ts";
import { startSimulator } from "../../services/smsc-simulator/create-simulator.ts";

type OtherSession = {
  on(event: string, listener: (pdu: { response(options?: object): object }) => void): void;
  send(pdu: object): void;
  bind_transceiver(options: object, answered: () => void): void;
  submit_sm(options: object, answered: (pdu: { readonly command_status: number }) => void): void;
  destroy(): void;
};
const smpp = createRequire(import.meta.url)("smpp") as {
  connect(options: object): OtherSession;
  createServer(listener: (session: OtherSession) => void): import("node:net").Server;
};

/** The SMPP servers there are to submit to. */
export type ServerKind = "ours" | "npm" | "simulator";
const HOST = "127.0.0.1";
/** The fields of every submit. */
export const SMPP_TEXT = "Your code is 123456. Do not share it with anyone at all, not even us.";
/** Whom every submit is for. */
export const SMPP_RECIPIENT = "2348031230000";

async function serve(kind: ServerKind): Promise<object> {
  if (kind === "simulator") {
    return startSimulator({ host: HOST, port: 0, controlPort: 0, systemId: "b", password: "b" });
  }
  let id = 0;
  if (kind === "ours") {
    return startSmppServer({
      host: HOST,
      port: 0,
      systemId: "bench",
      authenticate: () => 0,
      onRequest: (request, session) =>
        session.respond(request, { body: { messageId: (++id).toString(16) } }),
    });
  }
  const server = smpp.createServer((session) => {
    session.on("bind_transceiver", (pdu) => session.send(pdu.response()));
    session.on("submit_sm", (pdu) =>
      session.send(pdu.response({ message_id: (++id).toString(16) })),
    );
    session.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, () => resolve()));
  return { port: (server.address() as AddressInfo).port };
}

/** Runs a server in a thread of its own for as long as `run` takes. */
export async function withServer<T>(
  kind: ServerKind,
  run: (ports: { port: number; controlPort: number }) => Promise<T>,
): Promise<T> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { smppServer: kind } });
  const ports = await new Promise<{ port: number; controlPort: number }>((resolve) =>
    worker.once("message", resolve),
  );
  try {
    return await run(ports);
  } finally {
    await worker.terminate();
  }
}

/** Keeps `window` calls in flight for `forMs` and returns calls per second; throws when one fails. */
async function ratePerSecond(
  window: number,
  forMs: number,
  one: () => Promise<unknown>,
): Promise<number> {
  const startedAtMs = performance.now();
  let done = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() - startedAtMs < forMs) {
      await one();
      done++;
    }
  };
  await Promise.all(Array.from({ length: window }, lane));
  return (done * 1000) / (performance.now() - startedAtMs);
}

/** Submits per second of our client with `window` in flight. */
export async function ourSubmits(port: number, window: number, forMs: number): Promise<number> {
  let bound = (): void => {};
  const isBound = new Promise<void>((resolve) => {
    bound = resolve;
  });
  const client = createSmppClient({
    host: HOST,
    port,
    systemId: "b",
    password: "b",
    windowMax: window,
    onDeliver: () => {},
    onState: (state) => {
      if (state === "bound") bound();
    },
  });
  client.start();
  await isBound;
  const shortMessage = Buffer.from(SMPP_TEXT);
  const submit = {
    ...{ sourceAddrTon: 5, sourceAddr: "ACME" },
    ...{ destinationAddr: SMPP_RECIPIENT, shortMessage },
  };
  const rate = await ratePerSecond(window, forMs, async () => {
    const { kind } = await client.submit(submit);
    if (kind !== "accepted") throw new Error(`a submit was not accepted: ${kind}`);
  });
  await client.close();
  return rate;
}

/** Submits per second of the client of the npm package smpp. */
export async function npmSubmits(port: number, window: number, forMs: number): Promise<number> {
  const session = smpp.connect({ host: HOST, port });
  session.on("error", () => {});
  await new Promise<void>((resolve) => session.on("connect", () => resolve()));
  await new Promise<void>((resolve) =>
    session.bind_transceiver({ system_id: "b", password: "b" }, resolve),
  );
  const fields = {
    source_addr_ton: 5,
    source_addr: "ACME",
    destination_addr: SMPP_RECIPIENT,
    short_message: SMPP_TEXT,
  };
  const submit = () =>
    new Promise<{ readonly command_status: number }>((resolve) =>
      session.submit_sm(fields, resolve),
    );
  const rate = await ratePerSecond(window, forMs, async () => {
    const { command_status: status } = await submit();
    if (status !== 0) throw new Error(`a submit was not accepted: ${status}`);
  });
  session.destroy();
  return rate;
}

/** Sets how long the simulator takes to answer a submit. */
export async function submitLatency(controlPort: number, latencyMs: number): Promise<void> {
  const body = JSON.stringify({ latency_ms: latencyMs });
  await fetch(`http://${HOST}:${controlPort}/behaviour`, { method: "POST", body });
}

const asked = (workerData as { smppServer?: ServerKind } | null)?.smppServer;
if (asked !== undefined) {
  const server = (await serve(asked)) as { port: number; controlPort?: number };
  parentPort?.postMessage({ port: server.port, controlPort: server.controlPort ?? 0 });
}
