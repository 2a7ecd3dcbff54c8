import { compileRouteTable, type RouteTable } from "../../shared/routes/route-table.ts";
import type { Connector } from "../domain/connector.ts";
import type { Route } from "../domain/route.ts";
import type { RoutingStore } from "./routing.ts";

/** Everything routes are chosen from, at one version. */
export type TableSnapshot = {
  readonly version: bigint;
  readonly routes: readonly Route[];
  readonly connectors: readonly Connector[];
  /** The table ready for matching, with these connectors tried last. */
  compile(unhealthyConnectorIds: readonly string[]): RouteTable;
};

/** Reads the newest table; what is large is read from the store once per version. */
export type TableReader = { read(): Promise<TableSnapshot> };

/** Makes a reader over the store. */
export function createTableReader(store: RoutingStore): TableReader {
  let newest: TableSnapshot | undefined;

  return {
    async read() {
      const version = await store.readVersion();
      if (newest?.version === version) return newest;
      // The version is read first: a change in between makes this snapshot newer than its number,
      // so the next reader reads again. It can never be older than its number.
      // A secret's key that is gone must stop carriers at most, not sending.
      const [routes, connectors] = await Promise.all([store.listRoutes(), store.listReadable()]);
      const snapshot: TableSnapshot = {
        version,
        routes,
        connectors,
        compile: (unhealthyConnectorIds) =>
          compileRouteTable({
            version,
            routes,
            connectors: connectors.map(({ id, type, state }) => ({
              id,
              isActive: state === "active",
              isTest: type === "test",
            })),
            unhealthyConnectorIds,
          }),
      };
      if (newest === undefined || newest.version < version) newest = snapshot;
      return snapshot;
    },
  };
}
