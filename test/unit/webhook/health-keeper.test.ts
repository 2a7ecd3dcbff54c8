/** In which order health is written, and what a success clears. */
import { expect } from "chai";
import { createLogger } from "../../../services/shared/io/log.ts";
import { createHealthKeeper } from "../../../services/webhook/app/health-keeper.ts";
import type { RequestResult } from "../../../services/webhook/domain/delivery.ts";
import { createEndpoint, type Endpoint } from "../../../services/webhook/domain/endpoint.ts";

const NOW = 1_700_000_000_000;
const AFTER = 3 * 86_400_000;
const success: RequestResult = { error: "", httpStatus: 204, durationMs: 5, answer: "" };
const failure: RequestResult = { error: "timeout", httpStatus: 0, durationMs: 5, answer: "" };

const healthy: Endpoint = createEndpoint(
  {
    id: "whe_1",
    tenantId: "ten_1",
    url: "https://example.com/",
    eventTypes: [],
    sources: [],
    description: "",
    sealedSecret: "first",
  },
  NOW - 10 * AFTER,
);
const failing: Endpoint = { ...healthy, failingSinceMs: NOW - AFTER, warnedAtMs: NOW - AFTER / 2 };

describe("the keeper of webhook endpoints' health", () => {
  /** A store whose writes end when they are told to. */
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
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    return {
      report: keeper.report,
      written,
      dropped,
      record,
      isOff: () => isOff,
      /** Ends what is being written, one after the other, until nothing is. */
      async endAll() {
        await turn();
        for (let next = held.shift(); next !== undefined; next = held.shift()) {
          next.end();
          await turn();
        }
      },
      async fail() {
        held.shift()?.fail();
        await turn();
      },
      close: keeper.close,
    };
  }

  it("a failure that is judged by a read before a success disables nothing", async () => {
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

  it("a success clears what was marked after its endpoint was read, be the mark still being written", async () => {
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

  it("a success clears what only another attempt has read as marked, and costs nothing after that", async () => {
    const keeper = open({ failingSinceMs: NOW - 1000 });
    keeper.report({ ...healthy, failingSinceMs: NOW - 1000 }, failure);
    expect(keeper.written).to.deep.equal([]);
    for (let count = 0; count < 3; count += 1) keeper.report(healthy, success);
    await keeper.endAll();
    keeper.report(healthy, success);
    expect(keeper.written).to.deep.equal(["clear"]);
  });

  it("a failure after a success is marked after it", async () => {
    const keeper = open({ failingSinceMs: NOW - 1000 });
    keeper.report({ ...healthy, failingSinceMs: NOW - 1000 }, success);
    keeper.report(healthy, failure);
    await keeper.endAll();
    expect(keeper.written).to.deep.equal(["clear", "mark"]);
    expect(keeper.record.failingSinceMs).to.equal(NOW);
  });

  it("a success that could not be written is written before anything that failed later", async () => {
    const keeper = open({ failingSinceMs: failing.failingSinceMs });
    keeper.report(failing, success);
    await keeper.fail();
    keeper.report(failing, failure);
    await keeper.endAll();
    expect(keeper.written).to.deep.equal(["clear", "clear", "disable"]);
    expect(keeper.isOff()).to.equal(false);
  });

  it("failures alone disable, and what waits is dropped", async () => {
    const keeper = open({ failingSinceMs: failing.failingSinceMs });
    keeper.report(failing, failure);
    await keeper.endAll();
    expect(keeper.isOff()).to.equal(true);
    expect(keeper.dropped).to.deep.equal(["whe_1"]);
  });

  it("nothing is written for endpoints that are well", async () => {
    const keeper = open({ failingSinceMs: 0 });
    keeper.report(healthy, success);
    await keeper.endAll();
    expect(keeper.written).to.deep.equal([]);
  });
});
