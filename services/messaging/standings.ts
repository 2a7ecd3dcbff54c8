import type { RouteTable } from "../shared/core/route-table.ts";
import type { RouteStanding, StandingOf } from "./domain/choose-route.ts";
import { TEST_ROUTE } from "./domain/draft.ts";
import type { Neighbours } from "./service/ports.ts";

/** How frozen routes stand by the present route table, and which connectors carry. */
export type Standings = {
  readonly routeOf: StandingOf;
  /** Connectors at which messages are claimed, as far as anybody knows; none before the first table. */
  carrying(): ReadonlySet<string>;
};

const NONE: ReadonlySet<string> = new Set();

type Known = {
  readonly table: RouteTable;
  /** By route, then by the connector at which its messages would wait. */
  readonly routes: ReadonlyMap<string, { connectorId: string; standing: RouteStanding }>;
  readonly carrying: ReadonlySet<string>;
};

/** Reads them from the route table that the neighbours keep; worked out once per table. */
export function createStandings(neighbours: Pick<Neighbours, "routeTable">): Standings {
  let known: Known | undefined;

  function read(): Known {
    const table = neighbours.routeTable();
    if (table !== known?.table) known = workOut(table);
    return known;
  }

  return {
    routeOf({ routeId, connectorId }) {
      if (routeId === TEST_ROUTE.routeId) return "well";
      const route = read().routes.get(routeId);
      // Another connector's queue: its messages would wait there for nobody, once theirs is gone.
      return route?.connectorId === connectorId ? route.standing : "gone";
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
  const routes: [string, { connectorId: string; standing: RouteStanding }][] = [];
  const carrying = new Set<string>();
  for (const { connector, rule, isUnhealthy } of table.routes) {
    if (connector === undefined) continue;
    if (!isUnhealthy) carrying.add(connector.id);
    if (!rule.enabled) continue;
    const standing = isUnhealthy ? "failing" : "well";
    routes.push([rule.id, { connectorId: connector.id, standing }]);
  }
  return { table, routes: new Map(routes), carrying };
}
