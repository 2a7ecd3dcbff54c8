import { expect } from "chai";
import { runWebhookChaos } from "../../chaos/webhook-run.ts";
import { SHORT_STORM } from "../../chaos/webhook-storms.ts";

describe("webhooks under faults", () => {
  it("kills and outages lose no event, repeat none without a kill, and keep every schedule", async function () {
    this.timeout(90_000);
    const { faults, figures } = await runWebhookChaos({
      ...SHORT_STORM,
      // Checks loss, repeats and order; `test/chaos/webhook.ts` checks the schedule to a second.
      lateMsMax: 5000,
      seed: 20_260_415,
      say: () => undefined,
    });
    expect(faults).to.deep.equal([]);
    expect(figures.kills).to.be.at.least(1);
    expect(figures.retries).to.be.at.least(10);
  });
});
