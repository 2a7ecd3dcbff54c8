/** The life of connections to receivers: reuse, age and end. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { expect } from "chai";
import { openGate } from "../../support/held-connections.ts";
import { eventually } from "../../support/poll.ts";
import { type RawReceiver, say, startRawReceiver } from "../../support/raw-receiver.ts";
import { testCertificates } from "../../support/webhook-harness.ts";
import { openTestClient } from "../../support/webhook-http-client.ts";

const ACCEPTED = say("HTTP/1.1 204 X\n\n");
describe("connections to webhook receivers", () => {
  const certificates = testCertificates();
  const closing: (() => unknown)[] = [];
  let receiver: RawReceiver;

  beforeEach(async () => {
    receiver = await startRawReceiver(certificates);
    closing.push(() => receiver.close());
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  function openClient(limits: Parameters<typeof openTestClient>[1] = {}) {
    const client = openTestClient(certificates.caFile, limits);
    closing.push(client.close);
    return client;
  }

  /** Sends requests that all arrive before the first response. */
  async function together(count: number, send: () => Promise<unknown>): Promise<void> {
    const waiting: (() => void)[] = [];
    receiver.behave((request) => void waiting.push(() => ACCEPTED(request)));
    const sent = Array.from({ length: count }, send);
    await eventually(() => waiting.length === count);
    for (const answer of waiting) answer();
    await Promise.all(sent);
    receiver.behave(ACCEPTED);
  }

  it("one connection carries many requests, and collects no listeners", async () => {
    const client = openClient();
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on("warning", note);
    closing.push(() => process.removeListener("warning", note));
    for (let count = 0; count < 40; count += 1) await client.to(receiver.port);
    expect(receiver.sockets.length).to.equal(1);
    expect(receiver.requests.length).to.equal(40);
    expect(client.used).to.deep.equal(["new", ...Array(39).fill("reused")]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).to.deep.equal([]);
  });

  it("a response that arrives before the socket reports the write keeps its connection", async () => {
    const other = await startReceiverThread(certificates);
    closing.push(other.stop);
    const client = openClient();
    for (let count = 0; count < 50; count += 1) {
      // A write among the immediates is reported among the next ones; the response of the other
      // thread has arrived by then.
      await new Promise((resolve) => setImmediate(resolve));
      const sent = client.to(other.port);
      await Promise.resolve();
      const untilMs = performance.now() + 3;
      while (performance.now() < untilMs);
      await sent;
    }
    expect(client.used.filter((kind) => kind === "new").length).to.equal(1);
  });

  it("the most recently used connection is used next, and no more idle than the limit", async () => {
    const client = openClient({ socketsMax: 2 });
    await together(4, () => client.to(receiver.port));
    await eventually(() => receiver.sockets.filter(({ destroyed }) => destroyed).length === 2);
    const before = receiver.requests.length;
    for (let count = 0; count < 5; count += 1) await client.to(receiver.port);
    const used = new Set(receiver.requests.slice(before).map(({ socket }) => socket));
    expect(used.size).to.equal(1);
    expect(receiver.sockets.length).to.equal(4);
  });

  for (const [name, end] of [
    ["closed", (socket: Socket) => void socket.end()],
    ["destroyed", (socket: Socket) => void socket.destroy()],
    ["ended after one octet of a response", (socket: Socket) => void socket.end("H")],
  ] as const) {
    it(`a used connection ${name} without a response fails the attempt: the request leaves once`, async () => {
      const client = openClient();
      await client.to(receiver.port);
      receiver.behave(({ socket }) => end(socket));
      // At once: the connection ends within 50 ms of its last response.
      expect(await client.to(receiver.port)).to.include({ error: "connection", httpStatus: 0 });
      expect(client.used).to.deep.equal(["new"]);
      expect([receiver.requests.length, receiver.sockets.length]).to.deep.equal([2, 1]);
      receiver.behave(ACCEPTED);
      expect(await client.to(receiver.port)).to.include({ error: "", httpStatus: 204 });
      expect([receiver.requests.length, receiver.sockets.length]).to.deep.equal([3, 2]);
    });
  }

  it("a used connection reset without a response fails the attempt: the request leaves once", async () => {
    const gate = await openGateToReceiver();
    const client = openClient();
    const sent = client.to(gate.port);
    await eventually(() => gate.held.length === 1);
    gate.letThrough();
    await sent;
    receiver.behave(() => void gate.all[0]?.resetAndDestroy());
    expect(await client.to(gate.port)).to.include({ error: "connection", httpStatus: 0 });
    expect([receiver.requests.length, gate.all.length]).to.deep.equal([2, 1]);
  });

  it("an idle connection that ends or receives data is not used again", async () => {
    const client = openClient();
    await client.to(receiver.port);
    receiver.sockets[0]?.end();
    await eventually(() => receiver.sockets[0]?.destroyed);
    await client.to(receiver.port);
    receiver.sockets[1]?.write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
    await eventually(() => receiver.sockets[1]?.destroyed);
    expect(await client.to(receiver.port)).to.include({ error: "", httpStatus: 204 });
    expect(client.used).to.deep.equal(["new", "new", "new"]);
    expect(receiver.requests.length).to.equal(3);
  });

  it("an idle connection is closed after the maximum idle time", async () => {
    const client = openClient({ idleMs: 60 });
    await client.to(receiver.port);
    await eventually(() => receiver.sockets[0]?.destroyed);
    await client.to(receiver.port);
    expect(receiver.sockets.length).to.equal(2);
  });

  it("a busy connection is closed at the maximum age", async () => {
    const client = openClient({ ageMaxMs: 300 });
    const beganMs = performance.now();
    const passedMs = () => performance.now() - beganMs;
    while (passedMs() < 800 || receiver.sockets.length < 2) await client.to(receiver.port);
    expect(receiver.sockets.length).to.be.at.most(1 + passedMs() / 300);
    expect(receiver.requests.length, "connections are reused").above(receiver.sockets.length);
  });

  it("a connection is not reused within a second of the server's keep-alive timeout", async () => {
    const client = openClient();
    receiver.behave(say("HTTP/1.1 204 X\nKeep-Alive: timeout=1\n\n"));
    await client.to(receiver.port);
    await client.to(receiver.port);
    expect(receiver.sockets.length).to.equal(2);
    receiver.behave(say("HTTP/1.1 204 X\nKeep-Alive: timeout=5\n\n"));
    await client.to(receiver.port);
    await client.to(receiver.port);
    expect(receiver.sockets.length).to.equal(3);
  });

  it("each endpoint has its own pool, and the least recently used pools are closed", async () => {
    const client = openClient({ poolsMax: 2 });
    for (const endpointId of ["whe_1", "whe_2", "whe_1", "whe_3"]) {
      await client.to(receiver.port, { endpointId });
    }
    expect(client.used).to.deep.equal(["new", "new", "reused", "new"]);
    await eventually(() => receiver.sockets[1]?.destroyed);
    await client.to(receiver.port, { endpointId: "whe_1" });
    expect(client.used.at(-1)).to.equal("reused");
  });

  it("a changed URL closes the endpoint's old connections", async () => {
    const other = await startRawReceiver(certificates);
    closing.push(() => other.close());
    const client = openClient();
    await client.to(receiver.port);
    await client.to(other.port);
    expect([receiver.requests.length, other.requests.length]).to.deep.equal([1, 1]);
    await eventually(() => receiver.sockets[0]?.destroyed);
  });

  it("a new connection resumes the TLS session of any endpoint on its host and port", async () => {
    const client = openClient();
    await client.to(receiver.port, { endpointId: "whe_1" });
    await client.to(receiver.port, { endpointId: "whe_2" });
    const resumed = receiver.sockets.map((socket) => socket.isSessionReused());
    expect(resumed).to.deep.equal([false, true]);
    const other = await startRawReceiver(certificates);
    closing.push(() => other.close());
    await client.to(other.port, { endpointId: "whe_3" });
    expect(other.sockets.map((socket) => socket.isSessionReused())).to.deep.equal([false]);
  });

  async function openGateToReceiver() {
    const gate = await openGate(receiver.port);
    closing.push(() => gate.close());
    return gate;
  }

  it("a stop ends the connecting requests of its endpoint only", async () => {
    const gate = await openGateToReceiver();
    const client = openClient();
    const stopped = client.to(gate.port, { endpointId: "whe_stopped" });
    const other = client.to(gate.port, { endpointId: "whe_other" });
    await eventually(() => gate.held.length === 2);
    client.stop("whe_stopped");
    expect(await stopped).to.equal(undefined);
    gate.letThrough();
    expect(await other).to.include({ error: "", httpStatus: 204 });
    expect(receiver.requests.length).to.equal(1);
  });

  it("a stop lets written requests get their response", async () => {
    const client = openClient();
    for (const kind of ["new", "reused"]) {
      receiver.behave((request) => {
        client.stop("whe_1");
        ACCEPTED(request);
      });
      expect(await client.to(receiver.port)).to.include({ error: "", httpStatus: 204 });
      expect(client.used.at(-1)).to.equal(kind);
    }
  });

  it("a written request of a stopped endpoint is not sent again", async () => {
    const client = openClient();
    for (const end of ["destroy", "end"] as const) {
      receiver.behave(ACCEPTED);
      await client.to(receiver.port);
      const before = receiver.requests.length;
      receiver.behave(({ socket }) => {
        client.stop("whe_1");
        socket[end]();
      });
      const result = await client.to(receiver.port);
      expect(result, end).to.include({ error: "connection", httpStatus: 0 });
      expect(receiver.requests.length, end).to.equal(before + 1);
    }
  });

  it("a handshake that takes too long is a timeout, and its connection is closed", async () => {
    const gate = await openGateToReceiver();
    const client = openClient();
    const result = await client.to(gate.port, { timeoutMs: 200 });
    expect(result).to.include({ error: "timeout", httpStatus: 0 });
    const [socket] = gate.all;
    socket?.resume();
    await eventually(() => socket?.destroyed);
  });

  it("closing ends requests and idle connections, and nothing is sent afterwards", async () => {
    const client = openClient();
    await together(2, () => client.to(receiver.port));
    receiver.behave(() => undefined);
    const waiting = client.to(receiver.port);
    await eventually(() => receiver.requests.length === 3);
    client.close();
    expect(await waiting).to.include({ error: "connection" });
    await eventually(() => receiver.sockets.every(({ destroyed }) => destroyed));
    expect(await client.to(receiver.port)).to.include({ error: "connection" });
    expect(receiver.requests.length).to.equal(3);
  });
});

/** A receiver in its own thread, which responds to every piece it reads. */
async function startReceiverThread(tls: { readonly certFile: string; readonly keyFile: string }) {
  const program = `
    const { parentPort, workerData } = require("node:worker_threads");
    const [cert, key] = workerData.map((file) => require("node:fs").readFileSync(file));
    const server = require("node:tls").createServer({ cert, key }, (socket) => {
      socket.on("error", () => undefined);
      socket.on("data", () => socket.write("HTTP/1.1 204 X\\r\\n\\r\\n"));
    });
    server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
  `;
  const worker = new Worker(program, { eval: true, workerData: [tls.certFile, tls.keyFile] });
  const [port] = (await once(worker, "message")) as [number];
  return { port, stop: () => worker.terminate() };
}
