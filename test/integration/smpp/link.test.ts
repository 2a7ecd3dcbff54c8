/** One bind of a connector against an SMSC of this process, over a real socket. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect } from "chai";
import { SmppSettingsSchema } from "../../../proto/gen/sms/v1/routing_pb.js";
import { createSmppLink } from "../../../services/carrier/adapters/links/smpp-link.ts";
import { createBind } from "../../../services/carrier/app/bind.ts";
import type { Link } from "../../../services/carrier/app/link.ts";
import type { IncomingReceipt, PartOutcome } from "../../../services/carrier/domain/message.ts";
import { systemClock } from "../../../services/shared/core/clock.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import type { Pdu, PduBody, PduOf } from "../../../services/shared/smpp/pdu.ts";
import { type SmppServer, startSmppServer } from "../../../services/shared/smpp/server.ts";
import type { Session } from "../../../services/shared/smpp/session.ts";
import { STATUS } from "../../../services/shared/smpp/statuses.ts";
import type { Tlvs } from "../../../services/shared/smpp/tlvs.ts";
import { claimed } from "../../support/carrier-messages.ts";
import { eventually } from "../../support/poll.ts";

const NAME_TAG = 0x1500;
const WINDOW = 5;

describe("an SMPP bind of a connector", () => {
  let smsc: SmppServer;
  let link: Link;
  let held: { pdu: PduOf<"submit_sm">; session: Session }[];
  let late: string[];
  let receipts: IncomingReceipt[];
  let interfaceVersion: number;

  beforeEach(async () => {
    held = [];
    late = [];
    receipts = [];
    interfaceVersion = 0x34;
    smsc = await startSmppServer({
      host: "127.0.0.1",
      port: 0,
      systemId: "smsc",
      authenticate: () => STATUS.ESME_ROK,
      interfaceVersion: () => interfaceVersion,
      onRequest: (pdu: Pdu, session) => {
        if (pdu.command === "submit_sm") held.push({ pdu, session });
        else session.respond(pdu as never);
      },
    });
  });
  afterEach(async () => {
    await link.close(0);
    await smsc.close();
  });

  async function open(fields: MessageInitShape<typeof SmppSettingsSchema> = {}) {
    link = createSmppLink({
      connectorId: "smsc",
      settings: create(SmppSettingsSchema, {
        host: "127.0.0.1",
        port: smsc.port,
        systemId: "me",
        bindMode: "transceiver",
        window: WINDOW,
        enquireLinkIntervalMs: 30_000,
        responseTimeoutMs: 5000,
        ...fields,
      }),
      events: {
        beforeWrite: () => undefined,
        onReceipt: async (receipt) => void receipts.push(receipt),
        onLateAnswer: (messageId, index, outcome) => {
          late.push(`${messageId} ${index} ${outcome.kind}`);
        },
        onInbound: async () => undefined,
        onChange: () => undefined,
      },
      log: createLogger("test", "silent"),
      clock: systemClock,
    });
    link.start();
    await eventually(() => link.status === "bound");
  }

  /** Submits one message and answers the link's promise of its outcome. */
  function submit(at: number): Promise<PartOutcome> {
    const [part] = link.prepare(claimed({ messageId: `msg_${at}` }));
    if (part === undefined) throw new Error("a message has a part");
    return link.submit(part);
  }

  /** Hands over one message as the SMSC. */
  async function deliver(body: Partial<PduBody<"deliver_sm">>, tlvs?: Tlvs): Promise<void> {
    const [session] = smsc.sessions;
    const addresses = { sourceAddr: "2348031234567", destinationAddr: "DEMO" };
    await session?.request("deliver_sm", { ...addresses, ...body }, tlvs);
  }

  function nameIn({ tlvs }: PduOf<"submit_sm">): string | undefined {
    return tlvs?.other?.find(({ tag }) => tag === NAME_TAG)?.value.toString();
  }

  /** Answers what is held as a carrier that takes no name would, or refuses everything. */
  function answer(status: number, isAll = false): void {
    for (const { pdu, session } of held.splice(0)) {
      const isRefused = isAll || nameIn(pdu) !== undefined;
      if (isRefused) session.respond(pdu, { status, body: { messageId: "" } });
      else session.respond(pdu, { body: { messageId: "id" } });
    }
  }

  const REFUSALS = [
    "ESME_RINVOPTPARSTREAM",
    "ESME_ROPTPARNOTALLWD",
    "ESME_RINVPARLEN",
    "ESME_RINVCMDLEN",
    "ESME_RINVOPTPARAMVAL",
  ] as const;
  for (const code of REFUSALS) {
    it(`${code} to a full window of submits with the message id parameter ends its use and loses none`, async () => {
      await open();
      const first = Array.from({ length: WINDOW }, (_, at) => submit(at));
      await eventually(() => held.length === WINDOW);
      expect(held.map(({ pdu }) => nameIn(pdu))).to.deep.equal(first.map((_, at) => `msg_${at}`));
      answer(STATUS[code]);
      const notSent = { kind: "not_sent", code };
      expect(await Promise.all(first)).to.deep.equal(first.map(() => notSent));

      const second = Array.from({ length: WINDOW }, (_, at) => submit(at));
      await eventually(() => held.length === WINDOW);
      answer(STATUS[code]);
      expect((await Promise.all(second)).map(({ kind }) => kind)).to.deep.equal(
        second.map(() => "accepted"),
      );
    });
  }

  it("the same refusal of a submit without the parameter refuses the message", async () => {
    await open();
    for (const kind of ["not_sent", "refused"]) {
      const outcome = submit(1);
      await eventually(() => held.length === 1);
      answer(STATUS.ESME_RINVPARLEN, true);
      expect((await outcome).kind).to.equal(kind);
    }
  });

  for (const longMessage of ["udh8", "udh16", "sar", "payload"]) {
    for (const optionalParameters of ["auto", "always"]) {
      const isOn = optionalParameters === "always";
      it(`${optionalParameters}: ${longMessage} without a version has ${isOn ? "" : "no "}parameters`, async () => {
        interfaceVersion = 0;
        await open({ longMessage, optionalParameters });
        const parts = link.prepare(claimed({ body: "long ".repeat(50), segments: 2 }));
        const outcomes = parts.map((part) => link.submit(part));
        await eventually(() => held.length === parts.length);
        for (const { pdu } of held) expect(Object.keys(pdu.tlvs).length > 0).to.equal(isOn);
        const isWhole = isOn && longMessage === "payload";
        expect(held.length).to.equal(isWhole ? 1 : 2);
        answer(STATUS.ESME_ROK);
        for (const outcome of await Promise.all(outcomes))
          expect(outcome.kind).to.equal("accepted");
      });
    }
  }

  it("a message with its text in a parameter is prepared again when the carrier refuses parameters", async () => {
    await open({ longMessage: "payload" });
    const body = "long ".repeat(50);
    const prepared = () => link.prepare(claimed({ body, segments: 2 }));
    const [first, second] = [prepared(), prepared()].map(([part]) => part);
    const outcome = link.submit(first as never);
    await eventually(() => held.length === 1);
    answer(STATUS.ESME_RSUBMITFAIL, true);
    expect((await outcome).kind).to.equal("not_sent");
    expect((await link.submit(second as never)).kind).to.equal("not_sent");
    expect(held).to.deep.equal([]);
    expect(prepared().length).to.equal(2);
  });

  it("an id of zeros counts as no id", async () => {
    await open();
    const outcome = submit(1);
    await eventually(() => held.length === 1);
    for (const { pdu, session } of held.splice(0)) {
      session.respond(pdu, { body: { messageId: "00000000" } });
    }
    expect(await outcome).to.deep.equal({ kind: "accepted", carrierMessageId: "" });
  });

  it("a part that was prepared before the refusal is submitted without the parameter", async () => {
    await open();
    const [part] = link.prepare(claimed({ messageId: "msg_early" }));
    const refused = submit(1);
    await eventually(() => held.length === 1);
    answer(STATUS.ESME_ROPTPARNOTALLWD);
    await refused;
    const outcome = link.submit(part as never);
    await eventually(() => held.length === 1);
    expect(held.map(({ pdu }) => nameIn(pdu))).to.deep.equal([undefined]);
    answer(STATUS.ESME_ROPTPARNOTALLWD);
    expect((await outcome).kind).to.equal("accepted");
  });

  it("a late refusal of the parameter does not refuse the message", async () => {
    await open({ responseTimeoutMs: 100 });
    expect((await submit(1)).kind).to.equal("unknown");
    answer(STATUS.ESME_ROPTPARNOTALLWD);
    await eventually(() => late.length === 1);
    expect(late).to.deep.equal(["msg_1 0 not_sent"]);
  });

  it("a link with a wrong bind status closes after its other answers and binds again", async () => {
    await open();
    const bind = createBind(0, link, systemClock, createLogger("test", "silent"));
    const [part] = link.prepare(claimed());
    const outcomes = [bind.submit(part as never, claimed()), submit(1)];
    await eventually(() => held.length === 2);
    const [first, second] = held.splice(0);
    first?.session.respond(first.pdu, { status: STATUS.ESME_RINVBNDSTS });
    expect(await outcomes[0]).to.deep.include({ kind: "refused", disposition: "bind" });
    expect([link.status, bind.room]).to.deep.equal(["down", 0]);
    second?.session.respond(second.pdu, { body: { messageId: "id" } });
    expect((await outcomes[1])?.kind).to.equal("accepted");
    await eventually(() => link.lastError === "unbound status 0x4");
    await eventually(() => link.status === "bound");
    const again = submit(2);
    await eventually(() => held.length === 1);
    expect(held[0]?.session).not.to.equal(first?.session);
    answer(STATUS.ESME_ROK);
    expect((await again).kind).to.equal("accepted");
  });

  const IDS = [
    ["hex_to_decimal", "id:38 stat:DELIVRD", "26", ["26", "1a"]],
    ["as_is", "id:other stat:DELIVRD", "zz", ["zz", "other"]],
    ["as_is", "id:zz stat:DELIVRD", "zz", ["zz"]],
  ] as const;
  for (const [receiptIdForm, text, receiptedMessageId, expected] of IDS) {
    it(`${receiptIdForm}: "${text}" with the parameter ${receiptedMessageId} is searched in both`, async () => {
      await open({ receiptIdForm });
      const body = { esmClass: 0x04, shortMessage: Buffer.from(text) };
      await deliver(body, { receiptedMessageId, messageState: 2 });
      expect(receipts[0]?.keys).to.deep.equal([...expected]);
      expect(receipts[0]).not.to.have.property("isUnmarked");
    });
  }

  it("a receipt that only its text marks is reported as unmarked", async () => {
    await open();
    await deliver({ esmClass: 0, shortMessage: Buffer.from("id:1A2B stat:UNDELIV") });
    expect(receipts[0]).to.include({ isUnmarked: true, verdict: "undelivered" });
  });

  for (const [bindMode, room] of [
    ["transceiver", WINDOW],
    ["transmitter", WINDOW],
    ["receiver", 0],
  ] as const) {
    it(`a ${bindMode} bind has room for ${room} submits`, async () => {
      await open({ bindMode });
      expect(createBind(0, link, systemClock, createLogger("test", "silent")).room).to.equal(room);
    });
  }
});
