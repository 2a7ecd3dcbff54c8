import { expect } from "chai";
import type { QueueScan } from "../../../services/messaging/app/ports.ts";
import { createRerouter } from "../../../services/messaging/app/reroute.ts";
import type { Changes } from "../../../services/messaging/app/update-messages.ts";
import type { Message, PriorityClass } from "../../../services/messaging/domain/message.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { availabilityBy, messageIn, START_MS } from "../../support/messages.ts";

/** Queues in memory: what waits at alpha, and how long beta's queues are. */
function makeWorld() {
  let waiting: Message[] = [];
  const atBeta: Record<PriorityClass, number> = { single: 0, bulk: 0 };
  const retained: Record<PriorityClass, string[][]> = { single: [], bulk: [] };
  const moved: Message[] = [];
  const clock = createManualClock(START_MS);
  let usableConnectors: ReadonlySet<string> = new Set(["beta"]);
  const rerouter = createRerouter({
    queue: {
      waitingTenants: async (_connectorId: string, priority: PriorityClass) => [
        ...new Set(
          waiting.filter((one) => one.priority === priority).map(({ tenantId }) => tenantId),
        ),
      ],
      findWaiting: async (_connectorId: string, priority: PriorityClass, look: QueueScan) =>
        waiting
          .filter((one) => one.priority === priority && look.tenantIds.includes(one.tenantId))
          .filter((one) => one.id >= look.fromId && one.notBeforeMs <= look.nowMs)
          .sort((one, other) => (one.id < other.id ? -1 : 1))
          .slice(0, look.limit),
      countIn: async (_connectorId: string, priority: PriorityClass, max: number) =>
        Math.min(max, atBeta[priority]),
    },
    pending: {
      connectors: async () => ["alpha", "beta"],
      mark: () => 0,
      retain: (_connectorId, priority, tenantIds) => void retained[priority].push([...tenantIds]),
    },
    changes: {
      change: async (id: string) => {
        const at = waiting.findIndex((message) => message.id === id);
        const [message] = waiting.splice(at, 1);
        if (message === undefined) return undefined;
        moved.push(message);
        atBeta[message.priority] += 1;
        return { message, events: [] };
      },
    } as unknown as Changes,
    availability: {
      availabilityOf: availabilityBy(({ connectorId }) =>
        connectorId === "alpha" ? "failing" : "available",
      ),
      usableConnectors: () => usableConnectors,
    },
    clock,
  });
  return {
    rerouter,
    clock,
    atBeta,
    moved,
    retained,
    left: () => waiting.length,
    /** The oldest get the route over beta that they lacked. */
    openSecondRoutes(count = waiting.length) {
      const { routes } = messageIn("waiting");
      waiting = waiting.map((message, at) => (at < count ? { ...message, routes } : message));
    },
    carry(...connectorIds: readonly string[]) {
      usableConnectors = new Set(connectorIds);
    },
    add(tenantId: string, count: number, overrides: Partial<Message> = {}) {
      const added = Array.from({ length: count }, () => messageIn("waiting", overrides));
      waiting = [...waiting, ...added.map((message) => ({ ...message, tenantId }))];
      return added.map(({ id }) => id);
    },
    movedOf: (tenantId: string) => moved.filter((one) => one.tenantId === tenantId).length,
  };
}

const ALONE = { routes: messageIn("waiting").routes.slice(0, 1) };

describe("the diverter", () => {
  it("shares a little room among tenants, however much the first one has", async () => {
    const world = makeWorld();
    world.add("ten_a", 1000);
    world.add("ten_b", 10);
    for (let run = 0; run < 20; run += 1) {
      world.atBeta.single = 1999;
      await world.rerouter.run();
    }
    expect([world.movedOf("ten_a"), world.movedOf("ten_b")]).to.deep.equal([10, 10]);
  });

  it("moves single messages also when bulk messages fill the other queue", async () => {
    const world = makeWorld();
    world.atBeta.bulk = 50_000;
    world.add("ten_a", 3);
    world.add("ten_a", 3, { priority: "bulk" });
    await world.rerouter.run();
    expect(world.moved.map(({ priority }) => priority)).to.deep.equal([
      "single",
      "single",
      "single",
    ]);
  });

  it("finds messages that return to the head of a queue while a long queue is moved", async () => {
    const world = makeWorld();
    const [first = ""] = world.add("ten_a", 1, { notBeforeMs: START_MS + 5000 });
    world.add("ten_a", 3000);
    for (const bound of [1900, 1900]) {
      world.atBeta.single = bound;
      await world.rerouter.run();
    }
    world.clock.advance(5000);
    world.atBeta.single = 1999;
    await world.rerouter.run();
    expect(world.moved.at(-1)?.id).to.equal(first);
  });

  it("skips a thousand messages without another route, and reads them again later", async () => {
    const world = makeWorld();
    const stuck = world.add("ten_a", 1000, ALONE);
    world.add("ten_a", 5);
    for (let run = 0; run < 3; run += 1) await world.rerouter.run();
    expect([world.moved.length, world.left()]).to.deep.equal([5, stuck.length]);
    // Messages may be skipped until the end of the queue is reached and reading starts again.
    world.openSecondRoutes();
    for (let run = 0; run < 6; run += 1) await world.rerouter.run();
    expect(world.left()).to.equal(0);
  });

  it("reads all skipped messages again when other connectors become usable", async () => {
    const world = makeWorld();
    world.add("ten_a", 1000, ALONE);
    await world.rerouter.run();
    await world.rerouter.run();
    world.openSecondRoutes(500);
    world.carry("beta", "gamma");
    await world.rerouter.run();
    expect(world.moved.length).to.equal(500);
  });

  it("continues at once only while it moves many messages, and drops tenants without messages there", async () => {
    const world = makeWorld();
    world.add("ten_a", 700);
    expect(await world.rerouter.run()).to.equal(true);
    expect(await world.rerouter.run()).to.equal(false);
    expect(world.left()).to.equal(0);
    await world.rerouter.run();
    expect(world.retained.single[0]).to.deep.equal(["ten_a"]);
    expect(world.retained.single.at(-1)).to.deep.equal([]);
  });
});
