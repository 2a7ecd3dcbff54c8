import { expect } from "chai";
import fc from "fast-check";
import { AppError } from "../../../services/shared/core/errors.ts";
import { isId, newId } from "../../../services/shared/core/ids.ts";
import {
  attemptsOf,
  decideNextState,
  RETRY_JITTER_MS_MAX,
  type RequestResult,
} from "../../../services/webhook/domain/delivery.ts";
import { deliveryId, derivedEventId } from "../../../services/webhook/domain/deterministic-ids.ts";
import {
  activeSecrets,
  changeEndpoint,
  disableEndpoint,
  type Endpoint,
  isSubscribed,
  rotateSecret,
  SECRET_OVERLAP_MS,
} from "../../../services/webhook/domain/endpoint.ts";
import {
  addPendingChange,
  decideHealthChange,
  type HealthChange,
} from "../../../services/webhook/domain/health.ts";
import { sampleEndpoint } from "../../support/webhook-endpoint.ts";

const NOW = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const DELAYS = [60_000, 300_000, 900_000, 3_600_000];

const success: RequestResult = { error: "", httpStatus: 204, durationMs: 5, answer: "" };
const failure: RequestResult = { error: "status", httpStatus: 500, durationMs: 5, answer: "no" };
const gone: RequestResult = { ...failure, httpStatus: 410 };

function endpoint(): Endpoint {
  return sampleEndpoint(NOW, { id: "whe_1", tenantId: "ten_1", sealedSecret: "first" });
}

describe("the schedule of a webhook delivery", () => {
  it("waits 1, 5, 15 and 60 minutes from each failure, never less, and at most 250 ms more", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (step, random) => {
          const claimed = { attemptsLeft: 5 - step, failsAs: "failed" } as const;
          const next = decideNextState(claimed, failure, NOW, DELAYS, random);
          if (next.status !== "pending") throw new Error("it must go on");
          const waitMs = next.nextAttemptAtMs - NOW - (DELAYS[step] ?? 0);
          expect(waitMs).to.be.within(0, RETRY_JITTER_MS_MAX);
          expect(next.attemptsLeft).to.equal(4 - step);
        },
      ),
    );
  });

  it("fails after the fifth attempt, and succeeds at any attempt", () => {
    expect(attemptsOf(DELAYS)).to.equal(5);
    for (let attemptsLeft = 5; attemptsLeft >= 1; attemptsLeft -= 1) {
      const claimed = { attemptsLeft, failsAs: "failed" } as const;
      expect(decideNextState(claimed, success, NOW, DELAYS, 0)).to.deep.equal({
        status: "succeeded",
      });
      const { status } = decideNextState(claimed, failure, NOW, DELAYS, 0);
      expect(status).to.equal(attemptsLeft === 1 ? "failed" : "pending");
    }
  });

  it("continues after 410 like after any other status", () => {
    const claimed = { attemptsLeft: 5, failsAs: "failed" } as const;
    const next = { status: "pending", attemptsLeft: 4, nextAttemptAtMs: NOW + 60_000 };
    expect(decideNextState(claimed, gone, NOW, DELAYS, 0)).to.deep.equal(next);
  });

  it("keeps a delivery succeeded when its resend fails", () => {
    const claimed = { attemptsLeft: 1, failsAs: "succeeded" } as const;
    expect(decideNextState(claimed, failure, NOW, DELAYS, 0)).to.deep.equal({
      status: "succeeded",
    });
  });
});

describe("deterministic webhook ids", () => {
  it("have the right form, keep the event's time, and differ by event, endpoint and type", () => {
    const event = newId("event", NOW);
    const id = deliveryId(event, "whe_1");
    expect(isId("webhookDelivery", id)).to.equal(true);
    expect(id.slice(4, 14)).to.equal(event.slice(4, 14));
    expect(deliveryId(event, "whe_1")).to.equal(id);
    expect(deliveryId(event, "whe_2")).to.not.equal(id);
    expect(deliveryId(newId("event", NOW), "whe_1")).to.not.equal(id);
    const typed = derivedEventId(event, "message.sent");
    expect(isId("event", typed)).to.equal(true);
    expect(typed).to.not.equal(event);
    expect(deliveryId(typed, "whe_1")).to.not.equal(id);
  });

  it("do not collide over 20,000 events of one millisecond", () => {
    const ids = Array.from({ length: 20_000 }, () => deliveryId(newId("event", NOW), "whe_1"));
    expect(new Set(ids).size).to.equal(ids.length);
  });
});

