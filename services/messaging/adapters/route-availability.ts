import type { TrafficClass } from "../../shared/core/traffic-class.ts";
import type { CompiledRoute, RouteTable } from "../../shared/routes/route-table.ts";
import { carriesClass } from "../../shared/routes/select-routes.ts";
import type { ServiceClients } from "../app/ports.ts";
import { TEST_ROUTE } from "../domain/build-messages.ts";
import type { AvailabilityOf, AvailableRoute, RouteState } from "../domain/choose-route.ts";

/** The states of frozen routes and the usable connectors, by the current route table. */
export type RouteAvailability = {
  readonly availabilityOf: AvailabilityOf;
  /** False when the current table has the route and it does not carry the class. True for a removed route. */
  carries(routeId: string, trafficClass: TrafficClass): boolean;
  /** Connectors that claim messages as far as routing knows; none before the first table. */
  usableConnectors(): ReadonlySet<string>;
};

const NONE: ReadonlySet<string> = new Set();

/** A route of the table, for messages of a class that it carries, and of others. */
type KnownRoute = {
  readonly route: CompiledRoute;
  readonly open: AvailableRoute;
  readonly closed: AvailableRoute;
};

type Known = {
  readonly table: RouteTable;
  /** The routes by id. */
  readonly routes: ReadonlyMap<string, KnownRoute>;
  readonly usableConnectors: ReadonlySet<string>;
};

/** Derives the states of routes and the usable connectors once per route table. */
export function createRouteAvailability(
  services: Pick<ServiceClients, "routeTable">,
): RouteAvailability {
  let known: Known | undefined;

  function read(): Known {
    const table = services.routeTable();
    if (table !== known?.table) known = derive(table);
    return known;
  }

  return {
    availabilityOf({ routeId, connectorId }, trafficClass) {
      if (routeId === TEST_ROUTE.routeId) return { state: "available", connectorId };
      const known = read().routes.get(routeId);
      if (known === undefined) return { state: "removed", connectorId };
      return carriesClass(known.route, trafficClass) ? known.open : known.closed;
    },
    carries(routeId, trafficClass) {
      const known = read().routes.get(routeId);
      return known === undefined || carriesClass(known.route, trafficClass);
    },
    usableConnectors() {
      try {
        return read().usableConnectors;
      } catch {
        return NONE;
      }
    },
  };
}

function derive(table: RouteTable): Known {
  const routes = new Map<string, KnownRoute>();
  const usableConnectors = new Set<string>();
  for (const route of table.routes) {
    const { connector, rule, isUnhealthy } = route;
    if (connector === undefined) continue;
    if (!isUnhealthy) usableConnectors.add(connector.id);
    const open = { connectorId: connector.id, state: stateOf(rule, isUnhealthy) };
    routes.set(rule.id, { route, open, closed: { ...open, state: "disabled" } });
  }
  return { table, routes, usableConnectors };
}

function stateOf({ enabled }: { readonly enabled: boolean }, isUnhealthy: boolean): RouteState {
  if (!enabled) return "disabled";
  return isUnhealthy ? "failing" : "available";
}
