import { expect } from "chai";
import { TRAFFIC_CLASSES } from "../../../services/shared/core/traffic-class.ts";
import {
  compileRouteTable,
  type RouteRule,
  type RouteTableSource,
} from "../../../services/shared/routes/route-table.ts";
import {
  explainRoutes,
  type RouteQuery,
  selectRoutes,
} from "../../../services/shared/routes/select-routes.ts";

const NOON_MS = Date.UTC(2026, 5, 1, 12, 0);

function route(id: string, overrides: Partial<RouteRule> = {}): RouteRule {
  return {
    id,
    name: id,
    connectorId: "alpha",
    enabled: true,
    priority: 1,
    weight: 1,
    senderIds: [],
    plans: [],
    tenantIds: [],
    trafficClasses: [],
    prices: [{ prefix: "234", price: 100n }],
    enabledFromMinute: 0,
    enabledUntilMinute: 0,
    ...overrides,
  };
}

function table(routes: readonly RouteRule[], overrides: Partial<RouteTableSource> = {}) {
  const connectors = [...new Set(routes.map(({ connectorId }) => connectorId))];
  return compileRouteTable({
    version: 1n,
    routes,
    connectors: connectors.map((id) => ({ id, isActive: true, isTest: false })),
    unhealthyConnectorIds: [],
    ...overrides,
  });
}

const QUERY: RouteQuery = {
  tenantId: "ten_1",
  plan: "default",
  senderName: "Acme",
  trafficClass: "transactional",
  digits: "2348031234567",
  nowMs: NOON_MS,
  random: () => 0.5,
};

const select = (routes: readonly RouteRule[], query: Partial<RouteQuery> = {}) =>
  selectRoutes(table(routes), { ...QUERY, ...query }).map(({ routeId }) => routeId);

