/** Messages through the real carrier to the simulator: the test numbers, every fault, a killed process. */
import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { type CarrierStack, startCarrierStack } from "../../support/carrier-stack.ts";
import { eventually } from "../../support/poll.ts";
import { smsctl } from "../../support/smsctl.ts";

describe("messages over a carrier", () => {
  let carrier: CarrierStack;
  let serial = 0;

  /** An unused number that ends with four given digits. */
  function numberTo(digits: string): string {
    serial += 1;
    return `+23480${String(31_000 + serial)
      .padStart(5, "0")
      .slice(-4)}${digits}`;
  }

  before(async function () {
    this.timeout(120_000);
    carrier = await startCarrierStack({
      SUBMISSION_UNKNOWN_WAIT_MS: "9000",
      SCHEDULER_INTERVAL_MS: "200",
    });
    await carrier.routing.updateConnector({
      id: "smsc",
      connector: { id: "smsc", smpp: { responseTimeoutMs: 1500, window: 20 } },
      fields: ["smpp"],
    });
  });

  after(async function () {
    this.timeout(30_000);
    await carrier?.stop();
  });

  afterEach(async () => {
    await carrier.behave({ reset: true });
  });

  const numbers: readonly [string, string][] = [
    ["0001", "queued sent delivered"],
    ["9901", "queued sent undelivered absent_subscriber"],
    ["9902", "queued sent undelivered unknown_subscriber"],
    ["9903", "queued failed carrier_rejected"],
    ["9904", "queued sent delivered"],
    ["9905", "queued sent"],
    ["9906", "queued sent undelivered delivered"],
    ["9907", "queued sent delivered"],
    ["9908", "queued sent delivered"],
    ["9909", "queued failed submission_unknown"],
    ["9910", "queued sent undelivered validity_expired"],
    ["9911", "queued failed submission_unknown"],
    ["9912", "queued sent delivered"],
    ["9913", "queued sent delivered"],
    ["9914", "queued sent delivered"],
    ["9915", "queued sent delivered"],
  ];
  it("every test number ends as promised, over SMPP and on the test route", async function () {
    this.timeout(60_000);
    const expected = new Map(numbers);
    const sendTo = async (digits: string) =>
      Promise.all([Mode.LIVE, Mode.TEST].map((mode) => carrier.send(numberTo(digits), { mode })));
    const untilPath = (ids: readonly string[], digits: string) =>
      eventually(
        async () => {
          const paths = await Promise.all(ids.map(carrier.path));
          expect(paths, digits).to.deep.equal(ids.map(() => expected.get(digits)));
          return true;
        },
        { timeoutMs: 40_000, everyMs: 250, what: `the end of ${digits}` },
      );
    // 9911 drops the link with all submits in flight, so it runs alone.
    const sent = new Map<string, string[]>();
    for (const [digits] of numbers) if (digits !== "9911") sent.set(digits, await sendTo(digits));
    await Promise.all([...sent].map(([digits, ids]) => untilPath(ids, digits)));
    await untilPath(await sendTo("9911"), "9911");
  });

  it("a message of several segments is sent whole and delivered when all its receipts are there", async () => {
    const to = numberTo("0002");
    const id = await carrier.send(to, { body: "€".repeat(200) });
    await eventually(async () => (await carrier.path(id)) === "queued sent delivered");
    const { submits } = await carrier.counts();
    expect(submits[to.slice(1)]?.total).to.equal(3);
  });

  for (const mode of [Mode.LIVE, Mode.TEST]) {
    it(`${Mode[mode]}: the other parts follow when a receipt proves a first part without an answer`, async function () {
      this.timeout(40_000);
      const to = numberTo("9908");
      const id = await carrier.send(to, { body: "€".repeat(200), mode });
      await eventually(async () => (await carrier.path(id)) === "queued sent delivered", {
        timeoutMs: 30_000,
        what: "its end",
      });
      if (mode === Mode.TEST) return;
      const { submits } = await carrier.counts();
      expect(submits[to.slice(1)]).to.include({ total: 3, duplicates: 0 });
    });
  }

  const faults: readonly [string, object][] = [
    ["no answer", { no_answer: { limit: 5 } }],
    ["late answers", { late_answer: { delay_ms: 2500, limit: 5 } }],
    ["slow answers", { slow: { delay_ms: 700 } }],
    ["answers under a wrong sequence number", { wrong_sequence: { limit: 5 } }],
    ["unbind on submit", { unbind_on_submit: { limit: 2 } }],
    ["frames too short", { short_length: { limit: 2 } }],
    ["frames too long", { long_length: { limit: 2 } }],
    ["frames of no length", { zero_length: { limit: 2 } }],
    ["unknown commands", { unknown_command: { limit: 5 } }],
    ["answers that make no sense", { bad_answer: { limit: 5 } }],
    ["receipts before answers", { receipt_before_answer: {} }],
    ["throttling", { throttle: { probability: 0.3, limit: 10 } }],
    ["a full queue", { queue_full: { probability: 0.3, limit: 10 } }],
    ["system errors", { system_error: { probability: 0.3, limit: 10 } }],
    ["a link dropped in mid-window", { drop_link: { limit: 2 } }],
    ["refused binds after a drop", { drop_link: { limit: 1 }, bind_refused: { limit: 2 } }],
  ];
  for (const [name, setting] of faults) {
    it(`${name}: nothing lost, nothing twice, and the link works again`, async function () {
      this.timeout(60_000);
      await carrier.behave({ latency_ms: 30, faults: setting });
      const ids = await Promise.all(
        Array.from({ length: 30 }, () => carrier.send(numberTo("0003"))),
      );
      const counted = await carrier.settled(ids, 40_000);
      expect((counted.delivered ?? 0) + (counted.failed ?? 0)).to.equal(30);
      // Only what was truly in doubt may end so, and no fault strikes more often than allowed.
      expect(counted.failed ?? 0).to.be.at.most(25);
      const failed = (await Promise.all(ids.map(carrier.get))).filter(({ error }) => error?.code);
      expect(new Set(failed.map(({ error }) => error?.code)).size).to.be.at.most(1);
      for (const { error } of failed) expect(error?.code).to.equal("submission_unknown");
      expect((await carrier.counts()).duplicates).to.equal(0);
      await carrier.behave({ reset: true });
      const after = await carrier.send(numberTo("0004"));
      await eventually(async () => (await carrier.path(after)) === "queued sent delivered", {
        timeoutMs: 15_000,
        what: "a message after the fault",
      });
    });
  }

  it("kill -9 of the carrier in mid-window: none lost, none twice, most doubts settled", async function () {
    this.timeout(90_000);
    await carrier.behave({ latency_ms: 200 });
    const sending = Promise.all(Array.from({ length: 200 }, () => carrier.send(numberTo("0005"))));
    const before = (await carrier.counts()).total;
    await eventually(async () => (await carrier.counts()).total > before + 20);
    await carrier.stack.kill("carrier");
    const ids = await sending;
    await carrier.stack.restart("carrier");
    const counted = await carrier.settled(ids, 60_000);
    expect((await carrier.counts()).duplicates).to.equal(0);
    expect((counted.delivered ?? 0) + (counted.failed ?? 0)).to.equal(200);
    // At most one window was in doubt, and its receipts name the parties.
    expect(counted.failed ?? 0).to.be.at.most(20);
  });

  it("kill -9 of the carrier between the parts of messages: the unwritten parts follow, none twice", async function () {
    this.timeout(120_000);
    // Slow answers: at the kill most first parts are unanswered, and some second parts are in flight.
    await carrier.behave({ latency_ms: 400 });
    const before = await carrier.counts();
    const sending = Promise.all(
      Array.from({ length: 60 }, () => carrier.send(numberTo("0006"), { body: "€".repeat(100) })),
    );
    await eventually(async () => (await carrier.counts()).total > before.total + 30);
    await carrier.stack.kill("carrier");
    const ids = await sending;
    await carrier.stack.restart("carrier");
    const counted = await carrier.settled(ids, 90_000);
    expect(counted).to.deep.equal({ delivered: 60 });
    const after = await carrier.counts();
    expect(after.duplicates).to.equal(before.duplicates);
    expect(after.total - before.total).to.equal(120);
  });

  it("kill -9 of the carrier while a second part is throttled: the part follows once", async function () {
    this.timeout(60_000);
    await carrier.behave({ latency_ms: 500 });
    const to = numberTo("0007");
    const ofNumber = async () => (await carrier.counts()).submits[to.slice(1)];
    const id = await carrier.send(to, { body: "€".repeat(100) });
    await eventually(async () => (await ofNumber())?.total === 1);
    // Answers at once, so that no submit of the part is unanswered at the kill.
    await carrier.behave({ latency_ms: 0, faults: { throttle: {} } });
    await eventually(async () => (await ofNumber())?.refused === 2, {
      timeoutMs: 15_000,
      what: "a second part that is refused twice",
    });
    await carrier.stack.kill("carrier");
    await carrier.behave({ reset: true });
    await carrier.stack.restart("carrier");
    expect(await carrier.settled([id], 30_000)).to.deep.equal({ delivered: 1 });
    const { total = 0, refused = 0, duplicates } = (await ofNumber()) ?? {};
    expect({ accepted: total - refused, duplicates }).to.deep.equal({ accepted: 2, duplicates: 0 });
  });

  it("after all of it the books are clean: smsctl check names no breach", async function () {
    this.timeout(90_000);
    let check = await smsctl(carrier.stack, "check");
    await eventually(
      async () => {
        check = await smsctl(carrier.stack, "check");
        return check.code === 0;
      },
      { timeoutMs: 75_000, everyMs: 1000, what: `a clean check, not ${JSON.stringify(check)}` },
    );
    expect(check.value).to.include({ ok: true });
  });
});
