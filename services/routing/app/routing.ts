import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import {
  type Connector,
  type ConnectorInput,
  changeConnector,
  checkRemoval,
  createConnector,
  needsNoSecrets,
  TEST_CONNECTOR_ID,
} from "../domain/connector.ts";
import { HIDDEN_HEADER_VALUE } from "../domain/http-settings.ts";
import { comparePrices, type PriceChange, parsePriceList } from "../domain/price-list.ts";
import {
  changeRoute,
  createRoute,
  type Route,
  type RouteInput,
  replacePrices,
} from "../domain/route.ts";
import { createFieldErrors } from "../domain/validation-errors.ts";
import type { RouteTableNotifier, RoutingChange, RoutingStore } from "./ports.ts";

/** The use cases on connectors, routes and prices. */
export type RoutingService = ReturnType<typeof createRoutingService>;

export function createRoutingService({
  store,
  clock,
  notifier,
}: {
  readonly store: RoutingStore;
  readonly clock: Clock;
  readonly notifier: RouteTableNotifier;
}) {
  async function change<T>(work: (change: RoutingChange) => Promise<T>): Promise<T> {
    const result = await store.change(work);
    notifier.notifyChanged();
    return result;
  }

  return {
    listConnectors: () => store.listConnectors(),
    listReadable: () => store.listReadable(),
    listRoutes: () => store.listRoutes(),

    /** Throws `validation_error`, `already_exists`. */
    createConnector(input: ConnectorInput): Promise<Connector> {
      const connector = createConnector(input, clock.now());
      return change(async (tx) => {
        if ((await tx.findConnector(connector.id, false)) !== undefined) {
          throw new AppError("already_exists", `The connector ${connector.id} exists already.`);
        }
        await tx.saveConnector(connector);
        return connector;
      });
    },

    /** Throws `validation_error`, `not_found`. */
    updateConnector(
      id: string,
      input: ConnectorInput,
      fields: readonly string[],
    ): Promise<Connector> {
      return change(async (tx) => {
        const needsSecrets = !replacesSecrets(input, fields) && !needsNoSecrets(fields);
        const connector = found(await tx.findConnector(id, needsSecrets), `connector ${id}`);
        const next = changeConnector(connector, input, fields, clock.now());
        await tx.saveConnector(next);
        return next;
      });
    },

    /** Throws `not_found`, `invalid_state_transition` while a route names it. */
    removeConnector(id: string): Promise<void> {
      return change(async (tx) => {
        found(await tx.findConnector(id, false), `connector ${id}`);
        checkRemoval(id, await tx.listRouteNames(id));
        await tx.removeConnector(id);
      });
    },

    /** Throws `validation_error` (also for an unknown connector), `already_exists`. */
    createRoute(input: RouteInput, actor: string): Promise<Route> {
      const route = createRoute(newId("route"), input, clock.now());
      return change(async (tx) => {
        await requireConnector(tx, route.connectorId);
        await save(tx, route);
        await tx.savePriceVersion(route, actor);
        return route;
      });
    },

    /** Throws `validation_error`, `not_found`, `already_exists`. */
    updateRoute(
      idOrName: string,
      input: RouteInput,
      fields: readonly string[],
      actor: string,
    ): Promise<Route> {
      return change(async (tx) => {
        const route = found(await tx.findRoute(idOrName), `route ${idOrName}`);
        const next = changeRoute(route, input, fields, clock.now());
        if (fields.includes("connector_id")) await requireConnector(tx, next.connectorId);
        await save(tx, next);
        if (next.pricesVersion !== route.pricesVersion) await tx.savePriceVersion(next, actor);
        return next;
      });
    },

    /** Returns the removed route; keeps the versions of its prices. Throws `not_found`. */
    removeRoute(idOrName: string): Promise<Route> {
      return change(async (tx) => {
        const route = found(await tx.findRoute(idOrName), `route ${idOrName}`);
        await tx.removeRoute(route.id);
        return route;
      });
    },

    /**
     * Replaces a route's prices by a CSV list. A dry run only returns the changes. Throws
     * `validation_error` with every invalid line, `not_found`.
     */
    async importPrices(
      idOrName: string,
      csv: string,
      isDryRun: boolean,
      actor: string,
    ): Promise<{ changes: PriceChange[]; version: number; applied: boolean }> {
      const prices = parsePriceList(csv);
      if (isDryRun) {
        const route = found(await store.findRoute(idOrName), `route ${idOrName}`);
        const changes = comparePrices(route.prices, prices);
        return { changes, version: route.pricesVersion, applied: false };
      }
      return change(async (tx) => {
        const route = found(await tx.findRoute(idOrName), `route ${idOrName}`);
        const changes = comparePrices(route.prices, prices);
        const next = replacePrices(route, prices, clock.now());
        await save(tx, next);
        await tx.savePriceVersion(next, actor);
        return { changes, version: next.pricesVersion, applied: true };
      });
    },

    readVersion: () => store.readVersion(),
  };
}

/** Whether a change replaces all secrets: the password, or the receipt secret and all headers. */
function replacesSecrets({ smpp, http }: ConnectorInput, fields: readonly string[]): boolean {
  if (smpp?.password && fields.some((field) => field === "smpp" || field === "smpp.password")) {
    return true;
  }
  if (!http?.receiptSecret || !fields.includes("http.receipt_secret")) return false;
  const headers = Object.values(http.headers ?? {});
  return fields.includes("http.headers") && !headers.includes(HIDDEN_HEADER_VALUE);
}

function found<T>(thing: T | undefined, what: string): T {
  if (thing === undefined) throw new AppError("not_found", `There is no ${what}.`);
  return thing;
}

/** Most prices of all routes. One answer has the whole table: up to 20 bytes a price, at most 16 MiB together. */
const PRICES_MAX = 500_000;

async function save(tx: RoutingChange, route: Route): Promise<void> {
  if ((await tx.countOtherPrices(route.id)) + route.prices.length > PRICES_MAX) {
    const errors = createFieldErrors();
    errors.add("route.prices", "too_many", `all routes together have at most ${PRICES_MAX} prices`);
    errors.throwIfAny();
  }
  await tx.saveRoute(route);
}

async function requireConnector(tx: RoutingChange, connectorId: string): Promise<void> {
  const errors = createFieldErrors();
  if (connectorId === TEST_CONNECTOR_ID) {
    const rule = "the test connector carries messages of test mode only, without a route";
    errors.add("route.connector_id", "invalid_value", rule);
  } else if ((await tx.findConnector(connectorId, false)) === undefined) {
    errors.add("route.connector_id", "invalid_value", `there is no connector ${connectorId}`);
  }
  errors.throwIfAny();
}
