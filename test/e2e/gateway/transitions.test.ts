/**
 * The transition table of `docs/contract.md#statuses`, through the REST API. The carrier of the development stack
 * decides by the last digits of the recipient (`docs/contract.md#test-mode`). Each test checks status, history, money
 * and events.
 */
import { expect } from "chai";
import { createEventCheck } from "../../support/openapi-check.ts";
import { eventually } from "../../support/poll.ts";
import { openRestStack, type RestAnswer, type RestStack } from "../../support/rest.ts";
import { readCounters } from "../../support/simulator-control.ts";
import type { TestStack } from "../../support/stack.ts";

const SEND = "/v1/sms/messages";

/** Short values for waits of days. */
const SETTINGS = {
  SEND_AT_MIN_MS: "500",
  SCHEDULER_INTERVAL_MS: "50",
  RECEIPT_WAIT_MS: "4000",
  SUBMISSION_UNKNOWN_WAIT_MS: "1000",
};

describe("REST: transitions of the contract", function () {
  this.timeout(60_000);
  let rest: RestStack<TestStack>;
  let expectEvent: (event: unknown) => void;

  before(async function () {
    this.timeout(120_000);
    rest = await openRestStack(SETTINGS);
    expectEvent = createEventCheck((await rest.call("GET", "/openapi.json")).body);
  });
  after(async function () {
    this.timeout(60_000);
    await rest?.close();
  });

  const call = (method: string, path: string, body?: unknown) =>
    rest.call(method, path, {
      apiKey: rest.stack.api_key,
      ...(body === undefined ? {} : { body }),
    });
  const message = (to: string, more: Record<string, unknown> = {}) => ({
    to,
    from: rest.stack.sender_id,
    body: "Hello",
    ...more,
  });
  async function accept(to: string, more: Record<string, unknown> = {}) {
    const answer = await call("POST", SEND, message(to, more));
    expect(answer.status, answer.text).to.equal(202);
    return answer.body.data;
  }
  const read = async (id: string) => (await call("GET", `/v1/messages/${id}`)).body.data;
  const cancel = (id: string) => call("POST", `/v1/messages/${id}/cancel`);
  const reach = (id: string, status: string) =>
    eventually(
      async () => {
        const found = await read(id);
        return found.status === status && found;
      },
      { timeoutMs: 20_000, what: `${status} of ${id}` },
    );
  const path = (found: { status_history: { status: string }[] }) =>
    found.status_history.map(({ status }) => status);

  /** The statuses in the events of a message, once there are as many as expected. */
  async function events(id: string, wanted: readonly string[]): Promise<void> {
    await eventually(
      async () => {
        const answer = await fetch(`${rest.stack.receiver.events}?contains=${id}`);
        const got = (await answer.json()) as { body: string; verified: boolean }[];
        const reported = got
          .map(({ body }) => JSON.parse(body))
          .filter(({ type }) => type === "message.status_changed");
        expect(got.every(({ verified }) => verified)).to.equal(true);
        for (const event of reported) expectEvent(event);
        // An event may be delivered more than once; a change has one event id.
        const statuses = new Map(
          reported.map(({ id, data }) => [id, `${data.previous_status} → ${data.object.status}`]),
        );
        expect([...statuses.values()].sort()).to.deep.equal([...wanted].sort());
        return true;
      },
      { timeoutMs: 15_000, what: "the events" },
    );
  }

  it("(none) → queued: send without send_at; funds held", async () => {
    const sent = await accept("08031230001");
    expect(sent.status).to.equal("queued");
    expect(sent.held_amount).to.equal("4.0000");
    expect(sent.amount).to.equal(null);
    expect(sent.unit_price).to.equal(null);
    expect(sent.scheduled_at).to.equal(null);
  });

  it("(none) → scheduled: send with send_at; funds held", async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const sent = await accept("08031230002", { send_at: at });
    expect(sent).to.include({ status: "scheduled", scheduled_at: at, held_amount: "4.0000" });
  });

  it("(none) → rejected: recipients that fail their own checks; not charged, no event", async () => {
    const bulk = await call("POST", `${SEND}/bulk`, {
      ...message(""),
      to: ["08031230003", "nobody", "+2348031230003", "+14155552671", "012345678"],
    });
    expect(bulk.status, bulk.text).to.equal(202);
    const entries = bulk.body.data.messages;
    expect(
      entries.map((entry: { error: { code: string } | null }) => entry.error?.code),
    ).to.deep.equal([
      undefined,
      "invalid_recipient",
      "duplicate_recipient",
      "destination_not_supported",
      "invalid_recipient",
    ]);
    const batch = await call("POST", `${SEND}/batch`, {
      from: rest.stack.sender_id,
      messages: [
        { to: "08031230004", body: "x".repeat(1531) },
        { to: "08031230005", body: "short" },
      ],
    });
    expect(batch.body.data.messages[0].error.code).to.equal("body_too_long");
    const rejected = [...entries.slice(1), batch.body.data.messages[0]];
    for (const { id } of rejected) {
      const found = await read(id);
      expect(found).to.include({ status: "rejected", held_amount: "0.0000", sent_at: null });
      expect(found.error.code).to.be.a("string");
      expect(path(found)).to.deep.equal(["rejected"]);
    }
    await reach(entries[0].id, "delivered");
    await events(entries[0].id, ["queued → sent", "sent → delivered"]);
    for (const { id } of rejected) await events(id, []);
  });

  it("scheduled → cancelled: cancel; and a cancelled message is returned unchanged with 200", async () => {
    const sent = await accept("08031230006", { send_at: new Date(Date.now() + 3_600_000) });
    const first = await cancel(sent.id);
    expect(first.status).to.equal(200);
    expect(first.body.data.status).to.equal("cancelled");
    expect(first.body.data.error.code).to.equal("cancelled");
    const again = await cancel(sent.id);
    expect(again.status).to.equal(200);
    expect(again.body).to.deep.equal(first.body);
    expect(path(await read(sent.id))).to.deep.equal(["scheduled", "cancelled"]);
    await events(sent.id, ["scheduled → cancelled"]);
  });

  it("queued → cancelled: cancel of a message that is not yet being sent", async () => {
    const carrier = rest.stack.pid("carrier");
    // A carrier stopped in the middle of a claim may have claimed it: then 409 is correct.
    const { id, answer } = await eventually(async () => {
      process.kill(carrier, "SIGSTOP");
      try {
        const sent = await accept("08031230007");
        const tried = await cancel(sent.id);
        if (tried.status === 409) expect(tried.body.code).to.equal("invalid_state_transition");
        return tried.status !== 409 && { id: sent.id as string, answer: tried };
      } finally {
        process.kill(carrier, "SIGCONT");
      }
    });
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.body.data.status).to.equal("cancelled");
    expect(path(await read(id))).to.deep.equal(["queued", "cancelled"]);
    await events(id, ["queued → cancelled"]);
  });

  it("scheduled → queued at the time, and on to delivered", async () => {
    const at = Date.now() + 1500;
    const sent = await accept("08031230008", { send_at: new Date(at).toISOString() });
    const found = await reach(sent.id, "delivered");
    expect(path(found)).to.deep.equal(["scheduled", "queued", "sent", "delivered"]);
    const queuedAt = Date.parse(found.status_history[1].occurred_at);
    expect(queuedAt).to.be.within(at, at + 5000);
  });

  it("queued → sent → delivered: route accepts, handset received; charged once, at sent_at", async () => {
    const sent = await accept("08031230009");
    const found = await reach(sent.id, "delivered");
    expect(path(found)).to.deep.equal(["queued", "sent", "delivered"]);
    expect(found).to.include({ amount: "4.0000", unit_price: "4.0000", error: null });
    expect(found.sent_at).to.equal(found.status_history[1].occurred_at);
    expect(found.completed_at).to.equal(found.status_history[2].occurred_at);
    await events(sent.id, ["queued → sent", "sent → delivered"]);
    expectConflict(await cancel(sent.id));
  });

  it("sent → undelivered: network could not deliver; keeps its charge; cancel is refused", async () => {
    const sent = await accept("08031239901");
    const found = await reach(sent.id, "undelivered");
    expect(path(found)).to.deep.equal(["queued", "sent", "undelivered"]);
    expect(found.error.code).to.equal("absent_subscriber");
    expect(found.amount).to.equal("4.0000");
    await events(sent.id, ["queued → sent", "sent → undelivered"]);
    expectConflict(await cancel(sent.id));
  });

  it("sent → expired: no receipt in time; keeps its charge; cancel is refused", async () => {
    const sent = await accept("08031239905");
    await reach(sent.id, "sent");
    expectConflict(await cancel(sent.id));
    const found = await reach(sent.id, "expired");
    expect(path(found)).to.deep.equal(["queued", "sent", "expired"]);
    expect(found.error.code).to.equal("no_receipt");
    expect(found.amount).to.equal("4.0000");
    await events(sent.id, ["queued → sent", "sent → expired"]);
    expectConflict(await cancel(sent.id));
  });

  it("undelivered → delivered: a late receipt removes the error", async () => {
    const sent = await accept("08031239906");
    const found = await reach(sent.id, "delivered");
    expect(path(found)).to.deep.equal(["queued", "sent", "undelivered", "delivered"]);
    expect(found.error).to.equal(null);
    await events(sent.id, ["queued → sent", "sent → undelivered", "undelivered → delivered"]);
  });

  it("queued → failed: no route could send it; never charged; cancel is refused", async () => {
    const sent = await accept("08031239903");
    const found = await reach(sent.id, "failed");
    expect(path(found)).to.deep.equal(["queued", "failed"]);
    expect(found.error.code).to.equal("carrier_rejected");
    expect(found).to.include({ amount: null, unit_price: null, sent_at: null });
    await events(sent.id, ["queued → failed"]);
    expectConflict(await cancel(sent.id));
  });

  it("queued, being sent: cancel is refused and the outcome is kept", async () => {
    const sent = await accept("08031239909");
    // The carrier has the submit and answers nothing: the message is being sent.
    await eventually(async () => {
      const { submits } = await readCounters(rest.stack.smsc.control);
      return Object.keys(submits).some((digits) => digits.endsWith("8031239909"));
    });
    expect(await read(sent.id)).to.include({ status: "queued" });
    expectConflict(await cancel(sent.id));
    const found = await reach(sent.id, "failed");
    expect(found.error.code).to.equal("submission_unknown");
    expect(path(found)).to.deep.equal(["queued", "failed"]);
  });

  it("rejected: cancel is refused", async () => {
    const bulk = await call("POST", `${SEND}/bulk`, {
      ...message(""),
      to: ["08031230010", "nobody"],
    });
    expectConflict(await cancel(bulk.body.data.messages[1].id));
  });

  it("nothing leaves delivered: the same receipt three times changes nothing", async () => {
    const sent = await accept("08031239914");
    await reach(sent.id, "delivered");
    // The receipt of a message that is sent now comes behind the other two.
    await reach((await accept("08031230012")).id, "delivered");
    await events(sent.id, ["queued → sent", "sent → delivered"]);
    expect(path(await read(sent.id))).to.deep.equal(["queued", "sent", "delivered"]);
  });

  it("expired → delivered and expired → undelivered: late receipts", async () => {
    await rest.stack.restart("messaging", { RECEIPT_WAIT_MS: "200" });
    const [good, bad] = await eventually(async () =>
      Promise.all([accept("08031230011"), accept("08031239902")]),
    );
    const delivered = await reach(good.id, "delivered");
    expect(path(delivered)).to.deep.equal(["queued", "sent", "expired", "delivered"]);
    expect(delivered.error).to.equal(null);
    const undelivered = await reach(bad.id, "undelivered");
    expect(path(undelivered)).to.deep.equal(["queued", "sent", "expired", "undelivered"]);
    expect(undelivered.error.code).to.equal("unknown_subscriber");
    await events(good.id, ["queued → sent", "sent → expired", "expired → delivered"]);
  });
});

function expectConflict(answer: RestAnswer): void {
  expect(answer.status, answer.text).to.equal(409);
  expect(answer.body.code).to.equal("invalid_state_transition");
}
