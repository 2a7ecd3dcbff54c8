import type { ClientSession, Collection, Db, Filter, MongoClient } from "mongodb";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { HealthStore } from "../app/health-keeper.ts";
import type { EndpointStore } from "../app/ports.ts";
import {
  type ChangedEndpoint,
  ENDPOINTS_MAX,
  type Endpoint,
  type EndpointKey,
} from "../domain/endpoint.ts";
import { type EndpointDocument, toEndpoint, toEndpointFields } from "./documents.ts";

/** Stored endpoints, with methods for a caller's transaction. */
export type Endpoints = EndpointStore &
  HealthStore & {
    /** Stores a new endpoint in a free slot; returns false when its tenant and mode have none left. */
    insert(endpoint: Endpoint, session: ClientSession): Promise<boolean>;
    /** Like `save`, inside a transaction. */
    saveWithin(changed: ChangedEndpoint, session: ClientSession): Promise<boolean>;
    getWithin(key: EndpointKey, session: ClientSession): Promise<Endpoint | undefined>;
  };

/** Writes each change that an owner makes, and its audit entry, in one transaction. */
export function createEndpoints(client: MongoClient, db: Db, audit: AuditLog): Endpoints {
  const endpoints: Collection<EndpointDocument> = db.collection("endpoints");

  async function get(key: EndpointKey, session?: ClientSession) {
    const document = await endpoints
      .findOne({ _id: key.endpointId, ...ofOwner(key) }, { ...(session && { session }) })
      .catch(rethrowIn(session));
    return document === null ? undefined : toEndpoint(document);
  }

  async function save(changed: ChangedEndpoint, session: ClientSession): Promise<boolean> {
    const { failing_since, warned_at, ...chosen } = toEndpointFields(changed);
    const health = changed.startsClean ? { failing_since, warned_at } : {};
    const old = await endpoints.findOneAndUpdate(
      { _id: changed.id, tenant_id: changed.tenantId, version: changed.version - 1 },
      { $set: { ...chosen, ...health } },
      { session },
    );
    if (old === null) return false;
    const { startsClean: _, ...after } = changed;
    await record(toEndpoint(old), after, session);
    return true;
  }

  function record(
    before: Endpoint | undefined,
    after: Endpoint | undefined,
    session: ClientSession,
  ): Promise<void> {
    const { id: subject = "", tenantId = "" } = after ?? before ?? {};
    return audit.write({ tenantId, subject, before, after }, session);
  }

  async function find(filter: Parameters<typeof endpoints.find>[0]): Promise<Endpoint[]> {
    const documents = await endpoints.find(filter).sort({ _id: 1 }).toArray().catch(rethrow);
    return documents.map(toEndpoint);
  }

  return {
    ...createHealthStore(endpoints),
    findEnabled: (tenantIds) => find({ tenant_id: { $in: [...tenantIds] }, status: "enabled" }),
    findByIds: (ids) => find({ _id: { $in: [...ids] } }),
    list: (owner) => find(ofOwner(owner)),
    get: (key) => get(key),
    getWithin: get,
    save: (changed) => runTransaction(client, (session) => save(changed, session)),
    saveWithin: save,

    delete: (key) =>
      runTransaction(client, async (session) => {
        const own = { _id: key.endpointId, ...ofOwner(key) };
        const old = await endpoints.findOneAndDelete(own, { session });
        if (old === null) return false;
        await record(toEndpoint(old), undefined, session);
        return true;
      }),

    async insert(endpoint, session) {
      const taken = await endpoints
        .find({ tenant_id: endpoint.tenantId }, { session, projection: { slot: 1 } })
        .toArray();
      const slots = new Set(taken.map(({ slot }) => slot));
      const first = endpoint.mode === "live" ? 0 : ENDPOINTS_MAX;
      for (let slot = first; slot < first + ENDPOINTS_MAX; slot += 1) {
        if (slots.has(slot)) continue;
        const document = { _id: endpoint.id, slot, ...toEndpointFields(endpoint) };
        await endpoints.insertOne(document, { session });
        await record(undefined, endpoint, session);
        return true;
      }
      return false;
    },
  };
}

/** Matches the endpoints that a caller may see. */
function ofOwner({ tenantId, mode }: Omit<EndpointKey, "endpointId">): Filter<EndpointDocument> {
  if (mode === undefined) return { tenant_id: tenantId };
  return { tenant_id: tenantId, mode: mode === "test" ? "test" : { $ne: "test" } };
}

/**
 * Health is written without a change of the owner's version: it must neither wait for nor undo an
 * owner's change. So each filter names the state it was decided on: URL, enabled period and
 * failures. When one of them has changed, nothing is written.
 */
function createHealthStore(endpoints: Collection<EndpointDocument>): HealthStore {
  async function update(
    filter: Parameters<typeof endpoints.updateOne>[0],
    change: Parameters<typeof endpoints.updateOne>[1],
  ): Promise<boolean> {
    const result = await endpoints.updateOne(filter, change).catch(rethrow);
    return result.modifiedCount === 1;
  }

  return {
    clearFailing: (endpoint) =>
      update(
        // Clear every mark of this URL, also one with a later time: the clocks of two replicas may differ.
        { _id: endpoint.id, url: endpoint.url, failing_since: { $ne: null } },
        { $set: { failing_since: null, warned_at: null } },
      ),
    markFailing: (endpoint, sinceMs) =>
      update(
        { ...period(endpoint), failing_since: null },
        { $set: { failing_since: new Date(sinceMs) } },
      ),
    markWarned: (endpoint, atMs) =>
      update(
        { ...period(endpoint), ...failingAsRead(endpoint), warned_at: null },
        { $set: { warned_at: new Date(atMs) } },
      ),
    disable: (endpoint, reason, atMs) =>
      update(
        { ...period(endpoint), ...failingAsRead(endpoint) },
        {
          $set: { status: "disabled", disabled_reason: reason, updated_at: new Date(atMs) },
          $inc: { version: 1 },
        },
      ),
  };
}

/** Matches the endpoint while URL and enabled period are those of the attempt. */
function period({ id, url, enabledAtMs }: Endpoint) {
  return { _id: id, url, status: "enabled", enabled_at: new Date(enabledAtMs) } as const;
}

/** Matches while no success has reset the failures. */
function failingAsRead({ failingSinceMs }: Endpoint) {
  return { failing_since: new Date(failingSinceMs) };
}

function rethrow(error: unknown): never {
  throw wrapMongoError(error);
}

/**
 * Errors inside a transaction stay as they are: `runTransaction` decides by them whether to retry.
 */
function rethrowIn(session: ClientSession | undefined): (error: unknown) => never {
  if (session === undefined) return rethrow;
  return (error) => {
    throw error;
  };
}
