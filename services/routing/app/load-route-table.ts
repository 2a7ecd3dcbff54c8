import type { QuietRule } from "../../shared/core/quiet-hours.ts";
import { compileRouteTable, type RouteTable } from "../../shared/routes/route-table.ts";
import type { Connector } from "../domain/connector.ts";
import type { Route } from "../domain/route.ts";
import type { RoutingStore } from "./ports.ts";

/** The routes and connectors of one version of the table. */
export type TableSnapshot = {
  readonly version: bigint;
  readonly routes: readonly Route[];
  readonly connectors: readonly Connector[];
  /** The quiet hours in force. */
  readonly quietRules: readonly QuietRule[];
  /** Compiles the table for matching; the routes of these connectors are tried last. */
  compile(unhealthyConnectorIds: readonly string[]): RouteTable;
};

/** Reads the current table. Reads routes and connectors from the store once per version. */
export type TableReader = { read(): Promise<TableSnapshot> };

export function createTableReader(
  store: Pick<RoutingStore, "readVersion" | "listRoutes" | "listReadable">,
  quietHours: { list(): Promise<readonly QuietRule[]> },
): TableReader {
  let newest: TableSnapshot | undefined;

  return {
    async read() {
      const version = await store.readVersion();
      if (newest?.version === version) return newest;
      // Read the version first. A change between the reads makes the snapshot newer than its
      // version, and the next call reads again. The snapshot is never older than its version.
      // `listReadable`: a missing encryption key may stop a carrier, but not the route table.
      const [routes, connectors, quietRules] = await Promise.all([
        ...([store.listRoutes(), store.listReadable(), quietHours.list()] as const),
      ]);
      const snapshot: TableSnapshot = {
        version,
        routes,
        connectors,
        quietRules,
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
