/**
 * Which of a message's frozen routes is tried next. The order of acceptance stands among routes that
 * are well; one whose connector fails comes after them, and one that is disabled or gone is not tried.
 */
import type { FrozenRoute } from "./message.ts";

/**
 * How a frozen route stands now:
 * - `well`: its connector carries.
 * - `failing`: its connector fails, or claims nothing because it is paused or draining.
 * - `closed`: it is disabled. It is not tried, and may be enabled again.
 * - `gone`: it was removed.
 */
export type RouteState = "available" | "failing" | "disabled" | "removed";

/** A frozen route as the present route table has it: the connector it leads to may be another one by now. */
export type AvailableRoute = { readonly state: RouteState; readonly connectorId: string };

/** Tells how a frozen route stands now, and where it leads. */
export type AvailabilityOf = (route: FrozenRoute) => AvailableRoute;

/**
 * Puts the route to be tried at place `at`, where those before it have refused, with the connector that it
 * leads to now and its frozen price. The routes that it overtakes stay behind it, in their order: they have
 * not refused. Undefined when none can be tried.
 */
export function pickNextRoute(
  routes: readonly FrozenRoute[],
  at: number,
  availabilityOf: AvailabilityOf,
): readonly FrozenRoute[] | undefined {
  const left = routes.slice(at);
  const present = left.map(availabilityOf);
  const states = present.map(({ state }) => state);
  const first = states.indexOf("available");
  const chosen = first < 0 ? states.indexOf("failing") : first;
  const frozen = left[chosen];
  const connectorId = present[chosen]?.connectorId;
  if (frozen === undefined || connectorId === undefined) return undefined;
  const isMoved = connectorId !== frozen.connectorId;
  if (chosen === 0 && !isMoved) return routes;
  const next = isMoved ? { ...frozen, connectorId } : frozen;
  return [...routes.slice(0, at), next, ...left.toSpliced(chosen, 1)];
}

/** Where messages wait whose routes are all disabled: nobody claims there, and no connector has this name. */
export const UNROUTED = "";

/**
 * Puts the first disabled route first, with no connector: what waits for it is moved to a route that can be
 * tried when there is one again. Undefined when none is disabled.
 */
export function parkOnDisabledRoute(
  routes: readonly FrozenRoute[],
  availabilityOf: AvailabilityOf,
): readonly FrozenRoute[] | undefined {
  const chosen = routes.findIndex((route) => availabilityOf(route).state === "disabled");
  const frozen = routes[chosen];
  if (frozen === undefined) return undefined;
  return [{ ...frozen, connectorId: UNROUTED }, ...routes.toSpliced(chosen, 1)];
}
