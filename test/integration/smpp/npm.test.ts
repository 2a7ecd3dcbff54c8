import { createRequire } from "node:module";
import type { AddressInfo, Server } from "node:net";
import { expect } from "chai";
import { createSmppClient, type SmppClient } from "../../../services/shared/smpp/client.ts";
import { splitMessage } from "../../../services/shared/smpp/message-parts.ts";
import { parseReceipt, type Receipt } from "../../../services/shared/smpp/receipts.ts";
import {
  type Simulator,
  startSimulator,
} from "../../../services/smsc-simulator/create-simulator.ts";
import { eventually } from "../../support/poll.ts";

/** The parts of the npm package smpp that these tests use; it has no types of its own. */
type OtherPdu = Record<string, unknown> & { response(options?: object): OtherPdu };
type OtherSession = {
  on(event: string, listener: (pdu: OtherPdu) => void): void;
  send(pdu: OtherPdu): void;
  close(): void;
  destroy(): void;
} & Record<
  "bind_transceiver" | "submit_sm" | "query_sm" | "unbind" | "enquire_link" | "deliver_sm",
  (options: object, answered: (pdu: OtherPdu) => void) => void
>;
const smpp = createRequire(import.meta.url)("smpp") as {
  connect(options: object): OtherSession;
  createServer(listener: (session: OtherSession) => void): Server;
  PDU: new (command: string, options?: object) => OtherPdu;
};

const CREDENTIALS = { system_id: "npm", password: "secret" };

describe("the npm package smpp as a client of the simulator", () => {
  let simulator: Simulator;
  let session: OtherSession;
  const received: OtherPdu[] = [];

  before(async () => {
    simulator = await startSimulator({
      host: "127.0.0.1",
      port: 0,
      controlPort: 0,
      systemId: "npm",
      password: "secret",
    });
    session = smpp.connect({ host: "127.0.0.1", port: simulator.port });
    session.on("deliver_sm", (pdu) => {
      received.push(pdu);
      session.send(pdu.response());
    });
    await new Promise<void>((resolve) => session.on("connect", () => resolve()));
  });
  after(async () => {
    session.destroy();
    await simulator.close();
  });

  const ask = (
    command: "bind_transceiver" | "submit_sm" | "query_sm" | "unbind" | "enquire_link",
    options: object,
  ) => new Promise<OtherPdu>((resolve) => session[command](options, resolve));

  it("the package reads the refusal of a wrong password and then binds on another link", async () => {
    const refused = await ask("bind_transceiver", { ...CREDENTIALS, password: "wrong" });
    expect(refused).to.include({ command_status: 0x0e, system_id: "simulator" });
    session.destroy();
    session = smpp.connect({ host: "127.0.0.1", port: simulator.port });
    session.on("deliver_sm", (pdu) => {
      received.push(pdu);
      session.send(pdu.response());
    });
    await new Promise<void>((resolve) => session.on("connect", () => resolve()));
    expect(await ask("bind_transceiver", CREDENTIALS)).to.include({ command_status: 0 });
  });

  it("the package submits, gets a receipt with text and parameters, and queries the state", async () => {
    const answer = await ask("submit_sm", {
      source_addr: "ACME",
      destination_addr: "2348031239901",
      registered_delivery: 1,
      short_message: "hello",
    });
    expect(answer).to.include({ command_status: 0 });
    const receipt = await eventually(() => received[0]);
    const { message } = receipt.short_message as { message: string };
    expect(message).to.match(
      new RegExp(`^id:${answer.message_id} sub:001 .* stat:UNDELIV err:027`),
    );
    expect(receipt).to.include({
      receipted_message_id: answer.message_id,
      message_state: 5,
      esm_class: 4,
    });
    const query = await ask("query_sm", { message_id: answer.message_id });
    expect(query).to.include({ command_status: 0, message_state: 5 });
  });

  it("the package gets a message from a handset in two parts", async () => {
    received.length = 0;
    const response = await fetch(`http://127.0.0.1:${simulator.controlPort}/mo`, {
      method: "POST",
      body: JSON.stringify({
        source: "+2348031230001",
        destination: "32120",
        text: "ж".repeat(80),
      }),
    });
    expect(await response.json()).to.deep.equal({ parts: 2 });
    await eventually(() => received.length === 2);
    const texts = received.map((pdu) => (pdu.short_message as { message: string }).message);
    expect(texts.join("")).to.equal("ж".repeat(80));
    expect(received[0]).to.include({ source_addr: "2348031230001", destination_addr: "32120" });
  });

  it("the package gets answers to enquire_link and unbind", async () => {
    expect(await ask("enquire_link", {})).to.include({ command_status: 0 });
    expect(await ask("unbind", {})).to.include({ command: "unbind_resp", command_status: 0 });
  });
});