describe("a webhook endpoint", () => {
  it("subscribes to message.status_changed unless its owner names types", () => {
    expect(endpoint().eventTypes).to.deep.equal(["message.status_changed"]);
  });

  it("refuses unknown types, an empty list of types, and a long description", () => {
    const refusals = [
      { change: { eventTypes: ["message.sent", "nope"] }, field: "event_types[1]" },
      { change: { eventTypes: [] }, field: "event_types" },
      { change: { description: "x".repeat(257) }, field: "description" },
      { change: { description: "😀".repeat(257) }, field: "description" },
    ];
    for (const { change, field } of refusals) {
      expect(() => changeEndpoint(endpoint(), change, NOW))
        .to.throw(AppError)
        .with.nested.property("fields[0].field", field);
    }
  });

  it("accepts a description of 256 characters of one or two UTF-16 units", () => {
    for (const description of ["x".repeat(256), "😀".repeat(256)]) {
      expect(changeEndpoint(endpoint(), { description }, NOW)).to.include({ description });
    }
  });

  it("receives events of its mode, types, sources and present enabled period only", () => {
    const type = "message.status_changed" as const;
    const event = { mode: "live", type, source: "api", recordedAtMs: NOW } as const;
    const fromApi = { ...endpoint(), sources: ["api"] as const };
    expect(isSubscribed(endpoint(), event)).to.equal(true);
    expect(isSubscribed(endpoint(), { ...event, mode: "test" })).to.equal(false);
    expect(isSubscribed({ ...endpoint(), mode: "test" }, event)).to.equal(false);
    expect(isSubscribed({ ...endpoint(), mode: "test" }, { ...event, mode: "test" })).to.equal(
      true,
    );
    expect(isSubscribed(endpoint(), { ...event, type: "message.sent" })).to.equal(false);
    expect(isSubscribed(fromApi, event)).to.equal(true);
    expect(isSubscribed(fromApi, { ...event, source: "campaign" })).to.equal(false);
    expect(isSubscribed(fromApi, { ...event, source: undefined })).to.equal(true);
    // The publisher's clock may be behind.
    expect(isSubscribed(endpoint(), { ...event, recordedAtMs: NOW - 600_000 })).to.equal(true);
    expect(isSubscribed(endpoint(), { ...event, recordedAtMs: NOW - 600_001 })).to.equal(false);

    const off = changeEndpoint(endpoint(), { status: "disabled" }, NOW + 10);
    expect(isSubscribed(off, { ...event, recordedAtMs: NOW + 20 })).to.equal(false);
    const on = changeEndpoint(off, { status: "enabled" }, NOW + 30);
    expect(isSubscribed(on, { ...event, recordedAtMs: NOW + 20 })).to.equal(false);
    expect(isSubscribed(on, { ...event, recordedAtMs: NOW + 30 })).to.equal(true);
  });

  it("shows why it is disabled, and clears the reason when enabled", () => {
    const failing = { ...endpoint(), failingSinceMs: NOW, warnedAtMs: NOW };
    const off = disableEndpoint(failing, "because", NOW);
    expect(off).to.include({ status: "disabled", disabledReason: "because" });
    expect(changeEndpoint(off, { status: "enabled" }, NOW)).to.include({
      status: "enabled",
      disabledReason: "",
      failingSinceMs: 0,
      warnedAtMs: 0,
    });
    expect(changeEndpoint(endpoint(), { status: "disabled" }, NOW).disabledReason).to.not.equal("");
  });

  it("resets its failures at a new URL and when enabled, and at no other change", () => {
    const failing = { ...endpoint(), failingSinceMs: NOW - 1000, warnedAtMs: NOW - 500 };
    const kept = { failingSinceMs: NOW - 1000, warnedAtMs: NOW - 500 };
    const clean = { failingSinceMs: 0, warnedAtMs: 0, startsClean: true };
    const change = (wanted: Parameters<typeof changeEndpoint>[1]) =>
      changeEndpoint(failing, wanted, NOW);
    expect(change({ url: "https://example.com/new" })).to.include(clean);
    for (const wanted of [
      { description: "x" },
      { url: failing.url },
      { status: "enabled" },
    ] as const) {
      expect(change(wanted)).to.include(kept).and.not.have.property("startsClean");
    }
    const off = disableEndpoint(failing, "no", NOW);
    expect(changeEndpoint(off, { status: "enabled" }, NOW)).to.include(clean);
    expect(rotateSecret(failing, "second", NOW))
      .to.include(kept)
      .and.not.have.property("startsClean");
  });

  it("does not start a new enabled period when it is enabled twice", () => {
    const again = changeEndpoint(endpoint(), { status: "enabled" }, NOW + DAY_MS);
    expect(again.enabledAtMs).to.equal(endpoint().enabledAtMs);
  });

  it("signs with the newest secret first, and with the previous one for 24 hours", () => {
    const rotated = rotateSecret(endpoint(), "second", NOW + 1000);
    const sealed = (atMs: number) => activeSecrets(rotated, atMs).map((secret) => secret.sealed);
    expect(sealed(NOW + 1000)).to.deep.equal(["second", "first"]);
    expect(sealed(NOW + 1000 + SECRET_OVERLAP_MS - 1)).to.deep.equal(["second", "first"]);
    expect(sealed(NOW + 1000 + SECRET_OVERLAP_MS)).to.deep.equal(["second"]);
  });

  it("keeps 24 hours for each secret when rotated twice", () => {
    const once = rotateSecret(endpoint(), "second", NOW);
    const twice = rotateSecret(once, "third", NOW + 1000);
    const sealed = (atMs: number) => activeSecrets(twice, atMs).map((secret) => secret.sealed);
    expect(sealed(NOW + 1000)).to.deep.equal(["third", "second", "first"]);
    expect(sealed(NOW + SECRET_OVERLAP_MS)).to.deep.equal(["third", "second"]);
    expect(sealed(NOW + 1000 + SECRET_OVERLAP_MS)).to.deep.equal(["third"]);
  });
});

