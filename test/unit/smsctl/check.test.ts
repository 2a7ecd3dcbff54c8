import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import {
  type Charge,
  ChargeSchema,
  MessageStatus,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { lowestIdAt, newId } from "../../../services/shared/core/ids.ts";
import { checkCharges } from "../../../services/smsctl/check/charges.ts";
import { BREACHES_MAX, withStreamsClosed } from "../../../services/smsctl/check/report.ts";
import { checkOf, errorOf, type Fakes, refuse, run, TENANT } from "../../support/smsctl-fakes.ts";

describe("smsctl check", () => {
  /** A message that is sent and not settled yet. A second look finds the settlement. */
  const late = (at: number): Charge =>
    create(ChargeSchema, {
      tenantId: "ten_1",
      messageId: `msg_${String(at).padStart(6, "0")}`,
      reservationId: `rsv_${at}`,
      status: MessageStatus.SENT,
      heldAmount: 1n,
    });
  const COUNT = BREACHES_MAX + 50;
  const fakes = (count: number): Fakes => ({
    messaging: {
      async *checkMessages() {},
      async *streamCharges() {
        yield { charges: Array.from({ length: count }, (_, at) => late(at)) };
      },
      getMessage: () => ({ message: { status: MessageStatus.QUEUED } }),
    },
    wallets: {
      async *checkWallets() {},
      async *streamSettlements() {},
      async *streamReservations() {
        yield {
          reservations: Array.from({ length: COUNT }, (_, at) => ({
            id: `rsv_${at}`,
            openAmount: 1n,
          })),
        };
      },
    },
  });

  it("names no hold as unexplained when it did not reach all messages", async () => {
    const report = await checkCharges(checkOf(fakes(COUNT)));
    expect(report.breaches).to.deep.equal([]);
    expect(report.unfinished).to.include(`after ${BREACHES_MAX + 1} messages`);
  });

  it("is not ok when not everything was compared", async () => {
    const { code, result, notes } = await run(["check"], fakes(COUNT));
    expect(code).to.equal(1);
    expect(result).to.include({ ok: false });
    expect(result.unfinished).to.have.length(1);
    expect(notes.some((note) => note.includes("NOT EVERYTHING WAS COMPARED"))).to.equal(true);
  });

  it("compares open holds when it did reach all messages", async () => {
    const report = await checkCharges(checkOf(fakes(COUNT - 60)));
    expect(report.unfinished).to.equal(undefined);
    expect(report.breaches.map(({ invariant, ids }) => [invariant, ids[0]])).to.deep.equal(
      Array.from({ length: 60 }, (_, at) => [3, `rsv_${COUNT - 60 + at}`]),
    );
  });

  it("reports a hold larger than its open messages, and only the named tenant's", async () => {
    const open = (id: string, tenantId: string, openAmount: bigint) => ({
      id,
      tenantId,
      openAmount,
    });
    const { messaging = {}, wallets } = fakes(1);
    const asked: string[] = [];
    const services: Fakes = {
      messaging: {
        ...messaging,
        async *streamCharges({ tenantId }) {
          asked.push(tenantId);
          yield { charges: [late(0)] };
        },
      },
      wallets: {
        ...wallets,
        async *streamReservations() {
          yield { reservations: [open("rsv_0", "ten_1", 3n), open("rsv_9", "ten_2", 1n)] };
        },
      },
    };
    const { code, result } = await run(["check", "--tenant", "Ada"], services);
    expect(code).to.equal(1);
    expect(result.breaches).to.deep.equal([
      {
        invariant: 3,
        what: "a hold of 0.0003 where open messages explain 0.0001",
        ids: ["rsv_0", "ten_1"],
      },
    ]);
    expect(asked).to.deep.equal(["ten_1"]);
  });

  describe("waits for the settlement of a recent change", () => {
    const AGO_MS = 70_000;
    const charge = {
      ...late(0),
      heldAmount: 5n,
      amount: 4n,
      updatedAtMs: BigInt(Date.now() - AGO_MS),
    };
    const { messageId, reservationId, heldAmount } = charge;
    const settlement = { messageId, reservationId, heldAmount };
    const { status, amount, updatedAtMs } = charge;

    /** The breaches where a settlement of an amount is there at a look, counted from the snapshot's. */
    async function checkWith(capturedAmount: bigint, fromLook: number) {
      let looks = 0;
      const asked: string[][] = [];
      const report = await checkCharges(
        checkOf({
          messaging: {
            async *streamCharges() {
              yield { charges: [charge] };
            },
            getMessage: () => ({ message: { status, amount, updatedAtMs } }),
          },
          wallets: {
            async *streamSettlements({ messageIds }) {
              asked.push(messageIds);
              looks += 1;
              if (looks > fromLook) yield { settlements: [{ ...settlement, capturedAmount }] };
            },
            async *streamReservations() {
              yield { reservations: [{ id: charge.reservationId, openAmount: 5n }] };
            },
          },
        }),
        { promiseMs: fromLook > 9 ? 20 : 60_000, everyMs: 1 },
      );
      return { asked, what: report.breaches.map((one) => `${one.invariant} ${one.what}`) };
    }

    it("and accepts a settlement that arrives in time", async () => {
      const { asked, what } = await checkWith(4n, 3);
      expect(what).to.deep.equal([]);
      expect(asked).to.deep.equal([[], ...Array(3).fill([charge.messageId])]);
    });

    it("and compares the settled amount", async () => {
      expect((await checkWith(3n, 1)).what).to.deep.equal([
        "2 captured 0.0003 where 0.0004 was due",
      ]);
    });

    it("and reports a message that is not settled within the promised time", async () => {
      expect((await checkWith(4n, Number.POSITIVE_INFINITY)).what).to.deep.equal([
        "2 not settled a minute after its change",
      ]);
    });
  });

  it("reports breaches although another part fails, and reports the part as unfinished", async () => {
    const services = fakes(1);
    const { code, result, notes } = await run(["check"], {
      messaging: {
        async *checkMessages() {
          yield { breaches: [{ invariant: 5, what: "w", ids: ["msg_1"] }], messages: 7n };
        },
        async *streamCharges() {
          yield {};
          refuse("request_timeout", "It took too long.");
        },
      },
      wallets: services.wallets ?? {},
    });
    expect(code).to.equal(1);
    expect(result.breaches).to.deep.equal([{ invariant: 5, what: "w", ids: ["msg_1"] }]);
    expect(result).to.include({ ok: false, messages: 7 });
    expect(result.unfinished).to.deep.equal([
      "charges were not checked to their end: It took too long. (request_timeout)",
    ]);
    expect(notes.indexOf("invariant 5: w: msg_1")).to.be.below(
      notes.indexOf("comparing charges with settlements"),
    );
  });

  it("names opt-outs that were passed over, and inbound messages that are stored twice", async () => {
    const services = fakes(1);
    const { code, result } = await run(["check"], {
      ...services,
      messaging: {
        ...services.messaging,
        listMessages: ({ to }) => ({
          messages:
            to === ""
              ? []
              : [{ id: "msg_1", status: 3, trafficClass: 3, claimedAtMs: 70_000n, to }],
        }),
      },
      consent: {
        listSuppressions: () => ({ suppressions: [{ number: "+2348030000001", createdAtMs: 1n }] }),
        async *checkInbound() {
          yield { breaches: [{ invariant: 16, what: "twice", ids: ["inb_1", "inb_2"] }] };
          yield { messages: 5n, done: true };
        },
      },
    });
    expect(code).to.equal(1);
    expect(result.breaches).to.deep.include.members([
      { invariant: 16, what: "twice", ids: ["inb_1", "inb_2"] },
      {
        invariant: 15,
        what: "a message was sent to a number that had opted out",
        ids: ["msg_1", TENANT.id],
      },
    ]);
    expect(result).to.include({ opt_outs: 1, inbound_messages: 5 });
  });

  it("fails when every part fails", async () => {
    const away = () => refuse("service_unavailable", "Away.");
    const services = {
      messaging: { checkMessages: away, streamCharges: away },
      wallets: { checkWallets: away, streamSettlements: away },
      tenants: { listTenants: away },
      campaigns: { checkCampaigns: away },
      consent: { checkInbound: away },
    } as unknown as Fakes;
    const error = await errorOf(run(["check"], services));
    expect(error.code).to.equal("service_unavailable");
  });

  it("lets a young hold wait for its send, and no young hold be larger than its send", async () => {
    const createdAtMs = BigInt(Date.now() - 1000);
    const report = await checkCharges(
      checkOf({
        messaging: {
          async *streamCharges() {
            yield { charges: [{ ...late(0), status: MessageStatus.QUEUED }] };
          },
        },
        wallets: {
          async *streamSettlements() {},
          async *streamReservations({ createdBeforeMs }) {
            expect(createdBeforeMs).to.equal(0n);
            yield {
              reservations: [
                { id: "rsv_0", openAmount: 3n, createdAtMs },
                { id: "rsv_young", openAmount: 1n, createdAtMs },
                { id: "rsv_old", openAmount: 1n, createdAtMs: createdAtMs - 600_000n },
              ],
            };
          },
        },
      }),
    );
    expect(report.breaches.map(({ what, ids }) => `${ids[0]}: ${what}`)).to.deep.equal([
      "rsv_0: a hold of 0.0003 where open messages explain 0.0001",
      "rsv_old: a hold that no open message explains has outlived the grace time",
    ]);
  });

  it("looks up the message of an orphaned settlement, independent of this machine's clock", async () => {
    const nowMs = Date.now();
    const settled = (ageMs: number) => ({
      tenantId: "ten_1",
      messageId: newId("message"),
      settledAtMs: BigInt(nowMs - ageMs),
    });
    const [old, none, there] = [settled(601_000), settled(1000), settled(0)];
    const asked: string[] = [];
    const check = (refusal: "not_found" | "service_unavailable") =>
      checkCharges(
        checkOf({
          messaging: {
            async *streamCharges() {},
            getMessage({ messageId }) {
              asked.push(messageId);
              if (messageId !== there.messageId) refuse(refusal, "None.");
              return { message: { status: MessageStatus.SENT } };
            },
          },
          wallets: {
            async *streamSettlements() {
              yield { settlements: [old, none, there] };
            },
            async *streamReservations() {},
          },
        }),
      );
    const { breaches } = await check("not_found");
    expect(breaches).to.deep.equal(
      [old, none].map(({ messageId }) => {
        return {
          invariant: 2,
          what: "a settlement whose message does not exist",
          ids: [messageId, "ten_1"],
        };
      }),
    );
    expect(asked).to.have.members([old, none, there].map(({ messageId }) => messageId));
    expect((await errorOf(check("service_unavailable"))).code).to.equal("service_unavailable");
  });

  describe("uses the settings that the services report", () => {
    const HOUR_MS = 3_600_000;
    const nowMs = Date.now();

    /** The breaches of a hold without a send and a settlement without a message, each so old. */
    async function checkWith(
      ageMs: number,
      reported: { graceMs?: bigint; messageKeepMs?: bigint },
    ): Promise<string[]> {
      const { graceMs, messageKeepMs } = reported;
      const createdAtMs = BigInt(nowMs - ageMs);
      const messageId = lowestIdAt("message", nowMs - ageMs);
      const { breaches } = await checkCharges(
        checkOf({
          messaging: {
            async *streamCharges() {
              if (messageKeepMs !== undefined) yield { messageKeepMs };
            },
            getMessage: () => refuse("not_found", "None."),
          },
          wallets: {
            async *streamSettlements() {
              yield { settlements: [{ messageId, settledAtMs: createdAtMs }] };
            },
            async *streamReservations() {
              const reservations = [{ id: "rsv_0", openAmount: 1n, createdAtMs }];
              yield { reservations, ...(graceMs === undefined ? {} : { graceMs }) };
            },
          },
        }),
      );
      return breaches.map(({ ids }) => ids[0]?.slice(0, 3) ?? "").sort();
    }

    it("a hold is an orphan after the grace time and five minutes", async () => {
      expect(await checkWith(2 * HOUR_MS, {})).to.deep.equal(["msg", "rsv"]);
      expect(await checkWith(2 * HOUR_MS, { graceMs: 7_200_000n })).to.deep.equal(["msg"]);
      expect(await checkWith(2 * HOUR_MS, { graceMs: 6_800_000n })).to.deep.equal(["msg", "rsv"]);
    });

    it("a message is not missed once it may have been deleted, and never after a year", async () => {
      const days = (count: number) => BigInt(count * 24 * HOUR_MS);
      const kept = (count: number) => ({ messageKeepMs: days(count) });
      expect(await checkWith(29 * 24 * HOUR_MS + 1000, kept(30))).to.deep.equal(["rsv"]);
      expect(await checkWith(28 * 24 * HOUR_MS, kept(30))).to.deep.equal(["msg", "rsv"]);
      expect(await checkWith(11 * HOUR_MS, kept(1))).to.deep.equal(["msg", "rsv"]);
      expect(await checkWith(13 * HOUR_MS, kept(1))).to.deep.equal(["rsv"]);
      for (const reported of [{}, kept(730)]) {
        expect(await checkWith(363 * 24 * HOUR_MS, reported)).to.deep.equal(["msg", "rsv"]);
        expect(await checkWith(366 * 24 * HOUR_MS, reported)).to.deep.equal(["rsv"]);
      }
    });
  });

  it("counts the breaches that it does not list", async () => {
    const breach = { invariant: 5, what: "w", ids: ["msg_1"] };
    const services = fakes(0);
    const { result, notes } = await run(["check"], {
      ...services,
      messaging: {
        ...services.messaging,
        async *checkMessages() {
          for (let at = 0; at < 3; at += 1) yield { breaches: Array(400).fill(breach) };
        },
        async *streamCharges() {},
      },
      wallets: { ...services.wallets, async *streamReservations() {} },
    });
    expect(result).to.include({ ok: false, unlisted: 200 });
    expect(result.breaches).to.have.length(BREACHES_MAX);
    expect(notes).to.include("AND 200 MORE BREACHES");
  });

  it("ends the calls that it did not read to their end", async () => {
    let isEnded = false;
    const failed = checkAborted((signal) => {
      signal.addEventListener("abort", () => {
        isEnded = true;
      });
      return Promise.reject(new Error("the wallet is away"));
    });
    expect(await failed).to.equal("the wallet is away");
    expect(isEnded).to.equal(true);
  });
});

function checkAborted(work: (signal: AbortSignal) => Promise<never>): Promise<string> {
  return withStreamsClosed(new AbortController().signal, work).catch(
    (error: Error) => error.message,
  );
}
