/** A window that ends now, listed while sends of it are in flight, here or on another replica. */
import { expect } from "chai";
import {
  bulkSend,
  makeTenant,
  sendWhenReady,
  singleSend,
} from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { eventually } from "../../support/poll.ts";

const BULK = 400;
const ROUNDS = 3;

describe("a settled list", () => {
  const { harness } = openMessagingSuite({ replicas: 2 });

  /** How many messages a window has, page by page. */
  async function count(tenantId: string, beforeMs: number, settled: boolean): Promise<number> {
    let found = 0;
    for (let beforeId = ""; ; ) {
      const page = await harness.messaging.listMessages({
        ...{ tenantId, settled, beforeId, limit: 100 },
        createdAfterMs: BigInt(beforeMs - 60_000),
        createdBeforeMs: BigInt(beforeMs),
      });
      found += page.messages.length;
      beforeId = page.messages.at(-1)?.id ?? "";
      if (!page.hasMore) return found;
    }
  }

  for (const [where, at] of [
    ["of its own replica", 0],
    ["of another replica", 1],
  ] as const) {
    it(`has what sends ${where} put into its window`, async () => {
      const tenant = await makeTenant(harness);
      await sendWhenReady(harness, singleSend(tenant));
      const replica = harness.replicas[at];
      const holds = () =>
        harness.mongo
          .db(`${harness.prefix}_wallet`)
          .collection("reservations")
          .countDocuments({ tenant_id: tenant.id });
      let fell = 0;
      for (let round = 1; round <= ROUNDS; round += 1) {
        const sending = replica?.sendMessages(bulkSend(tenant, "0803", BULK));
        // The first send also has a hold. With its own hold the bulk send is in flight and not stored.
        await eventually(async () => (await holds()) > round);
        const beforeMs = harness.clock.now();
        const listed = await count(tenant.id, beforeMs, true);
        await sending;
        expect(await count(tenant.id, beforeMs, false), `round ${round}`).to.equal(listed);
        fell = listed;
      }
      expect(fell).to.equal(1 + ROUNDS * BULK);
    });
  }
});
