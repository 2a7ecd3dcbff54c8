import type { ClientSession, Db, MongoClient } from "mongodb";
import type { AuditChange } from "../../shared/core/audit.ts";
import { createKeyedSemaphore } from "../../shared/flow/keyed-semaphore.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import type { OutboxTicket } from "../../shared/io/outbox.ts";
import type { ConsentStore } from "../app/ports.ts";
import type { Consent } from "../domain/suppression.ts";
import {
  type ConsentDocument,
  consentId,
  toConsent,
  type VersionDocument,
  writeConsents,
} from "./consent-writes.ts";
import type { EventOutbox } from "./event-outbox.ts";

const BATCH_MAX = 1000;

/** The audited change. Numbers are personal data, so it has only their count. */
function changeOf(items: readonly Consent[], numbers: number): AuditChange {
  const { tenantId = "", isOut, sender = "", source } = items[0] ?? {};
  const side = { numbers, sender, source };
  const [before, after] = isOut === true ? [undefined, side] : [side, undefined];
  return { tenantId, subject: "suppressions", before, after };
}

/** Opt-outs and opt-ins in MongoDB. */
export function createConsentStore(
  client: MongoClient,
  db: Db,
  outbox: EventOutbox,
  audit: AuditLog,
): ConsentStore {
  const consents = db.collection<ConsentDocument>("consents");
  // Save for one tenant at a time: each save raises the tenant's version, so concurrent ones would conflict.
  const turns = createKeyedSemaphore(1);
  const versions = db.collection<VersionDocument>("versions");
  return {
    async save(items) {
      let ticket: OutboxTicket | undefined;
      const transaction = async (session: ClientSession) => {
        const given = items.map((consent) => ({ consent, inboundMessageId: undefined }));
        const events = await writeConsents(db, given, session);
        ticket = await outbox.write(events, session);
        if (events.length > 0) await audit.write(changeOf(items, events.length), session);
        return events.length;
      };
      const tenantId = items[0]?.tenantId ?? "";
      const changed = await turns.run(tenantId, () => runTransaction(client, transaction));
      outbox.publish(ticket);
      return changed;
    },
    async list({ tenantId, number, after, limit }) {
      // Ids begin with the tenant, so a page is a range of them.
      const prefix = consentId(tenantId, number, "");
      const from = after === "" ? prefix.slice(0, -1) : `${tenantId}|${after}`;
      const filter = {
        tenant_id: tenantId,
        is_out: true,
        _id: { $gt: from, ...(number === "" ? {} : { $lte: `${prefix}~` }) },
      };
      const found = await guardMongo(
        consents.find(filter).sort({ _id: 1 }).limit(limit).batchSize(BATCH_MAX).toArray(),
      );
      return found.map(toConsent);
    },
    async version(tenantId) {
      const found = await guardMongo(versions.findOne({ _id: tenantId }));
      return found?.version ?? 0;
    },
    async table(tenantId, max) {
      const found = await guardMongo(
        consents
          .find({ tenant_id: tenantId, is_out: true })
          .sort({ _id: 1 })
          .limit(max)
          .batchSize(BATCH_MAX)
          .toArray(),
      );
      return found.map(toConsent);
    },
    async check(tenantId, sender, numbers) {
      const ids = numbers.flatMap((number) => [
        consentId(tenantId, number, ""),
        consentId(tenantId, number, sender),
      ]);
      const found = await guardMongo(
        consents.find({ _id: { $in: ids }, is_out: true }, { batchSize: BATCH_MAX }).toArray(),
      );
      return [...new Set(found.map(({ number }) => number))];
    },
  };
}
