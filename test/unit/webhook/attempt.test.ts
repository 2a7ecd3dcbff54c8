import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import { signingKey } from "../../../services/shared/core/webhook-signature.ts";
import { createSecretBox } from "../../../services/shared/io/encryption.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { createSecrets } from "../../../services/webhook/adapters/secrets.ts";
import { type AttemptParts, makeAttempt } from "../../../services/webhook/app/attempt.ts";
import type { AttemptResult } from "../../../services/webhook/app/ports.ts";
import type { Claimed } from "../../../services/webhook/domain/delivery.ts";
import { type Endpoint, rotateSecret } from "../../../services/webhook/domain/endpoint.ts";
import { sampleEndpoint } from "../../support/webhook-endpoint.ts";

const NOW_MS = 1_800_000_000_000;

describe("a delivery attempt", () => {
  const tenantId = newId("tenant");
  const fresh = sampleEndpoint(NOW_MS - 1000, { tenantId, sealedSecret: "lost" });
  const claimed: Claimed = {
    ...{ id: newId("webhookDelivery"), tenantId, endpointId: fresh.id, eventId: newId("event") },
    ...{ eventType: "message.sent", body: "{}", attemptsMade: 0, lastAnswerMs: 0, attemptsLeft: 5 },
    ...{ failsAs: "failed", activatedAtMs: NOW_MS, redacts: false, dueAtMs: NOW_MS },
    ...{ leaseId: "lease", leaseUntilMs: NOW_MS + 60_000 },
  };

  /** Of the last attempt. */
  let responseMs = 0;

  /**
   * Makes one attempt; returns the signature, one part per key. A secret encrypted as "lost" cannot
   * be opened.
   */
  async function attempt(endpoint: Endpoint, over: Partial<AttemptParts> = {}): Promise<string[]> {
    let signature = "";
    const parts: AttemptParts = {
      clock: { now: () => NOW_MS },
      log: createLogger("test", "silent"),
      httpClient: {
        async send({ headers }) {
          signature = headers["X-Service-Signature"] ?? "";
          return { error: "", httpStatus: 200, durationMs: 1, answer: "" };
        },
        stop: () => undefined,
        close: async () => undefined,
      },
      tracer: { start: () => undefined },
      readEndpoint: async () => endpoint,
      stopVersionOf: () => 0,
      attemptMsMax: 10_000,
      renewLease: async () => undefined,
      openSecret(_endpoint, sealed) {
        if (sealed === "lost") throw new Error("the key that sealed this secret is not configured");
        return signingKey(sealed);
      },
      writeResult: async () => undefined,
      reportHealth: () => undefined,
      metrics: {
        ...{ onStored: () => undefined, onAttempt: () => undefined, onFinal: () => undefined },
        ...{ onLeaseLost: () => undefined, onDisabled: () => undefined },
      },
      retryDelaysMs: [],
      timeoutMs: 10_000,
      readTarget: () => ({ host: "example.com", port: 443, path: "/" }),
      random: () => 0,
      ...over,
    };
    ({ responseMs } = await makeAttempt(parts, claimed));
    return signature.split(",");
  }

  for (const [what, latest, next] of [
    [
      "enabled again: the attempt is repeated, and not counted",
      fresh,
      { status: "pending", attemptsLeft: 5, nextAttemptAtMs: NOW_MS },
    ],
    [
      "disabled: the delivery is dropped",
      { ...fresh, status: "disabled" as const },
      { status: "dropped" },
    ],
    ["deleted: the delivery is dropped", undefined, { status: "dropped" }],
  ] as const) {
    it(`that a stop ended before its request was written finds its endpoint ${what}`, async () => {
      const reads = [rotateSecret(fresh, "new", NOW_MS - 500), latest];
      const written: AttemptResult[] = [];
      await attempt(fresh, {
        readEndpoint: async () => reads.shift(),
        httpClient: {
          send: async () => undefined,
          stop: () => undefined,
          close: async () => undefined,
        },
        writeResult: async (result) => void written.push(result),
      });
      expect(written.map((one) => [one.next, one.attempt])).to.deep.equal([[next, undefined]]);
    });
  }

  it("that is answered within a millisecond differs from one that made no request", async () => {
    const answered = { error: "", httpStatus: 200, durationMs: 0, answer: "" } as const;
    const httpClient = {
      send: async () => answered,
      stop: () => undefined,
      close: async () => undefined,
    };
    const current = rotateSecret(fresh, "new", NOW_MS - 500);
    await attempt(current, { httpClient });
    expect(responseMs).to.equal(1);
    await attempt(current, { httpClient: { ...httpClient, send: async () => undefined } });
    expect(responseMs).to.equal(0);
  });

  it("skips an older secret that cannot be opened", async () => {
    expect(await attempt(rotateSecret(fresh, "new", NOW_MS - 500))).to.have.length(2);
    const both = rotateSecret(rotateSecret(fresh, "new", NOW_MS - 500), "newer", NOW_MS - 400);
    expect(await attempt(both)).to.have.length(3);
  });

  it("sends nothing without the present secret: the delivery waits for its key", async () => {
    const error = await attempt(fresh).catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain("is not configured");
    const rotated = rotateSecret(rotateSecret(fresh, "old", NOW_MS - 500), "lost", NOW_MS - 400);
    const second = await attempt(rotated).catch((thrown: unknown) => thrown);
    expect(String(second)).to.contain("is not configured");
  });
});

describe("webhook secrets", () => {
  it("open for their own endpoint only, also from the cache", () => {
    const box = createSecretBox(`k1:${Buffer.alloc(32, 1).toString("base64")}`);
    const secrets = createSecrets(box);
    const own = { id: newId("webhookEndpoint") } as Endpoint;
    const other = { id: newId("webhookEndpoint") } as Endpoint;
    const sealed = secrets.seal(own.id, "whsec_of_the_owner");
    expect(secrets.openKey(own, sealed)).to.equal(secrets.openKey(own, sealed));
    expect(() => secrets.openKey(other, sealed)).to.throw();
  });
});
