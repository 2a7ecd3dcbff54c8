/**
 * Selects the routes that can carry a message, in the order of attempts. Messaging decides with `selectRoutes`;
 * routing explains the same decision with `explainRoutes`.
 *
 * A route qualifies when it is enabled, open at the message's send time, allowed for the tenant, its plan, the
 * sender ID and the message's traffic class, has a connector for live traffic, and has a price for the number (its
 * longest matching prefix). Healthy routes come first, then lower priority values. Routes of the same priority are
 * shuffled by weight: over many messages each comes first in its share.
 */
import type { TrafficClass } from "../core/traffic-class.ts";
import type { CompiledRoute, RouteMatch, RouteTable } from "./route-table.ts";

/** The facts of a message that decide its routes. */
export type RouteQuery = {
  readonly tenantId: string;
  readonly plan: string;
  /** The sender ID; compared case-insensitively. */
  readonly senderName: string;
  readonly trafficClass: TrafficClass;
  /** The recipient's E.164 number without +. */
  readonly digits: string;
  /** When the message is to be sent: now, or its scheduled time. */
  readonly nowMs: number;
  /** From 0 to below 1, like `Math.random`. */
  readonly random: () => number;
};

/** A route that can carry the message; `price` is per segment. */
export type SelectedRoute = {
  readonly routeId: string;
  readonly connectorId: string;
  readonly price: bigint;
};

/** The routes that can carry a message, in order of attempts; empty when there is none. */
export function selectRoutes(table: RouteTable, query: RouteQuery): SelectedRoute[] {
  return selectMatches(table, query).map(({ route, price }) => ({
    routeId: route.rule.id,
    connectorId: route.rule.connectorId,
    price,
  }));
}

/** Whether a route can carry a message, and why. */
export type RouteExplanation = {
  readonly routeId: string;
  readonly serves: boolean;
  /** True for the route of the first attempt. */
  readonly chosen: boolean;
  /** A sentence for operators. */
  readonly why: string;
  /** The longest prefix of the number with a price on this route; empty when there is none. */
  readonly matchedPrefix: string;
  /** Per segment; 0 when no prefix matches. */
  readonly price: bigint;
};

/**
 * Explains every route of the table for one message; routes that can carry it come first, in their order.
 */
export function explainRoutes(table: RouteTable, query: RouteQuery): RouteExplanation[] {
  const matches = new Map(table.match(query.digits).map((match) => [match.route, match]));
  const ordered = selectMatches(table, query);
  const serving = ordered.map(({ route, prefix, price }, at) => ({
    routeId: route.rule.id,
    serves: true,
    chosen: at === 0,
    why: describeService(route, at),
    matchedPrefix: prefix,
    price,
  }));
  const served = new Set(ordered.map(({ route }) => route));
  const others = table.routes
    .filter((route) => !served.has(route))
    .map((route) => {
      const match = matches.get(route);
      return {
        routeId: route.rule.id,
        serves: false,
        chosen: false,
        why: findObstacle(route, query) ?? `No price covers +${query.digits}.`,
        matchedPrefix: match?.prefix ?? "",
        price: match?.price ?? 0n,
      };
    });
  return [...serving, ...others];
}

function selectMatches(table: RouteTable, query: RouteQuery): readonly RouteMatch[] {
  const matches = table
    .match(query.digits)
    .filter(({ route }) => findObstacle(route, query) === undefined);
  if (matches.length < 2) return matches;
  const keyed = matches.map((match) => ({ match, key: shareKey(match.route, query.random) }));
  keyed.sort(
    (a, b) =>
      Number(a.match.route.isUnhealthy) - Number(b.match.route.isUnhealthy) ||
      a.match.route.rule.priority - b.match.route.rule.priority ||
      a.key - b.key,
  );
  return keyed.map(({ match }) => match);
}

/**
 * Weighted shuffle: the smallest of independent exponential variates comes first with probability weight ÷ sum
 * of weights, and so on (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). Weights
 * of zero come last, in random order.
 */
function shareKey(route: CompiledRoute, random: () => number): number {
  const variate = -Math.log(1 - random());
  return route.rule.weight > 0 ? variate / route.rule.weight : 1e300 * (1 + variate);
}

/**
 * The first reason, other than price, why a route cannot carry the message; undefined when there is none.
 */
function findObstacle(route: CompiledRoute, query: RouteQuery): string | undefined {
  const { rule, connector } = route;
  if (!rule.enabled) return "The route is disabled.";
  if (connector === undefined) return `Its connector ${rule.connectorId} does not exist.`;
  if (connector.isTest) return "Its connector carries messages of test mode only.";
  if (!isOpenAt(rule.enabledFromMinute, rule.enabledUntilMinute, query.nowMs)) {
    return `Closed now: open from ${clock(rule.enabledFromMinute)} to ${clock(rule.enabledUntilMinute)} UTC.`;
  }
  if (route.tenants?.has(query.tenantId) === false) return "Reserved for other tenants.";
  if (route.plans?.has(query.plan) === false) return `Not in the price plan "${query.plan}".`;
  if (route.senders?.has(query.senderName.toLowerCase()) === false) {
    return `Not for the sender ID "${query.senderName}".`;
  }
  if (!carriesClass(route, query.trafficClass)) {
    return `Not for ${query.trafficClass} messages: it carries ${rule.trafficClasses.join(", ")}.`;
  }
  return undefined;
}

/** Whether a route may carry messages of a traffic class. */
export function carriesClass({ classes }: CompiledRoute, trafficClass: TrafficClass): boolean {
  return classes?.has(trafficClass) !== false;
}

function isOpenAt(fromMinute: number, untilMinute: number, nowMs: number): boolean {
  if (fromMinute === untilMinute) return true;
  const minute = Math.floor(nowMs / 60_000) % 1440;
  if (fromMinute < untilMinute) return minute >= fromMinute && minute < untilMinute;
  return minute >= fromMinute || minute < untilMinute;
}

function describeService(route: CompiledRoute, at: number): string {
  const place = at === 0 ? "Tried first" : `Tried in place ${at + 1}`;
  const health = route.isUnhealthy ? "; its connector fails or takes nothing now" : "";
  return `${place}: priority ${route.rule.priority}, weight ${route.rule.weight}${health}.`;
}

function clock(minute: number): string {
  const hours = String(Math.floor(minute / 60)).padStart(2, "0");
  return `${hours}:${String(minute % 60).padStart(2, "0")}`;
}
