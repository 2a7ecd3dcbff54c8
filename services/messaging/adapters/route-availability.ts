import type { RouteTable } from "../../shared/routes/route-table.ts";
import type { ServiceClients } from "../app/ports.ts";
import { TEST_ROUTE } from "../domain/build-messages.ts";
import type { AvailabilityOf, AvailableRoute, RouteState } from "../domain/choose-route.ts";

/** The states of frozen routes and the usable connectors, by the current route table. */
export type RouteAvailability = {
  readonly availabilityOf: AvailabilityOf;
  /** Connectors that claim messages as far as routing knows; none before the first table. */
  usableConnectors(): ReadonlySet<string>;
};

const NONE: ReadonlySet<string> = new Set();

type Known = {
  readonly table: RouteTable;
  /** By their ids. */
  readonly routes: ReadonlyMap<string, AvailableRoute>;
  readonly usableConnectors: ReadonlySet<string>;
};

/** Derives both once per route table. */
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
    availabilityOf({ routeId, connectorId }) {
      if (routeId === TEST_ROUTE.routeId) return { state: "available", connectorId };
      return read().routes.get(routeId) ?? { state: "removed", connectorId };
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
  const routes: [string, AvailableRoute][] = [];
  const usableConnectors = new Set<string>();
  for (const { connector, rule, isUnhealthy } of table.routes) {
    if (connector === undefined) continue;
    if (!isUnhealthy) usableConnectors.add(connector.id);
    routes.push([rule.id, { connectorId: connector.id, state: stateOf(rule, isUnhealthy) }]);
  }
  return { table, routes: new Map(routes), usableConnectors };
}

function stateOf({ enabled }: { readonly enabled: boolean }, isUnhealthy: boolean): RouteState {
  if (!enabled) return "disabled";
  return isUnhealthy ? "failing" : "available";
}
