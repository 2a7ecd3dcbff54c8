import { type ClientSession, type Db, Long, type MongoClient } from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { FundingStore } from "../app/fundings.ts";
import {
  FUNDING_WINDOW_MS,
  type Funding,
  type FundingState,
  WINDOW_FUNDINGS_MAX,
} from "../domain/funding-request.ts";

type FundingDocument = {
  _id: string;
  tenant_id: string;
  amount: Long;
  currency: string;
  reason: string;
  state: FundingState;
  requested_by: string;
  requested_at: Date;
  key: string;
  decided_by?: string;
  decided_at?: Date;
  failure?: string;
};

/** Collection `funders`: one document per person. Each request writes it, so requests of one person run one by one. */
type FunderDocument = { _id: string; requests: number };

/** The MongoDB adapter of the storage of fundings. */
export function createFundingStore(client: MongoClient, db: Db, audit: AuditLog): FundingStore {
  const fundings = db.collection<FundingDocument>("fundings", { promoteLongs: false });
  const funders = db.collection<FunderDocument>("funders");

  /**
   * Reads the person's fundings in the window by the index `recent`; pending and decided ones are among them, so the
   * limit bounds the work.
   */
  async function listRecent(
    { requestedBy, currency, requestedAtMs }: Omit<Funding, "state">,
    session: ClientSession,
  ): Promise<Funding[]> {
    const since = new Date(requestedAtMs - FUNDING_WINDOW_MS);
    const own = { requested_by: requestedBy, currency, requested_at: { $gt: since } };
    const found = fundings.find(own, { session }).sort({ requested_at: -1 });
    return (await found.limit(WINDOW_FUNDINGS_MAX).toArray()).map(toFunding);
  }

  return {
    async insert(wanted, key, stateOf) {
      try {
        // Create the document before the transaction, in which two upserts of it would fail as duplicates.
        const own = { _id: wanted.requestedBy };
        await funders.updateOne(own, { $setOnInsert: { requests: 0 } }, { upsert: true });
        return await runTransaction(client, async (session) => {
          // Write this document first: another request of this person conflicts here and runs again, so it reads this
          // funding. Otherwise two concurrent requests would each be within the limit.
          await funders.updateOne(own, { $inc: { requests: 1 } }, { session });
          const recent = await listRecent(wanted, session);
          const funding = { ...wanted, state: stateOf(recent) };
          await fundings.insertOne(toDocument(funding, key), { session });
          const { tenantId, id: subject } = funding;
          await audit.write({ tenantId, subject, before: undefined, after: funding }, session);
          return funding;
        });
      } catch (error) {
        if (!isDuplicateKey(error)) throw wrapMongoError(error);
        const own = { requested_by: wanted.requestedBy, key };
        const stored = await guardMongo(fundings.findOne(own));
        if (stored === null) throw new AppError("conflict", "The funding is being stored; repeat.");
        const earlier = toFunding(stored);
        if (earlier.amount === wanted.amount && earlier.tenantId === wanted.tenantId) {
          return earlier;
        }
        throw new AppError("idempotency_key_reused", "The key was used for another funding.");
      }
    },
    saveDecision: (before, after) =>
      runTransaction(client, async (session) => {
        const { id, state, decidedBy, decidedAtMs, tenantId } = after;
        const decision = { state, decided_by: decidedBy, decided_at: new Date(decidedAtMs) };
        // Of two concurrent decisions the filter lets the first through; the second finds the funding decided.
        const saved = await fundings.updateOne(
          { _id: id, state: "pending" },
          { $set: decision },
          { session },
        );
        if (saved.modifiedCount === 0) return false;
        await audit.write({ tenantId, subject: id, before, after }, session);
        return true;
      }),
    async find(id) {
      const document = await guardMongo(fundings.findOne({ _id: id }));
      return document === null ? undefined : toFunding(document);
    },
    async list({ tenantId, states, limit, beforeId }) {
      const filter = {
        ...(tenantId === "" ? {} : { tenant_id: tenantId }),
        ...(states.length === 0 ? {} : { state: { $in: [...states] } }),
        ...(beforeId === "" ? {} : { _id: { $lt: beforeId } }),
      };
      const found = fundings.find(filter).sort({ _id: -1 }).limit(limit);
      return (await guardMongo(found.toArray())).map(toFunding);
    },
    async listApproved(limit) {
      const found = fundings.find({ state: "approved" }).sort({ _id: 1 }).limit(limit);
      return (await guardMongo(found.toArray())).map(toFunding);
    },
    async finish(id, state, failure) {
      const end = { state, ...(failure === "" ? {} : { failure }) };
      await guardMongo(fundings.updateOne({ _id: id, state: "approved" }, { $set: end }));
    },
  };
}

function toDocument(funding: Funding, key: string): FundingDocument {
  return {
    _id: funding.id,
    tenant_id: funding.tenantId,
    amount: Long.fromBigInt(funding.amount),
    currency: funding.currency,
    reason: funding.reason,
    state: funding.state,
    requested_by: funding.requestedBy,
    requested_at: new Date(funding.requestedAtMs),
    key,
  };
}

function toFunding(document: FundingDocument): Funding {
  return {
    id: document._id,
    tenantId: document.tenant_id,
    amount: document.amount.toBigInt(),
    currency: document.currency,
    reason: document.reason,
    state: document.state,
    requestedBy: document.requested_by,
    requestedAtMs: document.requested_at.getTime(),
    decidedBy: document.decided_by ?? "",
    decidedAtMs: document.decided_at?.getTime() ?? 0,
    failure: document.failure ?? "",
  };
}
