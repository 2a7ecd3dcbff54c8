/** Settings of the webhook service that only make sense together. */
import { expect } from "chai";
import { readWebhookConfig } from "../../services/webhook/config.ts";

describe("the webhook service's settings", () => {
  const read = (more: Record<string, string>) =>
    readWebhookConfig({
      MONGODB_URI: "mongodb://db.example",
      NATS_URL: "nats://events.example",
      ENCRYPTION_KEYS: `k1:${"A".repeat(43)}=`,
      ...more,
    });

  for (const [delays, retention, isTaken] of [
    ["60000,300000,900000,3600000", "4860000", false],
    ["60000,300000,900000,3600000", "4860001", true],
    ["1", "0", false],
  ] as const) {
    it(`deliveries kept for ${retention} ms with delays of ${delays} are ${isTaken ? "taken" : "refused"}`, () => {
      const settings = { WEBHOOK_RETRY_DELAYS_MS: delays, WEBHOOK_RETENTION_MS: retention };
      if (isTaken) expect(read(settings).WEBHOOK_RETENTION_MS).to.equal(Number(retention));
      else expect(() => read(settings)).to.throw("WEBHOOK_RETENTION_MS");
    });
  }
});
