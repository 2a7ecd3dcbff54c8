import type { ClientSession, Collection, Db, Long, MongoClient } from "mongodb";
import type { AuditChange } from "../../shared/core/audit.ts";
import { AppError } from "../../shared/core/errors.ts";
import { formatAmount } from "../../shared/core/money.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import type { SecretBox } from "../../shared/io/encryption.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey } from "../../shared/io/mongo-errors.ts";
import type { RoutingChange, RoutingStore } from "../app/ports.ts";
import { quietRuleName } from "../domain/quiet-hours.ts";
import type { Route } from "../domain/route.ts";
import {
  type ConnectorDocument,
  fromConnectorDocument,
  fromConnectorDocumentIfPossible,
  fromQuietHoursDocument,
  fromRouteDocument,
  type QuietHoursDocument,
  type RouteDocument,
  toBigInt,
  toConnectorDocument,
  toQuietHoursDocument,
  toRouteDocument,
} from "./documents.ts";

type Collections = {
  readonly connectors: Collection<ConnectorDocument>;
  readonly routes: Collection<RouteDocument>;
  readonly priceVersions: Collection<{ _id: string }>;
  readonly quietHours: Collection<QuietHoursDocument>;
  readonly counters: Collection<{ _id: string; version: Long | number }>;
};

/** The MongoDB store of routing; `box` encrypts and decrypts the connectors' secrets. */
export function createRoutingStore(options: {
  readonly client: MongoClient;
  readonly db: Db;
  readonly box: SecretBox;
  readonly audit: AuditLog;
}): RoutingStore {
  const { client, db, box, audit } = options;
  const collections: Collections = {
    connectors: db.collection("connectors"),
    routes: db.collection("routes"),
    priceVersions: db.collection("price_versions"),
    quietHours: db.collection("quiet_hours"),
    counters: db.collection("counters"),
  };

  return {
    async listConnectors() {
      const documents = await guardMongo(collections.connectors.find().sort({ _id: 1 }).toArray());
      return documents.map((document) => fromConnectorDocument(document, box));
    },
    async listReadable() {
      const documents = await guardMongo(collections.connectors.find().sort({ _id: 1 }).toArray());
      return documents.map((document) => fromConnectorDocumentIfPossible(document, box));
    },
    async listRoutes() {
      const documents = await guardMongo(collections.routes.find().sort({ _id: 1 }).toArray());
      return documents.map(fromRouteDocument);
    },
    async findRoute(idOrName) {
      const document = await guardMongo(collections.routes.findOne(routeFilter(idOrName)));
      return document === null ? undefined : fromRouteDocument(document);
    },
    async listQuietRules() {
      const documents = await guardMongo(collections.quietHours.find().sort({ _id: 1 }).toArray());
      return documents.map(fromQuietHoursDocument);
    },
    async readVersion() {
      const counter = await guardMongo(collections.counters.findOne({ _id: "table" }));
      return counter === null ? 0n : toBigInt(counter.version);
    },
    change(work) {
      return runTransaction(client, async (session) => {
        // Increment first: concurrent changes conflict here, and one waits for the other.
        await incrementVersion(collections, session);
        const change = createChange(collections, box, session);
        return work(recordChanges(change, (entry) => audit.write(entry, session)));
      });
    },
  };
}

