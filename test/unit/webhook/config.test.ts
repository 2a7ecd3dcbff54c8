/** Rules between settings of the webhook service. */
import { expect } from "chai";
import { readWebhookConfig } from "../../../services/webhook/config.ts";

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
    it(`a retention of ${retention} ms with delays of ${delays} is ${isTaken ? "accepted" : "refused"}`, () => {
      const settings = { WEBHOOK_RETRY_DELAYS_MS: delays, WEBHOOK_RETENTION_MS: retention };
      if (isTaken) expect(read(settings).WEBHOOK_RETENTION_MS).to.equal(Number(retention));
      else expect(() => read(settings)).to.throw("WEBHOOK_RETENTION_MS");
    });
  }

  for (const [name, value, isTaken] of [
    ["WEBHOOK_DNS_SERVERS", "192.0.2.1, 192.0.2.1:5353,[2001:db8::1]:53", true],
    ["WEBHOOK_DNS_SERVERS", "192.0.2.1,dns.example:53", false],
    ["IDEMPOTENCY_TTL_MS", "100", true],
    ["IDEMPOTENCY_TTL_MS", "0", false],
    ["MONGODB_PREFIX", "sms-eu_1", true],
    ["MONGODB_PREFIX", "sms.eu", false],
    ["MONGODB_PREFIX", "p".repeat(53), true],
    ["MONGODB_PREFIX", "p".repeat(54), false],
  ] as const) {
    it(`${name}=${value} is ${isTaken ? "accepted" : "refused by name"}`, () => {
      if (isTaken) expect(() => read({ [name]: value })).not.to.throw();
      else expect(() => read({ [name]: value })).to.throw(`${name}: `);
    });
  }
});
