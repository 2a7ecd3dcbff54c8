/**
 * Campaigns, rows and chunks in MongoDB. Each change of rows and the counts that it changes commit in one transaction
 * with the event, so counts equal rows after any crash. Transactions of one campaign exclude each other at its
 * document.
 */
import type { ClientSession, Collection, Db, MongoClient } from "mongodb";
import { CAMPAIGN_STATUSES } from "../../shared/core/campaign-status.ts";
import { invalidField } from "../../shared/core/limits.ts";
import { createKeyedSemaphore } from "../../shared/flow/keyed-semaphore.ts";
import { endAbandonedWhile } from "../../shared/io/abandoned-transactions.ts";
import { type AuditLog, isInCall } from "../../shared/io/audit-log.ts";
import { saveKeyedAnswer } from "../../shared/io/keyed-answers.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import type { Outbox, OutboxTicket } from "../../shared/io/outbox.ts";
import type { StreamItem } from "../../shared/io/publisher.ts";
import type { AllCampaigns } from "../app/check-campaigns.ts";
import type { CampaignFilter, CampaignStore, CampaignTransaction, Scope } from "../app/ports.ts";
import { type Campaign, OPEN_STATUSES, type Transition } from "../domain/campaign.ts";
import { type ChunkDocument, chunkId, fromChunk, toChunk } from "./chunk-documents.ts";
import { INDEXES } from "./collections.ts";
import { type CampaignDocument, fromCampaign, rowSetOf, toCampaign } from "./documents.ts";
import { createRecentPlaces } from "./recent-places.ts";
import { createRowRemoval } from "./row-removal.ts";
import { createRowStore } from "./row-store.ts";

/** Amounts are read as int64. */
const EXACT = { promoteLongs: false } as const;
/** The most campaigns of one attempt to lease; each of them costs a write. */
const LEASABLE_MAX = 200;

