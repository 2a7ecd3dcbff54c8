/** Writes opt-outs and opt-ins in the caller's transaction. The newest counts; a change of state makes an event. */
import type { ClientSession, Db } from "mongodb";
import type { ConsentEvent } from "../app/ports.ts";
import { type Consent, changesState, isNewer } from "../domain/suppression.ts";

export type ConsentDocument = {
  _id: string;
  tenant_id: string;
  number: string;
  sender: string;
  is_out: boolean;
  source: Consent["source"];
  reason: string;
  at: Date;
};

export type VersionDocument = { _id: string; version: number };

/** One id for each number and sender of a tenant, in the order of a list. */
export function consentId(tenantId: string, number: string, sender: string): string {
  return `${tenantId}|${number}|${sender}`;
}

type ConsentChange = Extract<ConsentEvent, { kind: "changed" }>;

/** An opt-out or opt-in, and the message that made it. */
export type NewConsent = {
  readonly consent: Consent;
  readonly inboundMessageId: string | undefined;
};

/** Saves each that is newer than those before it; returns the events of those that changed a state. */
export async function writeConsents(
  db: Db,
  items: readonly NewConsent[],
  session: ClientSession,
): Promise<ConsentChange[]> {
  if (items.length === 0) return [];
  const collection = db.collection<ConsentDocument>("consents");
  const ids = [...new Set(items.map(({ consent }) => idOf(consent)))];
  const found = await collection.find({ _id: { $in: ids } }, { session }).toArray();
  const current = new Map(found.map((document) => [document._id, toConsent(document)]));
  const newer = new Map<string, Consent>();
  const changed: ConsentChange[] = [];
  for (const { consent, inboundMessageId } of items) {
    const id = idOf(consent);
    const before = current.get(id);
    if (!isNewer(before, consent.atMs)) continue;
    if (changesState(before, consent.isOut)) {
      changed.push({ kind: "changed", consent, inboundMessageId });
    }
    current.set(id, consent);
    newer.set(id, consent);
  }
  if (newer.size > 0) {
    await collection.bulkWrite(
      [...newer].map(([_id, consent]) => ({
        replaceOne: { filter: { _id }, replacement: fromConsent(_id, consent), upsert: true },
      })),
      { session, ordered: false },
    );
  }
  await raiseVersions(db, new Set(changed.map(({ consent }) => consent.tenantId)), session);
  return changed;
}

async function raiseVersions(
  db: Db,
  tenantIds: ReadonlySet<string>,
  session: ClientSession,
): Promise<void> {
  if (tenantIds.size === 0) return;
  await db.collection<VersionDocument>("versions").bulkWrite(
    [...tenantIds].map((_id) => ({
      updateOne: { filter: { _id }, update: { $inc: { version: 1 } }, upsert: true },
    })),
    { session, ordered: false },
  );
}

export function toConsent(document: ConsentDocument): Consent {
  return {
    tenantId: document.tenant_id,
    number: document.number,
    sender: document.sender,
    isOut: document.is_out,
    source: document.source,
    reason: document.reason,
    atMs: document.at.getTime(),
  };
}

function fromConsent(_id: string, consent: Consent): ConsentDocument {
  return {
    _id,
    tenant_id: consent.tenantId,
    number: consent.number,
    sender: consent.sender,
    is_out: consent.isOut,
    source: consent.source,
    reason: consent.reason,
    at: new Date(consent.atMs),
  };
}

function idOf({ tenantId, number, sender }: Consent): string {
  return consentId(tenantId, number, sender);
}
