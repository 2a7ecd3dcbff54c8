import { expect } from "chai";
import {
  pickNextRoute,
  type RouteStanding,
  type StandingOf,
} from "../../../services/messaging/domain/choose-route.ts";
import { currentRoute, type FrozenRoute } from "../../../services/messaging/domain/message.ts";
import { divert, tryNextRoute } from "../../../services/messaging/domain/queue-transitions.ts";
import {
  ALL_WELL,
  messageIn,
  START_MS,
  STATE_NAMES,
  standing as standingOf,
} from "../../support/messages.ts";

const routes = ["a", "b", "c"].map(
  (name): FrozenRoute => ({
    routeId: `rte_${name}`,
    connectorId: name,
    price: 1n,
  }),
);

/** Standings by the last letter of a route. */
const standing = (standings: Readonly<Record<string, RouteStanding>>): StandingOf =>
  standingOf(({ routeId }) => standings[routeId.slice(-1)] ?? "well");

/** The same, but that some routes lead to other connectors by now. */
const moved =
  (to: Readonly<Record<string, string>>, stand = ALL_WELL): StandingOf =>
  (route) => ({
    ...stand(route),
    connectorId: to[route.routeId.slice(-1)] ?? route.connectorId,
  });

const order = (some: readonly FrozenRoute[] | undefined) =>
  some?.map(({ connectorId }) => connectorId).join("");

describe("the next route", () => {
  const cases: readonly (readonly [
    number,
    Readonly<Record<string, RouteStanding>>,
    string | undefined,
  ])[] = [
    [0, {}, "abc"],
    [1, {}, "abc"],
    [0, { a: "failing" }, "bac"],
    [0, { a: "failing", b: "failing" }, "cab"],
    [0, { a: "failing", b: "failing", c: "failing" }, "abc"],
    [0, { a: "gone", b: "failing" }, "cab"],
    [0, { a: "gone", b: "failing", c: "failing" }, "bac"],
    [0, { a: "gone", b: "gone", c: "gone" }, undefined],
    [0, { a: "closed", b: "failing", c: "closed" }, "bac"],
    [1, { b: "failing" }, "acb"],
    [1, { b: "gone", c: "gone" }, undefined],
    [3, {}, undefined],
  ];
  for (const [at, standings, expected] of cases) {
    it(`at ${at} with ${JSON.stringify(standings)} makes ${expected ?? "an end"}`, () => {
      expect(order(pickNextRoute(routes, at, standing(standings)))).to.equal(expected);
    });
  }
});

describe("a route that leads to another connector by now", () => {
  it("is tried over that one at its frozen price, and the others keep their place", () => {
    const next = pickNextRoute(routes, 0, moved({ a: "x" }, standing({ c: "gone" })));
    expect(next).to.deep.equal([{ ...routes[0], connectorId: "x" }, routes[1], routes[2]]);
    const second = pickNextRoute(routes, 1, moved({ c: "x" }, standing({ b: "failing" })));
    expect(second).to.deep.equal([routes[0], { ...routes[2], connectorId: "x" }, routes[1]]);
  });

  it("takes what waits at the connector before along", () => {
    const before = messageIn("waiting", { notBeforeMs: START_MS + 9 });
    const { message } = divert(before, moved({ A: "gamma" }));
    expect(currentRoute(message)).to.deep.equal({ ...before.routes[0], connectorId: "gamma" });
    expect(message.notBeforeMs).to.equal(0);
  });

  it("lets what waits go over the next one while the connector it leads to fails", () => {
    const stand = standing({ A: "failing" });
    const { message } = divert(messageIn("waiting"), moved({ A: "gamma" }, stand));
    expect(currentRoute(message)?.routeId).to.equal("rte_B");
    const both = standing({ A: "failing", B: "failing" });
    const stays = messageIn("waiting");
    expect(divert(stays, moved({ A: "gamma" }, both)).message).to.equal(stays);
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

describe("diverting what waits", () => {
  const failing = standing({ A: "failing" });

  it("a message whose connector fails goes to its next route, with its budget and queue time", () => {
    const before = messageIn("waiting", { attempts: 3, notBeforeMs: START_MS + 9 });
    const { message, events } = divert(before, failing);
    expect(currentRoute(message)?.routeId).to.equal("rte_B");
    expect(message).to.include({ phase: "waiting", attempts: 3, notBeforeMs: 0 });
    expect([message.dueAtMs, message.heldAmount]).to.deep.equal([
      before.dueAtMs,
      before.heldAmount,
    ]);
    expect(events).to.deep.equal([]);
  });

  it("the route it left is tried again when the other one refuses", () => {
    const diverted = divert(messageIn("waiting"), failing).message;
    const back = tryNextRoute(diverted, ALL_WELL, "carrier_rejected", START_MS + 1).message;
    expect(currentRoute(back)?.routeId).to.equal("rte_A");
    const end = tryNextRoute(back, ALL_WELL, "carrier_rejected", START_MS + 2).message;
    expect(end.status).to.equal("failed");
  });

  for (const [what, standings] of [
    ["its own connector carries", { B: "failing" }],
    ["no other is well", { A: "failing", B: "failing" }],
    ["the other is gone", { A: "failing", B: "gone" }],
  ] as const) {
    it(`it stays when ${what}`, () => {
      const message = messageIn("waiting");
      expect(divert(message, standing(standings)).message).to.equal(message);
    });
  }

  it("it stays when the other route leads to the same connector", () => {
    const [first] = messageIn("waiting").routes;
    const twins = [first, { ...first, routeId: "rte_B" }] as FrozenRoute[];
    const message = messageIn("waiting", { routes: twins });
    expect(divert(message, standing({ A: "gone" })).message).to.equal(message);
  });

  for (const state of STATE_NAMES.filter((name) => name !== "waiting")) {
    it(`what is ${state} stays as it is`, () => {
      const message = messageIn(state);
      expect(divert(message, failing).message).to.equal(message);
    });
  }
});
