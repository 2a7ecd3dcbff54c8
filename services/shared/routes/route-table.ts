/**
 * The route table, compiled once per version: selecting routes for a number then costs one map lookup in most
 * cases. The price of a segment is the route's price for the longest prefix of the number.
 */

/** The price of a segment for numbers with a prefix (digits without +). */
export type PriceRule = { readonly prefix: string; readonly price: bigint };

/** A route of the routing service. */
export type RouteRule = {
  readonly id: string;
  readonly name: string;
  readonly connectorId: string;
  readonly enabled: boolean;
  /** Lower values first. */
  readonly priority: number;
  /** Share among routes of the same priority. */
  readonly weight: number;
  /** Empty lists match any value. */
  readonly senderIds: readonly string[];
  readonly plans: readonly string[];
  readonly tenantIds: readonly string[];
  /** Traffic classes; a name that this release does not know matches no message. */
  readonly trafficClasses: readonly string[];
  readonly prices: readonly PriceRule[];
  /**
   * The minutes of the day, UTC, at which the route accepts messages, compared with the message's send time.
   * Equal values mean always; the range may wrap midnight. Messages accepted earlier are sent after closing
   * time too.
   */
  readonly enabledFromMinute: number;
  readonly enabledUntilMinute: number;
};

/** The part of a connector that matters to route selection. */
export type ConnectorRule = {
  readonly id: string;
  /** Paused and draining connectors claim no messages now; their routes come last. */
  readonly isActive: boolean;
  /** Carries messages of test mode only. */
  readonly isTest: boolean;
};

/** The input of a compiled table. */
export type RouteTableSource = {
  readonly version: bigint;
  readonly routes: readonly RouteRule[];
  readonly connectors: readonly ConnectorRule[];
  readonly unhealthyConnectorIds: readonly string[];
};

/** A route with its conditions prepared; `undefined` sets match any value. */
export type CompiledRoute = {
  readonly rule: RouteRule;
  readonly senders: ReadonlySet<string> | undefined;
  readonly plans: ReadonlySet<string> | undefined;
  readonly tenants: ReadonlySet<string> | undefined;
  readonly classes: ReadonlySet<string> | undefined;
  readonly connector: ConnectorRule | undefined;
  /** True when its connector fails or claims nothing now: it comes after the healthy routes. */
  readonly isUnhealthy: boolean;
};

/** A route with a price for a number, and the price of the longest matching prefix. */
export type RouteMatch = {
  readonly route: CompiledRoute;
  readonly prefix: string;
  readonly price: bigint;
};

/** A compiled table; immutable except for its cache of recent matches. */
export type RouteTable = {
  readonly version: bigint;
  readonly routes: readonly CompiledRoute[];
  /** The routes with a price for a number, by priority; digits without +. */
  match(digits: string): readonly RouteMatch[];
};

/** Number prefixes in the cache of matches; a full cache is cleared. */
const MEMORY_MAX = 20_000;

/** Compiles a table. On one route, a later price of the same prefix replaces an earlier one. */
export function compileRouteTable(source: RouteTableSource): RouteTable {
  const connectors = new Map(source.connectors.map((connector) => [connector.id, connector]));
  const unhealthy = new Set(source.unhealthyConnectorIds);
  const routes = source.routes
    .map((rule) => compileRoute(rule, connectors.get(rule.connectorId), unhealthy))
    .sort((a, b) => a.rule.priority - b.rule.priority || (a.rule.id < b.rule.id ? -1 : 1));
  const byPrefix = new Map<string, Map<CompiledRoute, bigint>>();
  let prefixLengthMax = 0;
  for (const route of routes) {
    for (const { prefix, price } of route.rule.prices) {
      let priced = byPrefix.get(prefix);
      if (priced === undefined) {
        priced = new Map();
        byPrefix.set(prefix, priced);
      }
      priced.set(route, price);
      prefixLengthMax = Math.max(prefixLengthMax, prefix.length);
    }
  }

  function findMatches(opening: string): RouteMatch[] {
    const found = new Map<CompiledRoute, RouteMatch>();
    for (let length = opening.length; length >= 0; length -= 1) {
      const prefix = opening.slice(0, length);
      for (const [route, price] of byPrefix.get(prefix) ?? []) {
        if (!found.has(route)) found.set(route, { route, prefix, price });
      }
    }
    return routes.flatMap((route) => found.get(route) ?? []);
  }

  const memory = new Map<string, readonly RouteMatch[]>();
  return {
    version: source.version,
    routes,
    match(digits) {
      // Only a prefix of the number can matter, so numbers share cached matches.
      const opening = digits.slice(0, prefixLengthMax);
      let matches = memory.get(opening);
      if (matches === undefined) {
        if (memory.size >= MEMORY_MAX) memory.clear();
        matches = findMatches(opening);
        memory.set(opening, matches);
      }
      return matches;
    },
  };
}

function compileRoute(
  rule: RouteRule,
  connector: ConnectorRule | undefined,
  unhealthy: ReadonlySet<string>,
): CompiledRoute {
  return {
    rule,
    connector,
    senders: toSet(rule.senderIds.map((name) => name.toLowerCase())),
    plans: toSet(rule.plans),
    tenants: toSet(rule.tenantIds),
    classes: toSet(rule.trafficClasses),
    isUnhealthy: connector?.isActive !== true || unhealthy.has(rule.connectorId),
  };
}

function toSet(items: readonly string[]): ReadonlySet<string> | undefined {
  return items.length === 0 ? undefined : new Set(items);
}
