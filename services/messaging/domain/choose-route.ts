/**
 * Which of a message's frozen routes is tried next. The order of acceptance stands among routes that
 * are well; one whose connector fails comes after them, and one that is gone is not tried.
 */
import type { FrozenRoute } from "./message.ts";

/**
 * How a frozen route stands now:
 * - `well`: its connector carries.
 * - `failing`: its connector fails, or claims nothing because it is paused or draining.
 * - `gone`: it was disabled or removed, or leads to another connector.
 */
export type RouteStanding = "well" | "failing" | "gone";

/** Tells how a frozen route stands now. */
export type StandingOf = (route: FrozenRoute) => RouteStanding;

/**
 * Puts the route to be tried at place `at`, where those before it have refused. The routes that it
 * overtakes stay behind it, in their order: they have not refused. Undefined when none can be tried.
 */
export function withNextRoute(
  routes: readonly FrozenRoute[],
  at: number,
  standingOf: StandingOf,
): readonly FrozenRoute[] | undefined {
  const left = routes.slice(at);
  const standings = left.map(standingOf);
  const first = standings.indexOf("well");
  const chosen = first < 0 ? standings.indexOf("failing") : first;
  const next = left[chosen];
  if (next === undefined) return undefined;
  return chosen === 0 ? routes : [...routes.slice(0, at), next, ...left.toSpliced(chosen, 1)];
}