function createChange(
  { connectors, routes, priceVersions, quietHours }: Collections,
  box: SecretBox,
  session: ClientSession,
): RoutingChange {
  return {
    async findConnector(id, needsSecrets) {
      const document = await connectors.findOne({ _id: id }, { session });
      if (document === null) return undefined;
      return needsSecrets
        ? fromConnectorDocument(document, box)
        : fromConnectorDocumentIfPossible(document, box);
    },
    async saveConnector(connector) {
      // `$set` keeps fields that a newer version of the service has added, also in `saveRoute`.
      const { _id, ...all } = toConnectorDocument(connector, box);
      const { smpp: _smpp, http: _http, ...withoutSettings } = all;
      const fields = connector.isUnreadable ? withoutSettings : all;
      await connectors.updateOne({ _id }, { $set: fields }, { session, upsert: true });
    },
    async removeConnector(id) {
      await connectors.deleteOne({ _id: id }, { session });
    },
    async findRoute(idOrName) {
      const document = await routes.findOne(routeFilter(idOrName), { session });
      return document === null ? undefined : fromRouteDocument(document);
    },
    async listRouteNames(connectorId) {
      const found = await routes.find({ connector_id: connectorId }, { session }).toArray();
      return found.map(({ name }) => name);
    },
    async countOtherPrices(routeId) {
      const count = { $group: { _id: null, prices: { $sum: { $size: "$prices" } } } };
      const others = { $match: { _id: { $ne: routeId } } };
      const [sum] = await routes.aggregate([others, count], { session }).toArray();
      return Number(sum?.prices ?? 0);
    },
    async saveRoute(route) {
      const { _id, ...fields } = toRouteDocument(route);
      try {
        await routes.updateOne({ _id }, { $set: fields }, { session, upsert: true });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        throw new AppError("already_exists", `A route is called ${route.name} already.`, {
          cause: error,
        });
      }
    },
    async removeRoute(id) {
      await routes.deleteOne({ _id: id }, { session });
    },
    async savePriceVersion(route, actor) {
      const { prices } = toRouteDocument(route);
      const version = route.pricesVersion;
      const createdAt = new Date(route.updatedAtMs);
      const document = { route_id: route.id, version, prices, actor, created_at: createdAt };
      await priceVersions.insertOne({ _id: `${route.id}:${version}`, ...document } as never, {
        session,
      });
    },
    async listQuietRules() {
      const documents = await quietHours.find({}, { session }).sort({ _id: 1 }).toArray();
      return documents.map(fromQuietHoursDocument);
    },
    async saveQuietRule(rule) {
      const { _id, ...fields } = toQuietHoursDocument(rule);
      await quietHours.updateOne({ _id }, { $set: fields }, { session, upsert: true });
    },
  };
}

async function incrementVersion({ counters }: Collections, session: ClientSession): Promise<void> {
  const increment = { $inc: { version: 1 } } as never;
  await counters.updateOne({ _id: "table" }, increment, { session, upsert: true });
}

/** Writes an audit entry for each write of a change; its `before` is the document that the change has read. */
function recordChanges(
  change: RoutingChange,
  record: (entry: AuditChange) => Promise<void>,
): RoutingChange {
  const read = new Map<string, object>();
  const write = (subject: string, after: object | undefined) =>
    record({ tenantId: "", subject, before: read.get(subject), after });
  return {
    ...change,
    async findConnector(id, needsSecrets) {
      const connector = await change.findConnector(id, needsSecrets);
      if (connector !== undefined) read.set(id, connector);
      return connector;
    },
    async findRoute(idOrName) {
      const route = await change.findRoute(idOrName);
      if (route !== undefined) read.set(route.id, pricesByPrefix(route));
      return route;
    },
    async saveConnector(connector) {
      await change.saveConnector(connector);
      await write(connector.id, connector);
    },
    async removeConnector(id) {
      await change.removeConnector(id);
      await write(id, undefined);
    },
    async saveRoute(route) {
      await change.saveRoute(route);
      await write(route.id, pricesByPrefix(route));
    },
    async removeRoute(id) {
      await change.removeRoute(id);
      await write(id, undefined);
    },
    async listQuietRules() {
      const rules = await change.listQuietRules();
      for (const rule of rules) read.set(quietRuleName(rule), rule);
      return rules;
    },
    async saveQuietRule(rule) {
      await change.saveQuietRule(rule);
      await write(quietRuleName(rule), rule);
    },
  };
}

/** A route with its prices by prefix, so that an audit entry names only those that differ. */
function pricesByPrefix(route: Route): object {
  const prices = route.prices.map(({ prefix, price }) => [prefix, formatAmount(price)]);
  return { ...route, prices: Object.fromEntries(prices) };
}

function routeFilter(idOrName: string) {
  return { $or: [{ _id: idOrName }, { name: idOrName }] };
}