describe("the health of a webhook endpoint", () => {
  const AFTER = 3 * DAY_MS;
  const healthy = { failingSinceMs: 0, warnedAtMs: 0 };
  const failing = { failingSinceMs: NOW, warnedAtMs: 0 };
  const check = (record: typeof healthy, result: RequestResult, atMs: number, isMarked = false) =>
    decideHealthChange(record, result, atMs, AFTER, isMarked).kind;

  it("starts at the first failure, and one success clears it", () => {
    expect(check(healthy, failure, NOW)).to.equal("failing");
    expect(check(failing, success, NOW + AFTER)).to.equal("clear");
    expect(check(healthy, success, NOW)).to.equal("none");
  });

  it("warns once at half the time", () => {
    expect(check(failing, failure, NOW + AFTER / 2 - 1)).to.equal("none");
    expect(check(failing, failure, NOW + AFTER / 2)).to.equal("warn");
    expect(check({ ...failing, warnedAtMs: NOW }, failure, NOW + AFTER / 2)).to.equal("none");
  });

  it("disables at the first failure after three days without a success", () => {
    const warned = { ...failing, warnedAtMs: NOW };
    expect(check(warned, failure, NOW + AFTER - 1)).to.equal("none");
    expect(check(warned, failure, NOW + AFTER)).to.equal("disable");
    expect(check(failing, failure, NOW + AFTER)).to.equal("disable");
    expect(check(warned, success, NOW + AFTER)).to.equal("clear");
  });

  it("counts 410 like any other failure", () => {
    expect(check(healthy, gone, NOW)).to.equal("failing");
    expect(check(failing, gone, NOW + AFTER)).to.equal("disable");
  });

  it("is cleared by a success when a failure is known after the read of the endpoint", () => {
    expect(check(healthy, success, NOW, true)).to.equal("clear");
    expect(check(healthy, failure, NOW, true)).to.equal("failing");
  });

  it("queues changes in order: a success replaces failures, and equal changes are queued once", () => {
    const disable: HealthChange = { kind: "disable", reason: "Every delivery failed." };
    const names = (...changes: readonly HealthChange[]) => {
      let waiting: readonly { readonly change: HealthChange }[] = [];
      for (const change of changes) waiting = addPendingChange(waiting, { change });
      return waiting.map(({ change }) => change.kind);
    };
    const [none, clear, mark, warn] = (["none", "clear", "failing", "warn"] as const).map(
      (kind): HealthChange => ({ kind }),
    ) as [HealthChange, HealthChange, HealthChange, HealthChange];
    expect(names(none)).to.deep.equal([]);
    expect(names(mark, mark, warn, mark)).to.deep.equal(["failing", "warn"]);
    expect(names(disable, disable)).to.deep.equal(["disable"]);
    expect(names(mark, warn, disable, clear)).to.deep.equal(["clear"]);
    expect(names(clear, mark, clear, mark)).to.deep.equal(["clear", "failing"]);
  });
});