describe("our client against a server made with the npm package smpp", () => {
  let server: Server;
  let client: SmppClient;
  const submits: OtherPdu[] = [];
  const receipts: Receipt[] = [];
  const sessions: OtherSession[] = [];
  let signsOfLife = 0;

  before(async () => {
    server = smpp.createServer((session) => {
      sessions.push(session);
      session.on("bind_transceiver", (pdu) => session.send(pdu.response({ system_id: "npm" })));
      session.on("enquire_link", (pdu) => {
        signsOfLife += 1;
        session.send(pdu.response());
      });
      session.on("unbind", (pdu) => session.send(pdu.response()));
      session.on("submit_sm", (pdu) => {
        submits.push(pdu);
        const id = `id-${submits.length}`;
        session.send(pdu.response({ message_id: id }));
        if (pdu.registered_delivery !== 1) return;
        const dates = "submit date:2611211230 done date:2611211230";
        const text = `id:${id} sub:001 dlvrd:001 ${dates} stat:DELIVRD err:000 text:`;
        session.deliver_sm(
          {
            source_addr: pdu.destination_addr,
            destination_addr: pdu.source_addr,
            esm_class: 4,
            short_message: text,
          },
          () => {},
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    client = createSmppClient({
      host: "127.0.0.1",
      port: (server.address() as AddressInfo).port,
      systemId: "me",
      password: "secret",
      windowMax: 50,
      enquireLinkIntervalMs: 20,
      reconnectMinMs: 5,
      reconnectMaxMs: 10,
      onDeliver: (message) => {
        const receipt = parseReceipt(message);
        if (receipt !== undefined) receipts.push(receipt);
      },
    });
    client.start();
    await eventually(() => client.state === "bound");
  });
  after(async () => {
    await client.close();
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it("each of many concurrent submits gets its own id and its receipt", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        client.submit({
          sourceAddr: "ACME",
          destinationAddr: `23480${i}`,
          registeredDelivery: 1,
          shortMessage: Buffer.from(`n${i}`),
        }),
      ),
    );
    expect(
      outcomes.map((outcome) => outcome.kind === "accepted" && outcome.messageId),
    ).to.deep.equal(Array.from({ length: 200 }, (_, i) => `id-${i + 1}`));
    await eventually(() => receipts.length === 200);
    expect(receipts[7]).to.deep.include({
      messageId: "id-8",
      state: "delivered",
      recipient: "234807",
    });
  });

  it("the other side reads long GSM 7-bit and UCS-2 texts unchanged", async () => {
    const texts = ["€uro {brackets} ".repeat(20), "Привет, мир 😀 ".repeat(12)];
    for (const text of texts) {
      submits.length = 0;
      const encoding = text.startsWith("€") ? "gsm7" : "ucs2";
      const parts = splitMessage({ segments: [text], encoding, reference: 7 });
      for (const { tlvs, ...part } of parts) {
        await client.submit({ sourceAddr: "ACME", destinationAddr: "234", ...part }, tlvs);
      }
      expect(parts.length).to.be.above(1);
      const read = submits.map(
        ({ short_message }) => (short_message as { message: string }).message,
      );
      expect(read.join("")).to.equal(text);
    }
  });

  it("enquire_link keeps an idle link open, and the client reconnects when the server drops it", async () => {
    const before = sessions.length;
    signsOfLife = 0;
    await eventually(() => signsOfLife >= 3);
    expect([sessions.length, client.state]).to.deep.equal([before, "bound"]);
    sessions.at(-1)?.destroy();
    await eventually(() => sessions.length > before && client.state === "bound");
    const outcome = await client.submit({ sourceAddr: "A", destinationAddr: "234" });
    expect(outcome.kind).to.equal("accepted");
  });
});
