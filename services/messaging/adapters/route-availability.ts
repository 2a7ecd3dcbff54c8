import type { RouteTable } from "../../shared/routes/route-table.ts";
import type { ServiceClients } from "../app/ports.ts";
import { TEST_ROUTE } from "../domain/build-messages.ts";
import type { AvailableRoute, RouteStanding, StandingOf } from "../domain/choose-route.ts";

/** How frozen routes stand by the present route table, and which connectors carry. */
export type RouteAvailability = {
  readonly routeOf: StandingOf;
  /** Connectors at which messages are claimed, as far as anybody knows; none before the first table. */
  carrying(): ReadonlySet<string>;
};

const NONE: ReadonlySet<string> = new Set();

type Known = {
  readonly table: RouteTable;
  /** By their ids. */
  readonly routes: ReadonlyMap<string, AvailableRoute>;
  readonly carrying: ReadonlySet<string>;
};

/** Reads them from the route table that the neighbours keep; worked out once per table. */
export function createStandings(neighbours: Pick<ServiceClients, "routeTable">): RouteAvailability {
  let known: Known | undefined;

  function read(): Known {
    const table = neighbours.routeTable();
    if (table !== known?.table) known = workOut(table);
    return known;
  }

  return {
    routeOf({ routeId, connectorId }) {
      if (routeId === TEST_ROUTE.routeId) return { standing: "well", connectorId };
      return read().routes.get(routeId) ?? { standing: "gone", connectorId };
    },
    carrying() {
      try {
        return read().carrying;
      } catch {
        return NONE;
      }
    },
  };
}

function workOut(table: RouteTable): Known {
  const routes: [string, AvailableRoute][] = [];
  const carrying = new Set<string>();
  for (const { connector, rule, isUnhealthy } of table.routes) {
    if (connector === undefined) continue;
    if (!isUnhealthy) carrying.add(connector.id);
    routes.push([rule.id, { connectorId: connector.id, standing: standingOf(rule, isUnhealthy) }]);
  }
  return { table, routes: new Map(routes), carrying };
}

function standingOf(
  { enabled }: { readonly enabled: boolean },
  isUnhealthy: boolean,
): RouteStanding {
  if (!enabled) return "closed";
  return isUnhealthy ? "failing" : "well";
}
