import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import {
  type Connector,
  type ConnectorInput,
  changeConnector,
  checkRemoval,
  createConnector,
  leavesSettings,
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
import { createFaults } from "../domain/validation-errors.ts";

/** What is written down about a change: who, what, which; never a secret. */
export type AuditEntry = {
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly details: string;
};

/** One change in the making: reads and writes inside one transaction. */
export type RoutingChange = {
  /** Secrets that are needed and cannot be opened fail it; others are left out then. */
  findConnector(id: string, needsSecrets: boolean): Promise<Connector | undefined>;
  /** The settings of one that could not be read stay as they are. */
  saveConnector(connector: Connector): Promise<void>;
  removeConnector(id: string): Promise<void>;
  findRoute(idOrName: string): Promise<Route | undefined>;
  listRouteNames(connectorId: string): Promise<string[]>;
  /** How many prices the other routes have together. */
  countPricesBeside(routeId: string): Promise<number>;
  /** Throws `already_exists` when another route has the name. */
  saveRoute(route: Route): Promise<void>;
  removeRoute(id: string): Promise<void>;
  savePriceVersion(route: Route, actor: string): Promise<void>;
};

/** Where routing keeps its truth. */
export type RoutingStore = {
  /** With their secrets; one that cannot be opened, its key being gone, fails the whole. */
  listConnectors(): Promise<Connector[]>;
  /** The same; secrets that cannot be opened are left out, and their connectors marked. */
  listReadable(): Promise<Connector[]>;
  listRoutes(): Promise<Route[]>;
  findRoute(idOrName: string): Promise<Route | undefined>;
  /** The table's version; rises with every change. */
  readVersion(): Promise<bigint>;
  /**
   * Runs a change and raises the version in the same transaction, so changes happen one after
   * another: what a change read is still so when it is saved. May run `work` more than once.
   */
  change<T>(audit: AuditEntry, work: (change: RoutingChange) => Promise<T>): Promise<T>;
};

/** What the service needs. */
export type RoutingPorts = {
  readonly store: RoutingStore;
  readonly clock: Clock;
  /** Tells caches that the table changed. */
  readonly announce: () => void;
};

/** The use cases on connectors, routes and prices. */
export type RoutingService = ReturnType<typeof createRoutingService>;

/** Makes the service on its ports. */
export function createRoutingService({ store, clock, announce }: RoutingPorts) {
  async function change<T>(
    audit: AuditEntry,
    work: (change: RoutingChange) => Promise<T>,
  ): Promise<T> {
    const result = await store.change(audit, work);
    announce();
    return result;
  }

  return {
    listConnectors: () => store.listConnectors(),
    listReadable: () => store.listReadable(),
    listRoutes: () => store.listRoutes(),

    /** Throws `validation_error`, `already_exists`. */
    createConnector(input: ConnectorInput, actor: string): Promise<Connector> {
      const connector = createConnector(input, clock.now());
      const audit = entry(actor, "connector.create", connector.id, connector.type);
      return change(audit, async (tx) => {
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
      actor: string,
    ): Promise<Connector> {
      const audit = entry(actor, "connector.update", id, fields.join(","));
      return change(audit, async (tx) => {
        const needsSecrets = !replacesSecrets(input, fields) && !leavesSettings(fields);
        const connector = found(await tx.findConnector(id, needsSecrets), `connector ${id}`);
        const next = changeConnector(connector, input, fields, clock.now());
        await tx.saveConnector(next);
        return next;
      });
    },

    /** Throws `not_found`, `invalid_state_transition` while a route names it. */
    removeConnector(id: string, actor: string): Promise<void> {
      return change(entry(actor, "connector.remove", id, ""), async (tx) => {
        found(await tx.findConnector(id, false), `connector ${id}`);
        checkRemoval(id, await tx.listRouteNames(id));
        await tx.removeConnector(id);
      });
    },

    /** Throws `validation_error` (an unknown connector too), `already_exists`. */
    createRoute(input: RouteInput, actor: string): Promise<Route> {
      const route = createRoute(newId("route"), input, clock.now());
      return change(entry(actor, "route.create", route.id, route.name), async (tx) => {
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
      return change(entry(actor, "route.update", idOrName, fields.join(",")), async (tx) => {
        const route = found(await tx.findRoute(idOrName), `route ${idOrName}`);
        const next = changeRoute(route, input, fields, clock.now());
        if (fields.includes("connector_id")) await requireConnector(tx, next.connectorId);
        await save(tx, next);
        if (next.pricesVersion !== route.pricesVersion) await tx.savePriceVersion(next, actor);
        return next;
      });
    },

    /** Answers the route as it was; the versions of its prices stay. Throws `not_found`. */
    removeRoute(idOrName: string, actor: string): Promise<Route> {
      return change(entry(actor, "route.remove", idOrName, ""), async (tx) => {
        const route = found(await tx.findRoute(idOrName), `route ${idOrName}`);
        await tx.removeRoute(route.id);
        return route;
      });
    },

    /**
     * Replaces a route's prices by a CSV list, or only says what would change. Throws
     * `validation_error` with every faulty line, `not_found`.
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
      const audit = entry(actor, "route.import_prices", idOrName, `${prices.length} prices`);
      return change(audit, async (tx) => {
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

/** Whether nothing is kept of a connector's secrets: its password, or its receipt secret and all its headers. */
function replacesSecrets({ smpp, http }: ConnectorInput, fields: readonly string[]): boolean {
  if (smpp?.password && fields.some((field) => field === "smpp" || field === "smpp.password")) {
    return true;
  }
  if (!http?.receiptSecret || !fields.includes("http.receipt_secret")) return false;
  const headers = Object.values(http.headers ?? {});
  return fields.includes("http.headers") && !headers.includes(HIDDEN_HEADER_VALUE);
}

function entry(actor: string, action: string, subject: string, details: string): AuditEntry {
  return { actor, action, subject, details };
}

function found<T>(thing: T | undefined, what: string): T {
  if (thing === undefined) throw new AppError("not_found", `There is no ${what}.`);
  return thing;
}

/** The whole table goes out in one answer, of which one price takes up to 20 octets and 16 MiB are the limit. */
const PRICES_MAX = 500_000;

async function save(tx: RoutingChange, route: Route): Promise<void> {
  if ((await tx.countPricesBeside(route.id)) + route.prices.length > PRICES_MAX) {
    const faults = createFaults();
    faults.add("route.prices", "too_many", `all routes together have at most ${PRICES_MAX} prices`);
    faults.throwIfAny();
  }
  await tx.saveRoute(route);
}

async function requireConnector(tx: RoutingChange, connectorId: string): Promise<void> {
  const faults = createFaults();
  if (connectorId === TEST_CONNECTOR_ID) {
    const rule = "the test connector carries messages of test mode only, without a route";
    faults.add("route.connector_id", "invalid_value", rule);
  } else if ((await tx.findConnector(connectorId, false)) === undefined) {
    faults.add("route.connector_id", "invalid_value", `there is no connector ${connectorId}`);
  }
  faults.throwIfAny();
}
