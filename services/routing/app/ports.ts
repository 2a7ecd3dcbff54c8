/** The ports of the routing use cases. */

import type { Connector } from "../domain/connector.ts";
import type { DeliveryHealth } from "../domain/delivery-health.ts";
import type { BindHealth, ConnectorHealth } from "../domain/health.ts";
import type { StoredQuietRule } from "../domain/quiet-hours.ts";
import type { Route } from "../domain/route.ts";

/** Reads and writes of one change, inside one transaction. */
export type RoutingChange = {
  /** With `needsSecrets`, unreadable secrets are an error; without it they are left out. */
  findConnector(id: string, needsSecrets: boolean): Promise<Connector | undefined>;
  /** Keeps the stored settings of a connector whose secrets are unreadable. */
  saveConnector(connector: Connector): Promise<void>;
  removeConnector(id: string): Promise<void>;
  findRoute(idOrName: string): Promise<Route | undefined>;
  listRouteNames(connectorId: string): Promise<string[]>;
  /** The number of prices of all other routes together. */
  countOtherPrices(routeId: string): Promise<number>;
  /** Throws `already_exists` when another route has the name. */
  saveRoute(route: Route): Promise<void>;
  removeRoute(id: string): Promise<void>;
  savePriceVersion(route: Route, actor: string): Promise<void>;
  listQuietRules(): Promise<StoredQuietRule[]>;
  /** Replaces the rule of the same country and class. */
  saveQuietRule(rule: StoredQuietRule): Promise<void>;
};

/** The storage of connectors, routes and prices. */
export type RoutingStore = {
  /** Connectors with their secrets. Throws when the encryption key of one of them is missing. */
  listConnectors(): Promise<Connector[]>;
  /** Connectors with their secrets. Leaves out unreadable secrets and marks their connectors. */
  listReadable(): Promise<Connector[]>;
  listRoutes(): Promise<Route[]>;
  findRoute(idOrName: string): Promise<Route | undefined>;
  /** Quiet hours that operators have set or removed. */
  listQuietRules(): Promise<StoredQuietRule[]>;
  /** The version of the route table; increases with every change. */
  readVersion(): Promise<bigint>;
  /**
   * Runs a change, increases the version and writes the audit entries in the same transaction. Changes are therefore
   * serialised: the documents that `work` read are still current when it saves. `work` may run more
   * than once.
   */
  change<T>(work: (change: RoutingChange) => Promise<T>): Promise<T>;
};

/** A connector's health before and after an evaluation. */
export type HealthChange = { readonly before: ConnectorHealth; readonly after: ConnectorHealth };

/** The storage of reports and health, shared by all replicas of this service. */
export type HealthStore = {
  /** Keeps the latest report of each bind. A bind's report expires after a minute. */
  saveReports(reports: readonly BindHealth[]): Promise<void>;
  listReports(): Promise<BindHealth[]>;
  listHealth(): Promise<ConnectorHealth[]>;
  /** Keeps the latest report of each connector and country for ten minutes. */
  saveDeliveries(deliveries: readonly DeliveryHealth[]): Promise<void>;
  listDeliveries(): Promise<DeliveryHealth[]>;
  /** Saves changes, except where another replica has saved one since `before` was read. */
  saveHealth(changes: readonly HealthChange[]): Promise<void>;
  removeHealth(connectorIds: readonly string[]): Promise<void>;
};

/** Publishes to the caches of the route table that it has changed. */
export type RouteTableNotifier = { notifyChanged(): void };
