/** A carrier's claims, where one message cannot be changed. */
import { expect } from "chai";
import { createCarrierReports } from "../../../services/messaging/app/carrier-reports.ts";
import type { Changes } from "../../../services/messaging/app/update-messages.ts";
import type { Message } from "../../../services/messaging/domain/message.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { createMemoryQueueStore } from "../../support/memory-queue-store.ts";
import { ALL_AVAILABLE, messageIn, START_MS, TIMEOUTS } from "../../support/messages.ts";

const CARRIER = "carrier-1";
const LEASE_MS = 60_000;

describe("claims of a dead carrier", () => {
  const messages = ["sending", "sending", "sending"] as const;

  function setUp(fault: Error) {
    const held = messages.map((state) => messageIn(state));
    const [, bad] = held;
    const queue = createMemoryQueueStore();
    void queue.put(held);
    const carriers = createCarrierReports({
      changes: {
        change: async (id: string, decide: (message: Message, nowMs: number) => unknown) => {
          if (id === bad?.id) throw fault;
          return decide(held.find((message) => message.id === id) as Message, START_MS);
        },
      } as unknown as Changes,
      queue,
      clock: createManualClock(START_MS),
      log: createLogger("test", "silent"),
      timeouts: TIMEOUTS,
      leaseMs: LEASE_MS,
      availabilityOf: ALL_AVAILABLE,
    });
    return { carriers, held };
  }

  it("all claims are returned except the one that cannot be", async () => {
    const { carriers, held } = setUp(new Error("refused by the database"));
    const written = new Set([held[0]?.id ?? ""]);
    const result = await carriers.recover(CARRIER, written, undefined);
    expect(result).to.deep.equal({ givenBack: 1, inDoubt: 1, partlyWritten: [] });
  });

  it("recovery is not finished while a written message cannot be put in doubt, or it would be sent twice", async () => {
    const fault = new Error("refused by the database");
    const { carriers, held } = setUp(fault);
    const written = new Set([held[1]?.id ?? ""]);
    const result = await carriers.recover(CARRIER, written, undefined).catch((error) => error);
    expect(result).to.equal(fault);
  });

  it("recovery fails as a whole in an outage", async () => {
    const { carriers } = setUp(new AppError("service_unavailable", "away"));
    const error = await carriers.recover(CARRIER, new Set(), undefined).catch(({ code }) => code);
    expect(error).to.equal("service_unavailable");
  });
});

describe("the sweep over carriers", () => {
  /** The carriers whose claims the sweep reads: of a live one, a silent one and an unknown one. */
  async function queriedCarriers(receivingMs?: number): Promise<string[]> {
    const clock = createManualClock(START_MS);
    const queried: string[] = [];
    const queue = createMemoryQueueStore();
    await queue.put(
      ["alive", "forgotten"].map((carrierId) =>
        messageIn("sending", { claim: { id: `claim of ${carrierId}`, carrierId, atMs: START_MS } }),
      ),
    );
    await queue.beat("alive", clock.now());
    await queue.beat("silent", clock.now() - 2 * LEASE_MS);
    const carriers = createCarrierReports({
      ...{ clock, log: createLogger("test", "silent"), timeouts: TIMEOUTS, leaseMs: LEASE_MS },
      availabilityOf: ALL_AVAILABLE,
      changes: {} as Changes,
      queue: {
        ...queue,
        async sendingNames(carrierId) {
          queried.push(carrierId);
          return [];
        },
      },
    });
    await carriers.sweep(receivingMs);
    return [...new Set(queried)].sort();
  }

  for (const [receivingMs, expected] of [
    [undefined, ["alive", "forgotten", "silent"]],
    [LEASE_MS, ["alive", "forgotten", "silent"]],
    [LEASE_MS - 1, []],
    [0, []],
  ] as const) {
    const how = receivingMs === undefined ? "for ever" : `for ${receivingMs} ms`;
    it(`reads late claims of ${expected.length} of three carriers if heartbeats could arrive ${how}`, async () => {
      expect(await queriedCarriers(receivingMs)).to.deep.equal(expected);
    });
  }
});