/** Campaigns in MongoDB; `all` is for checks. */
export function createCampaignStore(options: {
  readonly client: MongoClient;
  readonly db: Db;
  readonly outbox: Pick<Outbox, "write" | "publish">;
  readonly encodeEvent: (transition: Transition) => StreamItem | undefined;
  readonly keyTtlMs: number;
  readonly audit: AuditLog;
}): CampaignStore & AllCampaigns {
  const { client, db, outbox, encodeEvent, audit } = options;
  const campaigns: Collection<CampaignDocument> = db.collection("campaigns", EXACT);
  const chunks: Collection<ChunkDocument> = db.collection("chunks", EXACT);
  const tenants: Collection<{ _id: string; drafts: number }> = db.collection("tenants");
  // Run transactions of a campaign, and creations of a tenant, one by one: concurrent ones would conflict after most of
  // their work.
  const turns = createKeyedSemaphore(1);
  const places = createRecentPlaces();
  const discarded: Collection<{ _id: string }> = db.collection("discarded_row_sets");

  function record(
    before: Campaign | undefined,
    after: Campaign | undefined,
    session: ClientSession,
  ): Promise<void> {
    const { id: subject = "", tenantId = "" } = after ?? before ?? {};
    return audit.write({ tenantId, subject, before, after }, session);
  }

  function inTransaction(session: ClientSession, document: CampaignDocument): CampaignTransaction {
    const rowSet = rowSetOf(document);
    const rows = createRowStore(db, rowSet, session);
    return {
      campaign: toCampaign(document),
      statesByIndex: rows.statesByIndex,
      statesByNumber: (numbers) => rows.statesByNumber(numbers, (to) => places.find(rowSet, to)),
      async firstWaiting(limit) {
        const found = await rows.page({ statuses: ["waiting"], afterIndex: -1, limit });
        places.keep(found);
        return found;
      },
      firstWaitingStates: rows.firstWaitingStates,
      insertRows: rows.insert,
      saveRows: rows.save,
      async discardRows() {
        await discarded.insertOne({ _id: rowSet }, { session });
      },
      async insertChunk(chunk) {
        await chunks.insertOne(fromChunk(chunk), { session });
      },
    };
  }

  return {
    async create(campaign, openMax, answer) {
      const { tenantId, mode } = campaign;
      const transaction = async (session: ClientSession) => {
        // Excludes another creation of this tenant, so that the count below is right.
        await tenants.updateOne(
          { _id: `${tenantId}|${mode}` },
          { $inc: { drafts: 1 } },
          { session, upsert: true },
        );
        const open = await campaigns.countDocuments(
          {
            tenant_id: tenantId,
            mode,
            status: { $in: [...OPEN_STATUSES] },
            work: { $ne: "hidden" },
          },
          { session, limit: openMax },
        );
        if (open >= openMax) {
          throw invalidField("name", "too_many", `At most ${openMax} campaigns may be open.`);
        }
        await campaigns.insertOne(fromCampaign(campaign), { session });
        await record(undefined, campaign, session);
        if (answer !== undefined) await saveKeyedAnswer(db, answer, options.keyTtlMs, session);
      };
      await turns.run(tenantId, () => runTransaction(client, transaction));
    },
    async find(scope, id) {
      const document = await guardMongo(campaigns.findOne({ _id: id, ...visibleTo(scope) }));
      return document === null ? undefined : toCampaign(document);
    },
    async list(filter) {
      const documents = await guardMongo(
        campaigns.find(toListQuery(filter)).sort({ _id: -1 }).limit(filter.limit).toArray(),
      );
      return documents.map(toCampaign);
    },
    rows: ({ rowSet, ...filter }) => guardMongo(createRowStore(db, rowSet).page(filter)),
    rowsByNumber: (rowSet, numbers) => guardMongo(createRowStore(db, rowSet).byNumber(numbers)),
    rowsByIndex: (rowSet, indexes) => guardMongo(createRowStore(db, rowSet).byIndex(indexes)),
    async chunk(campaignId, number) {
      const found = await guardMongo(chunks.findOne({ _id: chunkId(campaignId, number) }));
      return found === null ? undefined : toChunk(found);
    },
    async transact(id, work) {
      let ticket: OutboxTicket | undefined;
      const transaction = async (session: ClientSession) => {
        const document = await campaigns.findOne({ _id: id, work: { $ne: "hidden" } }, { session });
        if (document === null) return undefined;
        const done = await work(inTransaction(session, document));
        const { transition } = done;
        const campaign = done.campaign ?? transition?.campaign;
        if (campaign !== undefined) {
          const { lease } = document;
          const replacement = { ...fromCampaign(campaign), ...(lease && { lease }) };
          await campaigns.replaceOne({ _id: id }, replacement, { session });
          // Audit the changes of calls alone. The feeder and the consumer act for no caller; the rows record their
          // changes.
          if (isInCall()) await record(toCampaign(document), campaign, session);
        }
        const item =
          transition === undefined || campaign === undefined
            ? undefined
            : encodeEvent({ ...transition, campaign });
        ticket = item === undefined ? undefined : await outbox.write([item], session);
        return done;
      };
      const result = await turns.run(id, () => runTransaction(client, transaction));
      outbox.publish(ticket);
      return result?.result;
    },
    hide: (id) =>
      runTransaction(client, async (session) => {
        const hidden = await campaigns.findOneAndUpdate(
          { _id: id, status: "draft", work: { $ne: "hidden" } },
          { $set: { work: "hidden" } },
          { session },
        );
        if (hidden === null) return false;
        await record(toCampaign(hidden), undefined, session);
        return true;
      }),
    async leaseWork(owner, nowMs, untilMs, limit) {
      const now = new Date(nowMs);
      const free = {
        work: "feed" as const,
        $or: [
          { "lease.owner": owner },
          { lease: { $exists: false } },
          { "lease.until": { $lte: now } },
        ],
      };
      const leasable = campaigns.find(free).limit(Math.min(limit, LEASABLE_MAX));
      const found = await guardMongo(leasable.toArray());
      const renewBeforeMs = (nowMs + untilMs) / 2;
      const isFresh = ({ lease }: CampaignDocument) =>
        lease?.owner === owner && lease.until.getTime() >= renewBeforeMs;
      if (found.every(isFresh)) return found.map(toCampaign);
      const lease = { owner, until: new Date(untilMs) };
      const ids = found.map(({ _id }) => _id);
      // The lease only keeps two feeders from the same work; the transactions guarantee correctness. A killed feeder
      // may have left a step of these campaigns open: end it if it blocks this write.
      const write = campaigns.updateMany({ _id: { $in: ids }, ...free }, { $set: { lease } });
      await guardMongo(endAbandonedWhile(client, write));
      const mine = await guardMongo(
        campaigns.find({ _id: { $in: ids }, "lease.owner": owner, work: "feed" }).toArray(),
      );
      return mine.map(toCampaign);
    },
    async releaseLeases(owner) {
      await guardMongo(
        campaigns.updateMany({ work: "feed", "lease.owner": owner }, { $unset: { lease: 1 } }),
      );
    },
    async *all(tenantId) {
      const found = campaigns.find(visibleTo({ tenantId, mode: undefined })).sort({ _id: 1 });
      for await (const document of found) yield toCampaign(document);
    },
    findDue: (nowMs, limit) =>
      ids({ work: "scheduled", "content.send_at": { $lte: new Date(nowMs) } }, limit),
    findPausedBefore: (beforeMs, limit) =>
      ids({ work: "paused", paused_at: { $lte: new Date(beforeMs) } }, limit),
    removeOld: createRowRemoval(db),
  };

  async function ids(filter: object, limit: number): Promise<string[]> {
    const found = await guardMongo(
      campaigns
        .find(filter, { projection: { _id: 1 } })
        .hint(INDEXES.work)
        .limit(limit)
        .toArray(),
    );
    return found.map(({ _id }) => _id);
  }
}

function visibleTo({ tenantId, mode }: Scope) {
  return {
    work: { $ne: "hidden" as const },
    ...(tenantId === undefined ? {} : { tenant_id: tenantId }),
    ...(mode === undefined ? {} : { mode }),
  };
}

/**
 * The filter of a page. It names every mode and status, so that the index of tenants gives campaigns in order of their
 * ids: otherwise MongoDB walks the newer campaigns of all tenants, or sorts all of this one's.
 */
export function toListQuery(filter: CampaignFilter) {
  const { statuses, beforeId, mode } = filter;
  return {
    ...visibleTo(filter),
    mode: mode ?? { $in: ["live" as const, "test" as const] },
    status: { $in: statuses.length === 0 ? [...CAMPAIGN_STATUSES] : [...statuses] },
    ...(beforeId === "" ? {} : { _id: { $lt: beforeId } }),
  };
}
