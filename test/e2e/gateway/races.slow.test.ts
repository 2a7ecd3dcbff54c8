/** A cancel races with the dispatch: exactly one of them wins. */
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import { type Customer, type RestStack, sharedRestStack } from "../../support/rest.ts";
import { readCounters } from "../../support/simulator-control.ts";

const TRIES = 1000;
const AT_ONCE = 40;

describe("REST: a cancel against the dispatch", function () {
  this.timeout(180_000);
  let rest: RestStack;
  let customer: Customer;

  before(async function () {
    this.timeout(120_000);
    rest = await sharedRestStack();
    customer = await rest.addCustomer({ funds: 1_000_000_000n });
  });

  it(`${TRIES} tries: cancelled and never submitted, or refused and sent`, async () => {
    const outcomes = new Map<string, { to: string; isCancelled: boolean }>();
    let next = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < TRIES) {
          const to = `+2348037${String(next).padStart(6, "0")}`;
          next += 1;
          const body = { to, from: "Acme", body: "Race" };
          const sent = await customer.call("POST", "/v1/sms/messages", { body });
          expect(sent.status, sent.text).to.equal(202);
          const { id } = sent.body.data;
          const cancelled = await customer.call("POST", `/v1/messages/${id}/cancel`);
          expect([200, 409], cancelled.text).to.include(cancelled.status);
          outcomes.set(id, { to, isCancelled: cancelled.status === 200 });
        }
      }),
    );

    const open = new Set(outcomes.keys());
    await eventually(
      async () => {
        for (const id of [...open].slice(0, 100)) {
          const { body } = await customer.call("GET", `/v1/messages/${id}`);
          if (["cancelled", "delivered", "undelivered", "failed"].includes(body.data.status)) {
            const { isCancelled } = outcomes.get(id) as { isCancelled: boolean };
            const path = body.data.status_history.map(({ status }: { status: string }) => status);
            expect(path.includes("cancelled"), `${id}: ${path}`).to.equal(isCancelled);
            expect(path.includes("sent"), `${id}: ${path}`).to.equal(!isCancelled);
            open.delete(id);
          }
        }
        return open.size === 0;
      },
      { timeoutMs: 120_000, everyMs: 200, what: "the end of every message" },
    );

    const { submits } = await readCounters(rest.stack.smsc.control);
    for (const { to, isCancelled } of outcomes.values()) {
      const total = submits[to.slice(1)]?.total ?? 0;
      expect(total, `submits to ${to}`).to.equal(isCancelled ? 0 : 1);
    }
    const wins = [...outcomes.values()].filter(({ isCancelled }) => isCancelled).length;
    expect(wins, "the cancel wins at times").to.be.within(1, TRIES);
    await eventually(
      async () => {
        const { body } = await customer.call("GET", "/v1/balance");
        return body.data.held === "0.0000";
      },
      { timeoutMs: 60_000, what: "the release of every hold" },
    );
    const { body } = await customer.call("GET", "/v1/balance");
    expect(Number(body.data.balance)).to.equal(100_000 - 4 * (TRIES - wins));
  });
});
