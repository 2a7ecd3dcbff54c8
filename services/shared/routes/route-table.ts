/**
 * The route table in the form in which messages are matched against it: compiled once per
 * version, so that choosing routes for a number costs one map look-up in the usual case.
 */

/** What a segment costs for numbers that begin with a prefix (digits without +). */
export type PriceRule = { readonly prefix: string; readonly price: bigint };

/** A route, as the routing service describes it; `sms.v1.Route` fits. */
export type RouteRule = {
  readonly id: string;
  readonly name: string;
  readonly connectorId: string;
  readonly enabled: boolean;
  /** Lower goes first. */
  readonly priority: number;
  /** Share among routes of the same priority. */
  readonly weight: number;
  /** Empty lists mean any. */
  readonly senderIds: readonly string[];
  readonly plans: readonly string[];
  readonly tenantIds: readonly string[];
  readonly prices: readonly PriceRule[];
  /**
   * Minutes of the day, UTC, at which messages are accepted for the route, by when they are to be sent;
   * both the same means always; may wrap midnight. What was accepted is sent also after closing time.
   */
  readonly enabledFromMinute: number;
  readonly enabledUntilMinute: number;
};

/** What a connector means for choosing routes. */
export type ConnectorRule = {
  readonly id: string;
  /** Paused and draining connectors claim nothing now; their routes are tried last. */
  readonly isActive: boolean;
  /** Carries messages of test mode only. */
  readonly isTest: boolean;
};

/** Everything a table is compiled from. */
export type RouteTableSource = {
  readonly version: bigint;
  readonly routes: readonly RouteRule[];
  readonly connectors: readonly ConnectorRule[];
  readonly unhealthyConnectorIds: readonly string[];
};

/** A route with its conditions ready to be tested; `undefined` sets mean any. */
export type CompiledRoute = {
  readonly rule: RouteRule;
  readonly senders: ReadonlySet<string> | undefined;
  readonly plans: ReadonlySet<string> | undefined;
  readonly tenants: ReadonlySet<string> | undefined;
  readonly connector: ConnectorRule | undefined;
  /** True when its connector fails or claims nothing now: it is tried after the healthy ones. */
  readonly isUnhealthy: boolean;
};

/** A route that has a price for a number: its longest matching prefix and that price. */
export type RouteMatch = {
  readonly route: CompiledRoute;
  readonly prefix: string;
  readonly price: bigint;
};

/** A compiled table; immutable but for its memory of recent matches. */
export type RouteTable = {
  readonly version: bigint;
  readonly routes: readonly CompiledRoute[];
  /** The routes that have a price for a number, by priority; digits without +. */
  match(digits: string): readonly RouteMatch[];
};

/** Openings of numbers whose matches are remembered; a full memory starts afresh. */
const MEMORY_MAX = 20_000;

/** Compiles a table. Later prices of the same prefix on one route replace earlier ones. */
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
      // Only the opening of a number can matter, so numbers share their answers.
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
    isUnhealthy: connector?.isActive !== true || unhealthy.has(rule.connectorId),
  };
}

function toSet(items: readonly string[]): ReadonlySet<string> | undefined {
  return items.length === 0 ? undefined : new Set(items);
}
