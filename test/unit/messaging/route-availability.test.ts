import { expect } from "chai";
import { createRouteAvailability } from "../../../services/messaging/adapters/route-availability.ts";
import { TEST_ROUTE } from "../../../services/messaging/domain/build-messages.ts";
import type { FrozenRoute } from "../../../services/messaging/domain/message.ts";
import type { TrafficClass } from "../../../services/shared/core/traffic-class.ts";
import { compileRouteTable, type RouteTable } from "../../../services/shared/routes/route-table.ts";

const route = (
  id: string,
  connectorId: string,
  enabled = true,
  trafficClasses: readonly string[] = [],
) => ({
  ...{ id, name: id, connectorId, enabled, priority: 1, weight: 1 },
  ...{
    senderIds: [],
    plans: [],
    tenantIds: [],
    trafficClasses,
    prices: [{ prefix: "234", price: 1n }],
  },
  ...{ enabledFromMinute: 0, enabledUntilMinute: 0 },
});

/** Connectors that carry, are paused, and fail; the routes over each. */
const TABLE = compileRouteTable({
  version: 1n,
  routes: [
    route("good", "up"),
    route("off", "up", false),
    route("paused", "idle"),
    route("failing", "down"),
    route("failing-off", "down", false),
    route("lonely-off", "spare", false),
    route("alerts", "up", true, ["otp", "transactional"]),
  ],
  connectors: [
    ...["up", "down", "spare"].map((id) => ({ id, isActive: true, isTest: false })),
    { id: "idle", isActive: false, isTest: false },
  ],
  unhealthyConnectorIds: ["down"],
});

const frozen = (routeId: string, connectorId: string): FrozenRoute => ({
  ...{ routeId, connectorId, price: 1n },
});
const availability = createRouteAvailability({ routeTable: () => TABLE });

describe("the state of frozen routes", () => {
  for (const [routeId, connectorId, state, over] of [
    ["good", "up", "available", "up"],
    ["off", "up", "disabled", "up"],
    ["paused", "idle", "failing", "idle"],
    ["failing", "down", "failing", "down"],
    ["failing-off", "down", "disabled", "down"],
    ["removed", "up", "removed", "up"],
    // It leads elsewhere by now.
    ["good", "down", "available", "up"],
    ["failing", "up", "failing", "down"],
  ] as const) {
    it(`${routeId}, frozen over ${connectorId}: ${state} over ${over}`, () => {
      const found = availability.availabilityOf(frozen(routeId, connectorId), "transactional");
      expect(found).to.deep.equal({ state, connectorId: over });
    });
  }

  it("a route is disabled for messages of a class that it does not carry", () => {
    const alerts = frozen("alerts", "up");
    const stateFor = (trafficClass: TrafficClass) =>
      availability.availabilityOf(alerts, trafficClass).state;
    expect([stateFor("otp"), stateFor("promotional")]).to.deep.equal(["available", "disabled"]);
    const carries = (routeId: string) => availability.carries(routeId, "promotional");
    expect(["alerts", "good", "removed", TEST_ROUTE.routeId].map(carries)).to.deep.equal([
      ...[false, true, true, true],
    ]);
  });

  it("the available connectors are those that are active and healthy, with or without routes", () => {
    expect([...availability.usableConnectors()].sort()).to.deep.equal(["spare", "up"]);
  });

  it("returns the same set object until the route table changes", () => {
    let table: RouteTable = TABLE;
    const changing = createRouteAvailability({ routeTable: () => table });
    const before = changing.usableConnectors();
    expect(changing.usableConnectors()).to.equal(before);
    table = compileRouteTable({
      version: 2n,
      routes: [route("good", "up")],
      connectors: [{ id: "up", isActive: true, isTest: false }],
      unhealthyConnectorIds: [],
    });
    expect(changing.usableConnectors()).to.not.equal(before);
    expect([...changing.usableConnectors()]).to.deep.equal(["up"]);
  });

  it("before the first table no connector is available, and the test route exists", () => {
    const early = createRouteAvailability({
      routeTable() {
        throw new Error("no table yet");
      },
    });
    expect([...early.usableConnectors()]).to.deep.equal([]);
    const { connectorId } = TEST_ROUTE;
    expect(early.availabilityOf(TEST_ROUTE, "transactional")).to.deep.equal({
      state: "available",
      connectorId,
    });
  });
});
