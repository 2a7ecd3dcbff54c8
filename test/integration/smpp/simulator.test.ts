import { expect } from "chai";
import { createSmppClient, type SmppClient } from "../../../services/shared/smpp/client.ts";
import type { LinkInfo, SmppClientOptions } from "../../../services/shared/smpp/client-options.ts";
import type { CountersSnapshot } from "../../../services/smsc-simulator/app/counters.ts";
import {
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from "../../../services/smsc-simulator/create-simulator.ts";
import { eventually } from "../../support/poll.ts";
import { createTestAuthority } from "../../support/rpc-certificates.ts";

describe("SMSC simulator", () => {
  const open: { close(): Promise<void> }[] = [];
  let simulator: Simulator;

  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
  });

  async function start(options: Partial<SimulatorOptions> = {}): Promise<void> {
    const credentials = { systemId: "carrier", password: "secret" };
    simulator = await startSimulator({
      host: "127.0.0.1",
      port: 0,
      controlPort: 0,
      ...credentials,
      ...options,
    });
    open.push(simulator);
  }

  function connect(options: Partial<SmppClientOptions> = {}): SmppClient {
    const client = createSmppClient({
      host: "127.0.0.1",
      port: simulator.port,
      systemId: "carrier",
      password: "secret",
      reconnectMinMs: 5,
      reconnectMaxMs: 10,
      onDeliver: () => {},
      ...options,
    });
    client.start();
    open.push(client);
    return client;
  }

  const bound = (...clients: SmppClient[]) =>
    eventually(() => clients.every(({ state }) => state === "bound"));
  const call = (path: string, method = "GET", body?: string) =>
    fetch(`http://127.0.0.1:${simulator.controlPort}${path}`, {
      method,
      ...(body !== undefined && { body }),
    });
  const counters = async () => (await (await call("/counters")).json()) as CountersSnapshot;
  const submit = (client: SmppClient, to: string, text = "hello") =>
    client.submit({
      sourceAddr: "ACME",
      destinationAddr: to,
      registeredDelivery: 1,
      shortMessage: Buffer.from(text),
    });

  it("the simulator accepts several binds of one ESME and delivers to the receiving ones in turn", async () => {
    await start();
    const taken = [0, 0];
    let sentToTransmitter = 0;
    const transmitter = connect({
      mode: "transmitter",
      onDeliver: () => {
        sentToTransmitter += 1;
      },
    });
    const receivers = [0, 1].map((i) =>
      connect({
        mode: i === 0 ? "receiver" : "transceiver",
        onDeliver: () => {
          taken[i] = (taken[i] as number) + 1;
        },
      }),
    );
    await bound(transmitter, ...receivers);
    expect((await counters()).binds).to.equal(3);
    await call("/behaviour", "POST", JSON.stringify({ receipts: { delay_ms: 5 } }));
    await Promise.all(
      Array.from({ length: 10 }, (_, i) => submit(transmitter, "2348031230000", `m${i}`)),
    );
    await eventually(async () => (await counters()).receipts.acknowledged === 10);
    expect(taken[0]).to.be.above(0);
    expect(taken[1]).to.be.above(0);
    expect(sentToTransmitter).to.equal(0);
  });

  it("the simulator refuses a submit on a receiver bind", async () => {
    await start();
    const receiver = connect({ mode: "receiver" });
    await bound(receiver);
    expect(await submit(receiver, "2348031230000")).to.deep.include({
      kind: "refused",
      disposition: "bind",
    });
  });

  it("the counters go by destination, count no retry after a refusal as a duplicate, and reset to zero", async () => {
    await start();
    const client = connect();
    await bound(client);
    for (let i = 0; i < 3; i++) await submit(client, "2348031239904");
    for (let i = 0; i < 2; i++) await submit(client, "+2348031230000");
    const seen = await counters();
    expect(seen.submits).to.deep.equal({
      "2348031239904": { total: 3, refused: 2, duplicates: 0 },
      "2348031230000": { total: 2, refused: 0, duplicates: 1 },
    });
    expect(seen).to.deep.include({ binds: 1, peak_per_second: 5 });
    expect((await call("/reset", "POST")).status).to.equal(200);
    expect(await counters()).to.deep.include({
      submits: {},
      peak_per_second: 0,
      binds: 1,
      total: 0,
    });
  });

  it("the simulator sends receipts in the configured format", async () => {
    await start();
    const seen: string[] = [];
    const client = connect({
      onDeliver: ({ body, tlvs }) => {
        const text = "shortMessage" in body && body.shortMessage.length > 0 ? "text" : "";
        seen.push([text, tlvs.receiptedMessageId ? "tlv" : ""].filter(Boolean).join("+"));
      },
    });
    await bound(client);
    for (const format of ["text", "tlv", "both"]) {
      await call("/behaviour", "POST", JSON.stringify({ receipts: { format, delay_ms: 1 } }));
      await submit(client, "2348031230000", format);
    }
    await eventually(() => seen.length === 3);
    expect(seen).to.deep.equal(["text", "tlv", "text+tlv"]);
  });

  it("a configured delay does not change the delay of a test number", async () => {
    await start();
    await call("/behaviour", "POST", JSON.stringify({ receipts: { delay_ms: 60_000 } }));
    const seen: string[] = [];
    const client = connect({ onDeliver: ({ body }) => void seen.push(body.sourceAddr) });
    await bound(client);
    void submit(client, "2348031239908").catch(() => undefined);
    await eventually(() => seen.length === 1);
    expect(seen).to.deep.equal(["2348031239908"]);
  });

  it("the simulator sends a receipt only when the submit requests one", async () => {
    await start();
    const seen: string[] = [];
    const client = connect({ onDeliver: ({ body }) => void seen.push(body.sourceAddr) });
    await bound(client);
    await call("/behaviour", "POST", JSON.stringify({ receipts: { delay_ms: 1 } }));
    const fields = { sourceAddr: "A", shortMessage: Buffer.from("x") };
    await client.submit({ ...fields, destinationAddr: "2340000", registeredDelivery: 0 });
    await client.submit({ ...fields, destinationAddr: "2340001", registeredDelivery: 2 });
    await client.submit({ ...fields, destinationAddr: "2349901", registeredDelivery: 2 });
    await client.submit({ ...fields, destinationAddr: "2340002", registeredDelivery: 1 });
    await eventually(() => seen.length === 2);
    expect(seen.sort()).to.deep.equal(["2340002", "2349901"]);
  });

  const WRONG: [string, string, string, string | undefined, number][] = [
    ["a path it does not know", "GET", "/nothing", undefined, 404],
    ["a body that is not JSON", "POST", "/behaviour", "{", 400],
    ["an unknown fault", "POST", "/behaviour", '{"faults":{"fire":true}}', 400],
    ["a body over its bound", "POST", "/behaviour", `"${"x".repeat(70_000)}"`, 400],
    [
      "a handset without a number",
      "POST",
      "/mo",
      '{"source":"x","destination":"1","text":"t"}',
      400,
    ],
  ];
  for (const [name, method, path, body, status] of WRONG) {
    it(`answers ${name} on the control port with ${status}`, async () => {
      await start();
      expect((await call(path, method, body)).status).to.equal(status);
    });
  }

  it("over TLS the client verifies the certificate unless its options disable that", async () => {
    const authority = createTestAuthority();
    await start({ tls: authority.server() });
    const infos: LinkInfo[] = [];
    const onState = (_: string, info: LinkInfo) => infos.push(info);
    const doubtful = connect({ tls: true, onState });
    const failure = await eventually(() => infos.find(({ error }) => error !== undefined));
    expect(failure.error?.message).to.match(/certificate|verify|issuer/);
    expect(doubtful.state).to.not.equal("bound");
    const trusting = connect({ tls: { ca: authority.ca, servername: "localhost" } });
    const careless = connect({ tls: { rejectUnauthorized: false } });
    await bound(trusting, careless);
    expect((await submit(trusting, "2348031230000")).kind).to.equal("accepted");
  });
});