/** Linear congruential generator (Numerical Recipes), so that a failure can be repeated. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("choosing routes", () => {
  it("prices a number by the longest prefix of each route", () => {
    const prices = [
      { prefix: "234", price: 100n },
      { prefix: "234803", price: 70n },
      { prefix: "23480312", price: 60n },
      { prefix: "2349", price: 10n },
    ];
    const found = selectRoutes(table([route("a", { prices })]), QUERY);
    expect(found).to.deep.equal([{ routeId: "a", connectorId: "alpha", price: 60n }]);
  });

  it("takes an empty prefix as a price for every number", () => {
    const prices = [{ prefix: "", price: 5n }];
    expect(selectRoutes(table([route("a", { prices })]), QUERY)[0]?.price).to.equal(5n);
  });

  it("finds no route for a number without a price", () => {
    expect(select([route("a")], { digits: "447700900123" })).to.deep.equal([]);
  });

  it("returns equal matches for the same prefix and other matches for another", () => {
    const prices = [{ prefix: "2348031", price: 1n }];
    const compiled = table([route("a", { prices }), route("b")]);
    const ask = (digits: string) =>
      selectRoutes(compiled, { ...QUERY, digits }).map(({ routeId }) => routeId);
    expect(ask("2348031111111")).to.have.members(["a", "b"]);
    expect(ask("2348031111112")).to.have.members(["a", "b"]);
    expect(ask("2348032111111")).to.deep.equal(["b"]);
  });

  const obstacles: readonly (readonly [string, Partial<RouteRule>, RegExp])[] = [
    ["disabled", { enabled: false }, /disabled/],
    ["reserved for other tenants", { tenantIds: ["ten_2"] }, /other tenants/],
    ["of another price plan", { plans: ["gold"] }, /price plan/],
    ["reserved for other sender IDs", { senderIds: ["Other"] }, /sender ID/],
    [
      "for other traffic classes",
      { trafficClasses: ["otp", "unknown"] },
      /it carries otp, unknown/,
    ],
    ["without a price for the number", { prices: [{ prefix: "44", price: 1n }] }, /No price/],
    ["closed at this hour", { enabledFromMinute: 780, enabledUntilMinute: 840 }, /Closed now/],
  ];
  for (const [what, overrides, why] of obstacles) {
    it(`leaves out a route that is ${what}, and says why`, () => {
      const routes = [route("good"), route("bad", overrides)];
      expect(select(routes)).to.deep.equal(["good"]);
      const bad = explainRoutes(table(routes), QUERY).find(({ routeId }) => routeId === "bad");
      expect(bad?.serves).to.equal(false);
      expect(bad?.why).to.match(why);
    });
  }

  it("leaves out routes over a connector that does not exist or is for test mode only", () => {
    const connectors = [
      { id: "alpha", isActive: true, isTest: false },
      { id: "sim", isActive: true, isTest: true },
    ];
    const routes = [
      route("a"),
      route("b", { connectorId: "gone" }),
      route("c", { connectorId: "sim" }),
    ];
    const found = selectRoutes(table(routes, { connectors }), QUERY);
    expect(found.map(({ routeId }) => routeId)).to.deep.equal(["a"]);
  });

  it("matches reserved tenants and plans exactly and sender IDs without regard to case", () => {
    const reserved = { tenantIds: ["ten_1"], plans: ["default"], senderIds: ["ACME"] };
    expect(select([route("a", reserved)])).to.deep.equal(["a"]);
  });

  for (const [classes, carried] of [
    [[], ["otp", "transactional", "promotional"]],
    [
      ["otp", "transactional"],
      ["otp", "transactional"],
    ],
    [["promotional"], ["promotional"]],
    // A class that only a newer release knows must not make a route that carries all.
    [["unknown"], []],
  ] as const) {
    it(`with the classes ${classes.join(", ") || "none"} carries ${carried.join(", ") || "none"}`, () => {
      const found = TRAFFIC_CLASSES.filter(
        (trafficClass) =>
          select([route("a", { trafficClasses: classes })], { trafficClass }).length,
      );
      expect(found).to.deep.equal(carried);
    });
  }

  const hours: readonly (readonly [number, number, number, boolean])[] = [
    [0, 0, 720, true],
    [720, 780, 720, true],
    [660, 720, 720, false],
    [1320, 360, 1380, true],
    [1320, 360, 359, true],
    [1320, 360, 360, false],
    [1320, 360, 720, false],
  ];
  for (const [from, until, minute, isOpen] of hours) {
    it(`is ${isOpen ? "open" : "closed"} at minute ${minute} of ${from} to ${until}`, () => {
      const nowMs = Date.UTC(2026, 5, 1) + minute * 60_000;
      const hoursOf = { enabledFromMinute: from, enabledUntilMinute: until };
      expect(select([route("a", hoursOf)], { nowMs })).to.deep.equal(isOpen ? ["a"] : []);
    });
  }

  it("orders by priority, lower first, regardless of weights", () => {
    const routes = [
      route("c", { priority: 3, weight: 1000 }),
      route("a", { priority: 1 }),
      route("b", { priority: 2, weight: 100 }),
    ];
    for (let seed = 1; seed <= 50; seed += 1) {
      expect(select(routes, { random: seeded(seed) })).to.deep.equal(["a", "b", "c"]);
    }
  });

  it("tries routes of failing and of paused connectors after all healthy ones", () => {
    const routes = [
      route("failing", { connectorId: "beta", priority: 1 }),
      route("paused", { connectorId: "gamma", priority: 2 }),
      route("good", { priority: 9 }),
    ];
    const compiled = table(routes, {
      unhealthyConnectorIds: ["beta"],
      connectors: [
        { id: "alpha", isActive: true, isTest: false },
        { id: "beta", isActive: true, isTest: false },
        { id: "gamma", isActive: false, isTest: false },
      ],
    });
    const found = selectRoutes(compiled, QUERY).map(({ routeId }) => routeId);
    expect(found).to.deep.equal(["good", "failing", "paused"]);
  });

  it("places routes of equal priority first in proportion to their weights", () => {
    const compiled = table([
      route("one", { weight: 1 }),
      route("three", { weight: 3 }),
      route("never", { weight: 0 }),
    ]);
    const random = seeded(42);
    const first: Record<string, number> = { one: 0, three: 0, never: 0 };
    const rounds = 20_000;
    for (let round = 0; round < rounds; round += 1) {
      const [chosen] = selectRoutes(compiled, { ...QUERY, random });
      first[chosen?.routeId ?? ""] = (first[chosen?.routeId ?? ""] ?? 0) + 1;
    }
    expect((first.three ?? 0) / rounds).to.be.closeTo(0.75, 0.02);
    expect((first.one ?? 0) / rounds).to.be.closeTo(0.25, 0.02);
    expect(first.never).to.equal(0);
  });

  it("explains every route once, in the order of attempts, the chosen one first", () => {
    const routes = [route("b", { priority: 2 }), route("a"), route("off", { enabled: false })];
    const explained = explainRoutes(table(routes), QUERY);
    expect(explained.map(({ routeId, serves, chosen }) => [routeId, serves, chosen])).to.deep.equal(
      [
        ["a", true, true],
        ["b", true, false],
        ["off", false, false],
      ],
    );
    expect(explained[0]).to.include({ matchedPrefix: "234", price: 100n });
  });
});
