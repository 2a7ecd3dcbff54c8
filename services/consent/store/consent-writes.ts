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

/** Saves each that is newer than the stored one; returns the events of those that changed a state. */
export async function writeConsents(
  db: Db,
  consents: readonly Consent[],
  inboundMessageId: string | undefined,
  session: ClientSession,
): Promise<ConsentEvent[]> {
  if (consents.length === 0) return [];
  const collection = db.collection<ConsentDocument>("consents");
  const latest = new Map(consents.map((one) => [idOf(one), one]));
  const found = await collection.find({ _id: { $in: [...latest.keys()] } }, { session }).toArray();
  const stored = new Map(found.map((document) => [document._id, toConsent(document)]));
  const newer = [...latest].filter(([id, consent]) => isNewer(stored.get(id), consent.atMs));
  if (newer.length > 0) {
    await collection.bulkWrite(
      newer.map(([_id, consent]) => ({
        replaceOne: { filter: { _id }, replacement: fromConsent(_id, consent), upsert: true },
      })),
      { session, ordered: false },
    );
  }
  const changed = newer.filter(([id, { isOut }]) => changesState(stored.get(id), isOut));
  const tenants = new Set(changed.map(([, { tenantId }]) => tenantId));
  const versions = db.collection<VersionDocument>("versions");
  for (const _id of tenants) {
    await versions.updateOne({ _id }, { $inc: { version: 1 } }, { session, upsert: true });
  }
  return changed.map(([, consent]) => ({ kind: "changed", consent, inboundMessageId }));
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
