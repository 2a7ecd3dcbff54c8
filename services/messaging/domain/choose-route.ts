/**
 * Chooses the next of a message's frozen routes. Available routes keep the order of acceptance, failing routes come
 * after them, and disabled or removed routes are not tried.
 */
import type { FrozenRoute } from "./message.ts";

/**
 * The state of a frozen route now:
 * - `available`: its connector carries messages.
 * - `failing`: its connector fails, or claims nothing because it is paused or draining.
 * - `disabled`: it is not tried, and may be enabled again.
 * - `removed`: it does not exist any more.
 */
export type RouteState = "available" | "failing" | "disabled" | "removed";

/** The state of a frozen route in the current route table, and its connector, which may have changed. */
export type AvailableRoute = { readonly state: RouteState; readonly connectorId: string };

/** Looks up the state of a frozen route in the current route table. */
export type AvailabilityOf = (route: FrozenRoute) => AvailableRoute;

/**
 * Moves the next route to position `at`, with its current connector and its frozen price. The routes before `at`
 * have refused; routes that it overtakes have not, and follow in their order. Undefined if no route can be tried.
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

/** The connector id of messages whose routes are all disabled. No connector has it, so no carrier claims them. */
export const UNROUTED = "";

/**
 * Puts the first disabled route first, without a connector. Rerouting moves the message once a route can be tried
 * again. Undefined if no route is disabled.
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
