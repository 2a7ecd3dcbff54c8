import { expect } from "chai";
import {
  type AvailabilityOf,
  pickNextRoute,
  type RouteState,
} from "../../../services/messaging/domain/choose-route.ts";
import { currentRoute, type FrozenRoute } from "../../../services/messaging/domain/message.ts";
import { reroute, tryNextRoute } from "../../../services/messaging/domain/queue-transitions.ts";
import {
  ALL_AVAILABLE,
  availabilityBy,
  messageIn,
  START_MS,
  STATE_NAMES,
} from "../../support/messages.ts";

const routes = ["a", "b", "c"].map(
  (name): FrozenRoute => ({
    routeId: `rte_${name}`,
    connectorId: name,
    price: 1n,
  }),
);

const ROUTED = { routes, trafficClass: "transactional" } as const;

/** Availability by the last letter of a route id. */
const availabilityFor = (availability: Readonly<Record<string, RouteState>>): AvailabilityOf =>
  availabilityBy(({ routeId }) => availability[routeId.slice(-1)] ?? "available");

/** The same, with some routes moved to other connectors. */
const moved =
  (to: Readonly<Record<string, string>>, stand = ALL_AVAILABLE): AvailabilityOf =>
  (route, trafficClass) => ({
    ...stand(route, trafficClass),
    connectorId: to[route.routeId.slice(-1)] ?? route.connectorId,
  });

const order = (some: readonly FrozenRoute[] | undefined) =>
  some?.map(({ connectorId }) => connectorId).join("");

describe("the next route", () => {
  const cases: readonly (readonly [
    number,
    Readonly<Record<string, RouteState>>,
    string | undefined,
  ])[] = [
    [0, {}, "abc"],
    [1, {}, "abc"],
    [0, { a: "failing" }, "bac"],
    [0, { a: "failing", b: "failing" }, "cab"],
    [0, { a: "failing", b: "failing", c: "failing" }, "abc"],
    [0, { a: "removed", b: "failing" }, "cab"],
    [0, { a: "removed", b: "failing", c: "failing" }, "bac"],
    [0, { a: "removed", b: "removed", c: "removed" }, undefined],
    [0, { a: "disabled", b: "failing", c: "disabled" }, "bac"],
    [1, { b: "failing" }, "acb"],
    [1, { b: "removed", c: "removed" }, undefined],
    [3, {}, undefined],
  ];
  for (const [at, availability, expected] of cases) {
    it(`at ${at} with ${JSON.stringify(availability)} makes ${expected ?? "an end"}`, () => {
      expect(order(pickNextRoute(ROUTED, at, availabilityFor(availability)))).to.equal(expected);
    });
  }
});

describe("a route that leads to another connector by now", () => {
  it("is tried over that one at its frozen price, and the others keep their place", () => {
    const next = pickNextRoute(ROUTED, 0, moved({ a: "x" }, availabilityFor({ c: "removed" })));
    expect(next).to.deep.equal([{ ...routes[0], connectorId: "x" }, routes[1], routes[2]]);
    const second = pickNextRoute(ROUTED, 1, moved({ c: "x" }, availabilityFor({ b: "failing" })));
    expect(second).to.deep.equal([routes[0], { ...routes[2], connectorId: "x" }, routes[1]]);
  });

  it("moves messages that wait at the former connector", () => {
    const before = messageIn("waiting", { notBeforeMs: START_MS + 9 });
    const { message } = reroute(before, moved({ A: "gamma" }));
    expect(currentRoute(message)).to.deep.equal({ ...before.routes[0], connectorId: "gamma" });
    expect(message.notBeforeMs).to.equal(0);
  });

  it("uses the next route while the connector of this one fails", () => {
    const stand = availabilityFor({ A: "failing" });
    const { message } = reroute(messageIn("waiting"), moved({ A: "gamma" }, stand));
    expect(currentRoute(message)?.routeId).to.equal("rte_B");
    const both = availabilityFor({ A: "failing", B: "failing" });
    const stays = messageIn("waiting");
    expect(reroute(stays, moved({ A: "gamma" }, both)).message).to.equal(stays);
  });

  it("is tried next, over that one, when the route before refuses", () => {
    const next = tryNextRoute(
      messageIn("sending"),
      moved({ B: "gamma" }),
      "carrier_rejected",
      START_MS,
    );
    expect(currentRoute(next.message)).to.include({ connectorId: "gamma", price: 50_000n });
  });
});

describe("rerouting waiting messages", () => {
  const failing = availabilityFor({ A: "failing" });

  it("a message whose connector fails moves to its next route, with its budget and queue time", () => {
    const before = messageIn("waiting", { attempts: 3, notBeforeMs: START_MS + 9 });
    const { message, events } = reroute(before, failing);
    expect(currentRoute(message)?.routeId).to.equal("rte_B");
    expect(message).to.include({ phase: "waiting", attempts: 3, notBeforeMs: 0 });
    expect([message.dueAtMs, message.heldAmount]).to.deep.equal([
      before.dueAtMs,
      before.heldAmount,
    ]);
    expect(events).to.deep.equal([]);
  });

  it("the route it left is tried again when the other one refuses", () => {
    const diverted = reroute(messageIn("waiting"), failing).message;
    const back = tryNextRoute(diverted, ALL_AVAILABLE, "carrier_rejected", START_MS + 1).message;
    expect(currentRoute(back)?.routeId).to.equal("rte_A");
    const end = tryNextRoute(back, ALL_AVAILABLE, "carrier_rejected", START_MS + 2).message;
    expect(end.status).to.equal("failed");
  });

  for (const [what, availability] of [
    ["its own connector carries", { B: "failing" }],
    ["no other is well", { A: "failing", B: "failing" }],
    ["the other was removed", { A: "failing", B: "removed" }],
  ] as const) {
    it(`a waiting message stays when ${what}`, () => {
      const message = messageIn("waiting");
      expect(reroute(message, availabilityFor(availability)).message).to.equal(message);
    });
  }

  it("a waiting message stays when the other route has the same connector", () => {
    const [first] = messageIn("waiting").routes;
    const twins = [first, { ...first, routeId: "rte_B" }] as FrozenRoute[];
    const message = messageIn("waiting", { routes: twins });
    expect(reroute(message, availabilityFor({ A: "removed" })).message).to.equal(message);
  });

  for (const state of STATE_NAMES.filter((name) => name !== "waiting")) {
    it(`a message that is ${state} is not re-routed`, () => {
      const message = messageIn(state);
      expect(reroute(message, failing).message).to.equal(message);
    });
  }
});
