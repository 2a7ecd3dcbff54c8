/** The order of health writes, and the effect of a success. */
import { expect } from "chai";
import { createLogger } from "../../../services/shared/io/log.ts";
import { createHealthKeeper } from "../../../services/webhook/app/health-keeper.ts";
import type { RequestResult } from "../../../services/webhook/domain/delivery.ts";
import type { Endpoint } from "../../../services/webhook/domain/endpoint.ts";
import { sampleEndpoint } from "../../support/webhook-endpoint.ts";

const NOW = 1_700_000_000_000;
const AFTER = 3 * 86_400_000;
const success: RequestResult = { error: "", httpStatus: 204, durationMs: 5, answer: "" };
const failure: RequestResult = { error: "timeout", httpStatus: 0, durationMs: 5, answer: "" };

const healthy = sampleEndpoint(NOW - 10 * AFTER, { id: "whe_1" });
const failing: Endpoint = { ...healthy, failingSinceMs: NOW - AFTER, warnedAtMs: NOW - AFTER / 2 };

describe("the health keeper of webhook endpoints", () => {
  /** A store whose writes end on request. */
  function open(record: { failingSinceMs: number }) {
    const written: string[] = [];
    const held: { readonly end: () => void; readonly fail: () => void }[] = [];
    let isOff = false;
    const dropped: string[] = [];
    const hold = (name: string, effect: () => boolean) => {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      written.push(name);
      held.push({ end: () => resolve(effect()), fail: () => reject(new Error("away")) });
      return promise;
    };
    const keeper = createHealthKeeper({
      clock: { now: () => NOW },
      log: createLogger("test", "silent"),
      store: {
        clearFailing: () =>
          hold("clear", () => {
            record.failingSinceMs = 0;
            return true;
          }),
        markFailing: (_, sinceMs) =>
          hold("mark", () => {
            if (record.failingSinceMs === 0) record.failingSinceMs = sinceMs;
            return true;
          }),
        markWarned: () => hold("warn", () => false),
        disable: ({ failingSinceMs }) =>
          hold("disable", () => {
            isOff = failingSinceMs === record.failingSinceMs;
            return isOff;
          }),
      },
      queue: {
        dropWaiting: async (endpointId) => {
          dropped.push(endpointId);
          return 0;
        },
      },
      metrics: {
        onStored: () => undefined,
        onAttempt: () => undefined,
        onFinal: () => undefined,
        onLeaseLost: () => undefined,
        onDisabled: () => undefined,
      },
      alerts: { send: () => undefined },
      stopper: { stop: () => undefined },
      disableAfterMs: AFTER,
    });
    const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
    return {
      report: keeper.report,
      written,
      dropped,
      record,
      isOff: () => isOff,
      /** Ends the writes one after the other until none is left. */
      async endAll() {
        await nextTurn();
        for (let next = held.shift(); next !== undefined; next = held.shift()) {
          next.end();
          await nextTurn();
        }
      },
      async fail() {
        held.shift()?.fail();
        await nextTurn();
      },
      close: keeper.close,
    };
  }

  it("disables nothing when the endpoint was read before a success", async () => {
    const keeper = open({ failingSinceMs: failing.failingSinceMs });
    keeper.report(failing, success);
    keeper.report(failing, failure);
    expect(keeper.written).to.deep.equal(["clear"]);
    await keeper.endAll();
    await keeper.close();
    expect(keeper.written).to.deep.equal(["clear", "disable"]);
    expect(keeper.isOff()).to.equal(false);
    expect(keeper.dropped).to.deep.equal([]);
  });

  it("clears a mark that was made after the endpoint was read, even while it is being written", async () => {
    for (const isWritten of [false, true]) {
      const keeper = open({ failingSinceMs: 0 });
      keeper.report(healthy, failure);
      if (isWritten) await keeper.endAll();
      keeper.report(healthy, success);
      await keeper.endAll();
      expect(keeper.written).to.deep.equal(["mark", "clear"]);
      expect(keeper.record.failingSinceMs).to.equal(0);
    }
  });

  it("clears a mark that another attempt has read, and writes nothing at later successes", async () => {
    const keeper = open({ failingSinceMs: NOW - 1000 });
    keeper.report({ ...healthy, failingSinceMs: NOW - 1000 }, failure);
    expect(keeper.written).to.deep.equal([]);
    for (let count = 0; count < 3; count += 1) keeper.report(healthy, success);
    await keeper.endAll();
    keeper.report(healthy, success);
    expect(keeper.written).to.deep.equal(["clear"]);
  });

  it("marks a failure after the success before it is written", async () => {
    const keeper = open({ failingSinceMs: NOW - 1000 });
    keeper.report({ ...healthy, failingSinceMs: NOW - 1000 }, success);
    keeper.report(healthy, failure);
    await keeper.endAll();
    expect(keeper.written).to.deep.equal(["clear", "mark"]);
    expect(keeper.record.failingSinceMs).to.equal(NOW);
  });

  it("writes a success that failed to be written before any later failure", async () => {
    const keeper = open({ failingSinceMs: failing.failingSinceMs });
    keeper.report(failing, success);
    await keeper.fail();
    keeper.report(failing, failure);
    await keeper.endAll();
    expect(keeper.written).to.deep.equal(["clear", "clear", "disable"]);
    expect(keeper.isOff()).to.equal(false);
  });

  it("disables after failures without a success, and drops pending deliveries", async () => {
    const keeper = open({ failingSinceMs: failing.failingSinceMs });
    keeper.report(failing, failure);
    await keeper.endAll();
    expect(keeper.isOff()).to.equal(true);
    expect(keeper.dropped).to.deep.equal(["whe_1"]);
  });

  it("writes nothing for healthy endpoints", async () => {
    const keeper = open({ failingSinceMs: 0 });
    keeper.report(healthy, success);
    await keeper.endAll();
    expect(keeper.written).to.deep.equal([]);
  });
});
