/**
 * Chooses the next of a message's frozen routes. Available routes keep the order of acceptance, failing routes come
 * after them, and disabled or removed routes are not tried.
 */
import type { TrafficClass } from "../../shared/core/traffic-class.ts";
import type { FrozenRoute, Message } from "./message.ts";

/**
 * The state of a frozen route now:
 * - `available`: its connector carries messages.
 * - `failing`: its connector fails, or claims nothing because it is paused or draining.
 * - `disabled`: it is not tried, and may be enabled again, or carry the class of the message again.
 * - `removed`: it does not exist any more.
 */
export type RouteState = "available" | "failing" | "disabled" | "removed";

/** The state of a frozen route in the current route table, and its connector, which may have changed. */
export type AvailableRoute = { readonly state: RouteState; readonly connectorId: string };

/**
 * Looks up the state of a frozen route in the current route table, for messages of a class: a route that does not
 * carry the class is disabled for them.
 */
export type AvailabilityOf = (route: FrozenRoute, trafficClass: TrafficClass) => AvailableRoute;

/** The part of a message that decides its next route. */
type Routed = Pick<Message, "routes" | "trafficClass">;

/**
 * Moves the next route to position `at`, with its current connector and its frozen price. The routes before `at`
 * have refused; routes that it overtakes have not, and follow in their order. Undefined if no route can be tried.
 */
export function pickNextRoute(
  { routes, trafficClass }: Routed,
  at: number,
  availabilityOf: AvailabilityOf,
): readonly FrozenRoute[] | undefined {
  const left = routes.slice(at);
  const present = left.map((route) => availabilityOf(route, trafficClass));
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
 * Puts the first disabled route that is left to position `at`, without a connector. Rerouting moves the message once a
 * route can be tried again. Undefined if no route is disabled.
 */
export function parkOnDisabledRoute(
  { routes, trafficClass }: Routed,
  at: number,
  availabilityOf: AvailabilityOf,
): readonly FrozenRoute[] | undefined {
  const left = routes.slice(at);
  const isDisabled = (route: FrozenRoute) =>
    availabilityOf(route, trafficClass).state === "disabled";
  const chosen = left.findIndex(isDisabled);
  const frozen = left[chosen];
  if (frozen === undefined) return undefined;
  const parked = { ...frozen, connectorId: UNROUTED };
  return [...routes.slice(0, at), parked, ...left.toSpliced(chosen, 1)];
}
