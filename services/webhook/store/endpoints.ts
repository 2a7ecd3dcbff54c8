import type { ClientSession, Collection, Db } from "mongodb";
import { wrapMongoError } from "../../shared/io/mongo-errors.ts";
import { ENDPOINTS_MAX, type Endpoint } from "../domain/endpoint.ts";
import type { HealthStore } from "../service/health-keeper.ts";
import type { EndpointStore } from "../service/ports.ts";
import { type EndpointDocument, toEndpoint, toEndpointFields } from "./documents.ts";

/** Endpoints at rest, with the parts that run inside a caller's transaction. */
export type Endpoints = EndpointStore &
  HealthStore & {
    /** Stores a new endpoint in a free slot; answers false when the tenant has none left. */
    insert(endpoint: Endpoint, session: ClientSession): Promise<boolean>;
    /** As `save`, inside a transaction. */
    saveWithin(changed: Endpoint, session: ClientSession): Promise<boolean>;
    getWithin(
      tenantId: string,
      endpointId: string,
      session: ClientSession,
    ): Promise<Endpoint | undefined>;
  };

/** Makes the store over `endpoints`. */
export function createEndpoints(db: Db): Endpoints {
  const endpoints: Collection<EndpointDocument> = db.collection("endpoints");

  async function get(tenantId: string, endpointId: string, session?: ClientSession) {
    const document = await endpoints
      .findOne({ _id: endpointId, tenant_id: tenantId }, { ...(session && { session }) })
      .catch(rethrow);
    return document === null ? undefined : toEndpoint(document);
  }

  async function save(changed: Endpoint, session?: ClientSession): Promise<boolean> {
    const result = await endpoints
      .updateOne(
        { _id: changed.id, tenant_id: changed.tenantId, version: changed.version - 1 },
        { $set: toEndpointFields(changed) },
        { ...(session && { session }) },
      )
      .catch(rethrow);
    return result.matchedCount === 1;
  }

  async function find(filter: Parameters<typeof endpoints.find>[0]): Promise<Endpoint[]> {
    const documents = await endpoints.find(filter).sort({ _id: 1 }).toArray().catch(rethrow);
    return documents.map(toEndpoint);
  }

  return {
    ...createHealthStore(endpoints),
    findEnabled: (tenantIds) => find({ tenant_id: { $in: [...tenantIds] }, status: "enabled" }),
    findByIds: (ids) => find({ _id: { $in: [...ids] } }),
    list: (tenantId) => find({ tenant_id: tenantId }),
    get: (tenantId, endpointId) => get(tenantId, endpointId),
    getWithin: get,
    save: (changed) => save(changed),
    saveWithin: save,

    async delete(tenantId, endpointId) {
      const result = await endpoints
        .deleteOne({ _id: endpointId, tenant_id: tenantId })
        .catch(rethrow);
      return result.deletedCount === 1;
    },

    async insert(endpoint, session) {
      const taken = await endpoints
        .find({ tenant_id: endpoint.tenantId }, { session, projection: { slot: 1 } })
        .toArray();
      const slots = new Set(taken.map(({ slot }) => slot));
      for (let slot = 0; slot < ENDPOINTS_MAX; slot += 1) {
        if (slots.has(slot)) continue;
        const document = { _id: endpoint.id, slot, ...toEndpointFields(endpoint) };
        await endpoints.insertOne(document, { session });
        return true;
      }
      return false;
    },
  };
}

/** Health is written past the owner's version: it must neither wait for nor undo a change of theirs. */
function createHealthStore(endpoints: Collection<EndpointDocument>): HealthStore {
  async function update(
    filter: Parameters<typeof endpoints.updateOne>[0],
    change: Parameters<typeof endpoints.updateOne>[1],
  ): Promise<boolean> {
    const result = await endpoints.updateOne(filter, change).catch(rethrow);
    return result.modifiedCount === 1;
  }

  return {
    clearFailing: (endpointId) =>
      update({ _id: endpointId }, { $set: { failing_since: null, warned_at: null } }),
    markFailing: (endpointId, sinceMs) =>
      update(
        { _id: endpointId, failing_since: null },
        { $set: { failing_since: new Date(sinceMs) } },
      ),
    markWarned: (endpointId, atMs) =>
      update(
        { _id: endpointId, failing_since: { $ne: null }, warned_at: null },
        { $set: { warned_at: new Date(atMs) } },
      ),
    disable: (endpoint, reason, atMs) =>
      update(
        { _id: endpoint.id, status: "enabled", enabled_at: new Date(endpoint.enabledAtMs) },
        {
          $set: { status: "disabled", disabled_reason: reason, updated_at: new Date(atMs) },
          $inc: { version: 1 },
        },
      ),
  };
}

function rethrow(error: unknown): never {
  throw wrapMongoError(error);
}
