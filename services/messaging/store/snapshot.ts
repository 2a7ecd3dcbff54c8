import type { Collection, Db, Filter, MongoClient } from "mongodb";
import { MESSAGE_SOURCES } from "../../shared/core/message-source.ts";
import { MESSAGE_STATUSES } from "../../shared/core/message-status.ts";
import { openSnapshot } from "../../shared/io/snapshot.ts";
import type { MessageSnapshot } from "../app/ports.ts";
import { MESSAGE_MODES } from "../domain/message.ts";
import type { CheckedMessage } from "../domain/message-invariants.ts";
import { MONEY, moneyOf, OF_CHARGES, type Stored, toCharge } from "./charges.ts";
import { fromHistory, fromStoredClaim, type MessageDocument } from "./documents.ts";
import { INDEXES } from "./schema.ts";

const CHUNK = 1000;

/** The fields of each read; with all fields, ten million messages would take far longer than minutes. */
const OF_CHECKS = { ...MONEY, history: 1, phase: 1, sent_at: 1, claim: 1 } as const;

/** Opens all messages at one instant; blocks no writer. */
export function openMessageSnapshot(client: MongoClient, db: Db): MessageSnapshot {
  const messages: Collection<MessageDocument> = db.collection("messages");
  const snapshot = openSnapshot(client);

  function find<P extends typeof OF_CHECKS | typeof OF_CHARGES>(
    tenantId: string | undefined,
    projection: P,
  ) {
    const hint = tenantId === undefined ? { _id: 1 } : INDEXES.byKind;
    return messages
      .find(filterOf(tenantId), { ...snapshot.options, batchSize: CHUNK })
      .project<Stored<P>>(projection)
      .hint(hint)
      .sort({ _id: 1 });
  }

  return {
    messages: (tenantId) => snapshot.chunks(find(tenantId, OF_CHECKS), toChecked),
    charges: (tenantId) => snapshot.chunks(find(tenantId, OF_CHARGES), toCharge),
    close: () => snapshot.close(),
  };
}

function filterOf(tenantId: string | undefined): Filter<MessageDocument> {
  if (tenantId === undefined) return {};
  return {
    tenant_id: tenantId,
    mode: { $in: [...MESSAGE_MODES] },
    source: { $in: [...MESSAGE_SOURCES] },
    status: { $in: [...MESSAGE_STATUSES] },
  };
}

function toChecked(document: Stored<typeof OF_CHECKS>): CheckedMessage {
  return {
    id: document._id,
    ...moneyOf(document),
    history: fromHistory(document),
    phase: document.phase,
    sentAtMs: document.sent_at?.getTime(),
    claim: document.claim && fromStoredClaim(document.claim),
  };
}
