/**
 * The audit trail of one service's database. An entry is written in the transaction of its change, so that neither
 * exists without the other. A call that changes nothing leaves no entry.
 */
import type { ClientSession, Collection, Db, Filter } from "mongodb";
import { type AuditChange, type AuditSource, auditTexts } from "../core/audit.ts";
import { isId, newId } from "../core/ids.ts";
import { checkCursor, pageLimit } from "../core/limits.ts";
import { activeCall, currentCall } from "../rpc/call-context.ts";
import type { CollectionShape } from "./migration.ts";
import { guardMongo } from "./mongo-errors.ts";

/** One stored entry. */
export type AuditEntry = AuditSource & {
  readonly id: string;
  readonly createdAtMs: number;
  readonly tenantId: string;
  readonly subject: string;
  /** JSON texts; see `auditTexts`. */
  readonly before: string;
  readonly after: string;
};

/** A page of the trail, newest first. Empty texts match every entry; 0 means no bound. */
export type AuditQuery = {
  readonly tenantId: string;
  /** `sms.v1.TenantService/UpdateTenant` */
  readonly method: string;
  readonly caller: string;
  /** The name of the person. */
  readonly actor: string;
  /** Entries at or after this instant. */
  readonly fromMs: number;
  /** Entries before this instant. */
  readonly toMs: number;
  readonly limit: number;
  /** The last id of the page before. */
  readonly cursor: string;
};

/** The trail of one database. */
export type AuditLog = {
  /** Without a session the entry is not part of a transaction: for changes that have none. */
  write(change: AuditChange, session?: ClientSession, source?: AuditSource): Promise<void>;
  list(query: AuditQuery): Promise<{ entries: AuditEntry[]; nextCursor: string }>;
};

/** A document of the collection `audit`. */
export type AuditDocument = {
  _id: string;
  created_at: Date;
  expires_at: Date;
  method: string;
  caller: string;
  actor: { name: string; address: string } | null;
  tenant_id: string;
  subject: string;
  before: string;
  after: string;
  request_id: string;
};

/** A document as any version wrote it. */
type Stored = Pick<AuditDocument, "_id" | "created_at"> &
  Partial<Omit<AuditDocument, "actor">> & {
    readonly actor?: AuditDocument["actor"] | string;
    readonly detail?: string;
  };

const text = { bsonType: "string" };

/** The collection `audit`. */
export const AUDIT: CollectionShape = {
  name: "audit",
  indexes: [
    { name: "kept", key: { expires_at: 1 }, expireAfterSeconds: 0 },
    { name: "tenant", key: { tenant_id: 1, _id: -1 } },
    { name: "method", key: { method: 1, _id: -1 } },
  ],
  validator: {
    bsonType: "object",
    // Entries of version 0.2.0 have other fields; its processes write them until they are replaced.
    required: ["_id", "created_at"],
    properties: {
      _id: { bsonType: "string", pattern: "^aud_" },
      expires_at: { bsonType: "date" },
      method: { bsonType: "string", minLength: 1 },
      caller: { bsonType: "string", minLength: 1 },
      tenant_id: text,
      before: text,
      after: text,
    },
  },
};

/** The caller and the person of the call being served, to pass along with work that is done in a batch. */
export function auditSource(): AuditSource {
  const call = currentCall();
  const { actorName: name, actorAddress: address = "" } = call;
  return {
    method: call.method ?? "unknown",
    caller: call.caller ?? "unauthenticated",
    actor: name === undefined ? undefined : { name, address },
    requestId: call.requestId,
  };
}

/** Whether a call is being served: work of a service's own, such as a sweep, is no change by a caller. */
export function isInCall(): boolean {
  return activeCall()?.method !== undefined;
}

/** The document of an entry, for a store that inserts it together with others. */
export function auditDocument(
  change: AuditChange,
  source: AuditSource,
  { id, nowMs, keepMs }: { readonly id: string; readonly nowMs: number; readonly keepMs: number },
): AuditDocument {
  return {
    _id: id,
    created_at: new Date(nowMs),
    expires_at: new Date(nowMs + keepMs),
    method: source.method,
    caller: source.caller,
    actor: source.actor ?? null,
    tenant_id: change.tenantId,
    subject: change.subject,
    ...auditTexts(change),
    request_id: source.requestId,
  };
}

/** Opens the trail; entries are kept for `keepMs`. */
export function createAuditLog(db: Db, keepMs: number): AuditLog {
  const collection: Collection<AuditDocument> = db.collection("audit");
  return {
    async write(change, session, source = auditSource()) {
      const nowMs = Date.now();
      const id = newId("audit", nowMs);
      const document = auditDocument(change, source, { id, nowMs, keepMs });
      // Inside a transaction the driver's error stays as it is: `runTransaction` decides by it whether to retry.
      if (session !== undefined) await collection.insertOne(document, { session });
      else await guardMongo(collection.insertOne(document));
    },
    async list(query) {
      checkCursor(query.cursor === "" || isId("audit", query.cursor));
      const limit = pageLimit(query.limit);
      const find = collection.find(filterOf(query)).sort({ _id: -1 });
      const found = await guardMongo(find.limit(limit + 1).toArray());
      const entries = found.slice(0, limit).map(toEntry);
      return { entries, nextCursor: found.length > limit ? (entries.at(-1)?.id ?? "") : "" };
    },
  };
}

function filterOf({ tenantId, method, caller, actor, fromMs, toMs, cursor }: AuditQuery) {
  const filter: Filter<AuditDocument> = {};
  if (tenantId !== "") filter.tenant_id = tenantId;
  if (caller !== "") filter.caller = caller;
  if (method !== "") filter.method = method;
  if (actor !== "") filter["actor.name"] = actor;
  if (cursor !== "") filter._id = { $lt: cursor };
  const from = fromMs === 0 ? {} : { $gte: new Date(fromMs) };
  const to = toMs === 0 ? {} : { $lt: new Date(toMs) };
  if (fromMs !== 0 || toMs !== 0) filter.created_at = { ...from, ...to };
  return filter;
}

/** Fields that an entry of version 0.2.0 lacks are empty; its actor may be a name alone. */
function toEntry(document: Stored): AuditEntry {
  const { actor } = document;
  return {
    id: document._id,
    createdAtMs: document.created_at.getTime(),
    method: document.method ?? "",
    caller: document.caller ?? "",
    actor: typeof actor === "string" ? { name: actor, address: "" } : (actor ?? undefined),
    tenantId: document.tenant_id ?? "",
    subject: document.subject ?? "",
    before: document.before ?? "",
    after: document.after ?? document.detail ?? "",
    requestId: document.request_id ?? "",
  };
}
