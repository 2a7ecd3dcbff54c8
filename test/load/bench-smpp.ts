/**
 * Measures the SMPP library: the codec on one core; raw submits at window 100 without latency, each
 * pairing of our client and server and those of the npm package smpp in one run; and how much of
 * window ÷ round trip is reached at windows 1, 10 and 100 when the simulator takes 20 ms to answer.
 * Servers run in a thread of their own. About 25 seconds.
 */
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { createSmppClient } from "../../services/carrier/smpp/client.ts";
import { decodePdu, encodePduInto } from "../../services/carrier/smpp/codec.ts";
import { startSmppServer } from "../../services/carrier/smpp/server.ts";
import { startSimulator } from "../../services/smsc-simulator/simulator.ts";

type OtherSession = {
  on(event: string, listener: (pdu: { response(options?: object): object }) => void): void;
  send(pdu: object): void;
  bind_transceiver(options: object, answered: () => void): void;
  submit_sm(options: object, answered: () => void): void;
  destroy(): void;
};
const smpp = createRequire(import.meta.url)("smpp") as {
  connect(options: object): OtherSession;
  createServer(listener: (session: OtherSession) => void): import("node:net").Server;
};

type ServerKind = "ours" | "npm" | "simulator";
const HOST = "127.0.0.1";
const RAW_MS = 2500;
const SHARE_MS = 2500;
const LATENCY_MS = 20;
const TEXT = "Your code is 123456. Do not share it with anyone at all, not even us.";
const RECIPIENT = "2348031230000";

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

async function withServer<T>(
  kind: ServerKind,
  run: (ports: { port: number; controlPort: number }) => Promise<T>,
): Promise<T> {
  const worker = new Worker(new URL(import.meta.url), { workerData: kind });
  const ports = await new Promise<{ port: number; controlPort: number }>((resolve) =>
    worker.once("message", resolve),
  );
  try {
    return await run(ports);
  } finally {
    await worker.terminate();
  }
}

/** Keeps `window` calls under way for `forMs` and returns how many ended per second. */
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

async function ourSubmits(port: number, window: number, forMs: number): Promise<number> {
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
  const shortMessage = Buffer.from(TEXT);
  const rate = await ratePerSecond(window, forMs, () =>
    client.submit({
      sourceAddrTon: 5,
      sourceAddr: "ACME",
      destinationAddr: RECIPIENT,
      shortMessage,
    }),
  );
  await client.close();
  return rate;
}

async function npmSubmits(port: number, window: number, forMs: number): Promise<number> {
  const session = smpp.connect({ host: HOST, port });
  session.on("error", () => {});
  await new Promise<void>((resolve) => session.on("connect", () => resolve()));
  await new Promise<void>((resolve) =>
    session.bind_transceiver({ system_id: "b", password: "b" }, resolve),
  );
  const fields = {
    source_addr_ton: 5,
    source_addr: "ACME",
    destination_addr: RECIPIENT,
    short_message: TEXT,
  };
  const rate = await ratePerSecond(
    window,
    forMs,
    () => new Promise<void>((resolve) => session.submit_sm(fields, resolve)),
  );
  session.destroy();
  return rate;
}

function codecRate(forMs: number): number {
  const scratch = Buffer.alloc(1024);
  const body = {
    sourceAddrTon: 5,
    sourceAddr: "ACME",
    destAddrTon: 1,
    destAddrNpi: 1,
    destinationAddr: RECIPIENT,
    registeredDelivery: 1,
    shortMessage: Buffer.from(TEXT),
  };
  const startedAtMs = performance.now();
  let sequence = 0;
  while (performance.now() - startedAtMs < forMs) {
    for (let i = 0; i < 1000; i++) {
      const end = encodePduInto({ command: "submit_sm", sequence: ++sequence, body }, scratch, 0);
      if (decodePdu(scratch, 0, end).sequence !== sequence) throw new Error("codec");
    }
  }
  return (sequence * 1000) / (performance.now() - startedAtMs);
}

function print(what: string, value: string): void {
  process.stdout.write(`${what.padEnd(58)} ${value.padStart(12)}\n`);
}
const whole = (rate: number): string => Math.round(rate).toLocaleString("en");

async function main(): Promise<void> {
  codecRate(500);
  print("codec: submit_sm encoded and decoded per second, one core", whole(codecRate(1500)));
  const clients = { ours: ourSubmits, npm: npmSubmits };
  for (const server of ["ours", "npm"] as const) {
    for (const client of ["ours", "npm"] as const) {
      const rate = await withServer(server, ({ port }) => clients[client](port, 100, RAW_MS));
      print(`submits/s, window 100: client ${client}, server ${server}`, whole(rate));
    }
  }
  await withServer("simulator", async ({ port, controlPort }) => {
    const body = JSON.stringify({ latency_ms: LATENCY_MS });
    await fetch(`http://${HOST}:${controlPort}/behaviour`, { method: "POST", body });
    for (const window of [1, 10, 100]) {
      const rate = await ourSubmits(port, window, SHARE_MS);
      const share = (100 * rate * LATENCY_MS) / (1000 * window);
      print(
        `window ${window}, ${LATENCY_MS} ms: ${whole(rate)}/s, share of window ÷ round trip`,
        `${share.toFixed(1)} %`,
      );
    }
  });
}

if (isMainThread) await main();
else {
  const server = (await serve(workerData as ServerKind)) as { port: number; controlPort?: number };
  parentPort?.postMessage({ port: server.port, controlPort: server.controlPort ?? 0 });
}
