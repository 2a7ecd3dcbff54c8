import { expect } from "chai";
import { createClaimer } from "../../../services/messaging/app/claim.ts";
import { createPendingIndex } from "../../../services/messaging/app/pending-index.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { createMemoryQueueStore } from "../../support/memory-queue-store.ts";
import { messageIn, OPEN_GATE } from "../../support/messages.ts";

const ROUTES = [{ routeId: "rte_A", connectorId: "smsc", price: 40_000n }];

/** A claimer that has scanned its empty store; the pending index knows each message that is added later. */
async function openClaimer() {
  const clock = createManualClock(1_000_000);
  const store = createMemoryQueueStore();
  const pending = createPendingIndex(store, clock);
  const claimer = createClaimer({ store, pending, quiet: OPEN_GATE, clock });
  const ringAt = (
    priority: "single" | "bulk",
    tenantId: string,
    count: number,
    dueAtMs: number,
  ) => {
    const messages = Array.from({ length: count }, (_, at) => ({
      messageId: `msg_${tenantId}${String(at).padStart(20, "0")}`,
      dueAtMs,
    }));
    const messageId = messages[0]?.messageId ?? "";
    void store.put(
      messages.map(({ messageId: id }) =>
        messageIn("waiting", { id, tenantId, priority, routes: ROUTES, notBeforeMs: dueAtMs }),
      ),
    );
    pending.add("smsc", { priority, tenantId, messageId, dueAtMs, messages });
  };
  const ring = (tenantId: string, count: number, dueAtMs = 0) =>
    ringAt("single", tenantId, count, dueAtMs);
  const ringBulk = (tenantId: string, count: number) => ringAt("bulk", tenantId, count, 0);
  const claim = async (max: number) => {
    const { messages, more } = await claimer.claim("smsc", "carrier-1", max);
    return { whose: messages.map(({ id }) => id.slice(4, 9)), more };
  };
  while ((await claim(1)).more);
  return { clock, ring, ringBulk, claim };
}

describe("messages that a carrier has put off", () => {
  const claimed = async (
    claim: Awaited<ReturnType<typeof openClaimer>>["claim"],
    times: number,
  ) => {
    const whose: string[] = [];
    for (let at = 0; at < times; at += 1) whose.push(...(await claim(1)).whose);
    return whose.map((one) => one.slice(4)).join("");
  };

  it("have every fourth place while others were not tried yet", async () => {
    const { ring, claim } = await openClaimer();
    ring("ten_p", 20, 1);
    ring("ten_f", 6);
    expect(await claimed(claim, 12)).to.equal("fffpfffppppp");
  });

  it("of a single send do not go before bulk messages that were not tried yet", async () => {
    const { ring, ringBulk, claim } = await openClaimer();
    ring("ten_p", 20, 1);
    ringBulk("ten_f", 6);
    expect(await claimed(claim, 8)).to.equal("fffpfffp");
  });

  it("of one tenant share their places with those of another", async () => {
    const { ring, claim } = await openClaimer();
    ring("ten_p", 5, 1);
    ring("ten_q", 5, 1);
    ring("ten_f", 20);
    expect(await claimed(claim, 16)).to.equal("fffpfffqfffpfffq");
  });
});

describe("round robin over tenants at a connector with little room", () => {
  it("skips tenants whose messages are deferred", async () => {
    const { clock, ring, claim } = await openClaimer();
    ring("ten_a", 1, clock.now() + 5000);
    ring("ten_b", 2);
    expect(await claim(1)).to.deep.equal({ whose: ["ten_b"], more: true });
    expect(await claim(1)).to.deep.equal({ whose: ["ten_b"], more: false });
    expect(await claim(1), "nothing is due").to.deep.equal({ whose: [], more: false });
    clock.advance(5000);
    expect(await claim(1)).to.deep.equal({ whose: ["ten_a"], more: false });
  });

  it("serves the tenants one after the other", async () => {
    const { ring, claim } = await openClaimer();
    for (const tenantId of ["ten_a", "ten_b", "ten_c"]) ring(tenantId, 2);
    const whose: string[] = [];
    for (let at = 0; at < 6; at += 1) whose.push(...(await claim(1)).whose);
    expect(whose).to.deep.equal(["ten_a", "ten_b", "ten_c", "ten_a", "ten_b", "ten_c"]);
    expect(await claim(1)).to.deep.equal({ whose: [], more: false });
  });
});
