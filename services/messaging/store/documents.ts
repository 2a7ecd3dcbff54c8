import type { Long } from "mongodb";
import type { MessageSourceName } from "../../shared/core/message-source.ts";
import type { MessageStatus } from "../../shared/core/message-status.ts";
import type { Encoding } from "../../shared/core/segments.ts";
import { type TrafficClass, trafficClassOf } from "../../shared/core/traffic-class.ts";
import type { Reason } from "../domain/failure-reasons.ts";
import type {
  Claim,
  Message,
  MessageMode,
  PriorityClass,
  QueuePhase,
  SegmentReceipts,
  StatusChange,
} from "../domain/message.ts";
import { queueOf } from "../domain/queue-transitions.ts";

/** Amounts are written as int64; the driver reads them as numbers where that is exact. */
export type StoredAmount = bigint | number | Long;

type StoredRoute = { route_id: string; connector_id: string; price: StoredAmount };

type StoredClaim = { id: string; carrier: string; at: Date; open_from?: Date; open_until?: Date };

/** One document of `messages`. Empty fields are absent. */
export type MessageDocument = {
  _id: string;
  tenant_id: string;
  mode: MessageMode;
  source: MessageSourceName;
  campaign_id?: string;
  reservation_id?: string;
  key_id?: string;
  country?: string;
  status: MessageStatus;
  to: string;
  from: string;
  /** The keys of list filters; see `searchKeys`. */
  search: string[];
  body: string;
  encoding: Encoding;
  segments: number;
  held: StoredAmount;
  unit_price?: StoredAmount;
  amount?: StoredAmount;
  currency: string;
  client_reference?: string;
  /** Absent for the class `transactional`. */
  traffic_class?: string;
  consent_reply?: boolean;
  error?: Reason;
  carrier_code?: string;
  scheduled_at?: Date;
  sent_at?: Date;
  completed_at?: Date;
  updated_at: Date;
  history: { status: MessageStatus; at: Date; error?: Reason }[];
  routes?: StoredRoute[];
  route_at?: number;
  /** The priority class; the stored name is older. */
  lane?: PriorityClass;
  phase?: QueuePhase;
  claim?: StoredClaim;
  attempts?: number;
  not_before?: Date;
  queue_until?: Date;
  /** Present while the message waits for the end of quiet hours; the key of their index. */
  quiet_until?: Date;
  /** Present after quiet hours: the instant since which the message has waited. */
  released_at?: Date;
  /** Present when the message fails instead of waiting for the end of quiet hours. */
  rejects_quiet?: true;
  /** Present while the message waits or is sent; the key of the queue index. */
  queue?: string;
  /** Present while time can end the state; the key of the index of due messages. */
  due_at?: Date;
  receipts?: SegmentReceipts;
  redact?: boolean;
  trace?: string;
  revision: number;
};

/** The keys of list filters. One index over all of them makes updates cheaper than one index each. */
export const SEARCH = {
  from: (senderId: string) => `f:${senderId.toLowerCase()}`,
  to: (e164: string) => `t:${e164}`,
  reference: (reference: string) => `r:${reference}`,
  campaign: (campaignId: string) => `c:${campaignId}`,
} as const;

function searchKeys({ from, to, clientReference, campaignId }: Message): string[] {
  const keys = [SEARCH.from(from), SEARCH.to(to)];
  if (clientReference !== undefined) keys.push(SEARCH.reference(clientReference));
  if (campaignId !== undefined) keys.push(SEARCH.campaign(campaignId));
  return keys;
}

export function toAmount(stored: StoredAmount): bigint {
  return typeof stored === "object" ? stored.toBigInt() : BigInt(stored);
}

export function toDocument(message: Message): MessageDocument {
  const document: MessageDocument = {
    _id: message.id,
    tenant_id: message.tenantId,
    mode: message.mode,
    source: message.source,
    status: message.status,
    to: message.to,
    from: message.from,
    search: searchKeys(message),
    body: message.body,
    encoding: message.encoding,
    segments: message.segments,
    held: message.heldAmount,
    currency: message.currency,
    updated_at: dateOf(message.updatedAtMs),
    history: message.history.map(toStoredChange),
    revision: message.revision,
  };
  if (message.campaignId !== undefined) document.campaign_id = message.campaignId;
  if (message.reservationId !== undefined) document.reservation_id = message.reservationId;
  if (message.keyId !== undefined) document.key_id = message.keyId;
  if (message.country !== undefined) document.country = message.country;
  if (message.clientReference !== undefined) document.client_reference = message.clientReference;
  if (message.trafficClass !== "transactional") document.traffic_class = message.trafficClass;
  if (message.scheduledAtMs !== undefined) document.scheduled_at = new Date(message.scheduledAtMs);
  if (message.isConsentReply) document.consent_reply = true;
  if (message.redact) document.redact = true;
  if (message.rejectsInQuietHours) document.rejects_quiet = true;
  if (message.trace !== undefined) document.trace = message.trace;
  if (message.routes.length > 0) {
    document.lane = message.priority;
    document.routes = message.routes.map(toStoredRoute);
  }
  for (const [name, write] of CHANGING) {
    const value = write(message);
    if (value !== undefined) (document as Record<string, unknown>)[name] = value;
  }
  return document;
}

/**
 * Fields that change after the message was stored, and how each is written; `undefined` means
 * the document has no such field.
 */
const CHANGING: readonly (readonly [keyof MessageDocument, (message: Message) => unknown])[] = [
  ["status", (message) => message.status],
  ["body", (message) => message.body],
  ["unit_price", (message) => message.unitPrice],
  ["amount", (message) => message.amount],
  ["error", (message) => message.error],
  ["carrier_code", (message) => message.carrierCode],
  ["sent_at", (message) => toDate(message.sentAtMs)],
  ["completed_at", (message) => toDate(message.completedAtMs)],
  ["updated_at", (message) => toDate(message.updatedAtMs)],
  ["route_at", (message) => message.routeAt || undefined],
  ["phase", (message) => message.phase],
  ["claim", ({ claim }) => claim && toStoredClaim(claim)],
  ["attempts", (message) => message.attempts || undefined],
  [
    "not_before",
    ({ status, notBeforeMs }) => (status === "queued" ? dateOf(notBeforeMs) : undefined),
  ],
  ["queue_until", (message) => toDate(message.queueUntilMs)],
  ["quiet_until", (message) => toDate(message.quietUntilMs)],
  ["released_at", (message) => toDate(message.releasedAtMs)],
  ["queue", queueOf],
  ["due_at", (message) => toDate(message.dueAtMs)],
  [
    "receipts",
    ({ receipts }) => {
      const { delivered, failed, isTaken = false, isIncomplete = false } = receipts;
      return delivered === 0 && failed === 0 && !isTaken && !isIncomplete ? undefined : receipts;
    },
  ],
];

/**
 * The next revision of a stored message. Changes only the fields that the decision changed, so fields of a newer
 * version stay.
 */
export function nextDocument(
  stored: MessageDocument,
  before: Message,
  after: Message,
): MessageDocument {
  const next: Record<string, unknown> = { ...stored, revision: before.revision + 1 };
  for (const [name, write] of CHANGING) {
    const value = write(after);
    if (isSame(write(before), value)) continue;
    if (value === undefined) delete next[name];
    else next[name] = value;
  }
  if (after.history !== before.history) {
    next.history = carryOver(before.history, stored.history, after.history, toStoredChange);
  }
  if (after.routes !== before.routes) {
    next.routes = carryOver(before.routes, stored.routes ?? [], after.routes, toStoredRoute);
  }
  return next as MessageDocument;
}

/** Unchanged entries stay as stored, with fields of a newer version. */
function carryOver<Entry, Stored>(
  before: readonly Entry[],
  stored: readonly Stored[],
  after: readonly Entry[],
  write: (entry: Entry) => Stored,
): Stored[] {
  return after.map((entry) => stored[before.indexOf(entry)] ?? write(entry));
}

export function fromDocument(document: MessageDocument): Message {
  const { claim, receipts } = document;
  return {
    id: document._id,
    tenantId: document.tenant_id,
    mode: document.mode,
    source: document.source,
    campaignId: document.campaign_id,
    reservationId: document.reservation_id,
    keyId: document.key_id,
    country: document.country,
    status: document.status,
    to: document.to,
    from: document.from,
    body: document.body,
    encoding: document.encoding,
    segments: document.segments,
    heldAmount: toAmount(document.held),
    unitPrice: document.unit_price === undefined ? undefined : toAmount(document.unit_price),
    amount: document.amount === undefined ? undefined : toAmount(document.amount),
    currency: document.currency,
    clientReference: document.client_reference,
    trafficClass: readClass(document),
    isConsentReply: document.consent_reply === true,
    error: document.error,
    carrierCode: document.carrier_code,
    scheduledAtMs: document.scheduled_at?.getTime(),
    sentAtMs: document.sent_at?.getTime(),
    completedAtMs: document.completed_at?.getTime(),
    updatedAtMs: document.updated_at.getTime(),
    history: fromHistory(document),
    routes: (document.routes ?? []).map((route) => ({
      routeId: route.route_id,
      connectorId: route.connector_id,
      price: toAmount(route.price),
    })),
    routeAt: document.route_at ?? 0,
    priority: document.lane ?? "single",
    phase: document.phase,
    claim: claim && fromStoredClaim(claim),
    attempts: document.attempts ?? 0,
    notBeforeMs: document.not_before?.getTime() ?? 0,
    queueUntilMs: document.queue_until?.getTime(),
    quietUntilMs: document.quiet_until?.getTime(),
    releasedAtMs: document.released_at?.getTime(),
    rejectsInQuietHours: document.rejects_quiet === true,
    dueAtMs: document.due_at?.getTime(),
    receipts: receipts ?? NO_RECEIPTS,
    redact: document.redact === true,
    trace: document.trace,
    revision: document.revision,
  };
}

/**
 * The class of a stored message. Without one it is transactional; a class of a newer release, which this one does not
 * know, is read as promotional.
 */
export function readClass(document: Pick<MessageDocument, "traffic_class">): TrafficClass {
  return trafficClassOf(document.traffic_class ?? "transactional");
}

/** Writes a claim; a claim that quiet hours do not bind has no span. */
export function toStoredClaim({ id, carrierId, atMs, openSpan }: Claim): StoredClaim {
  const stored = { id, carrier: carrierId, at: new Date(atMs) };
  if (openSpan === undefined) return stored;
  return {
    ...stored,
    open_from: new Date(openSpan.fromMs),
    open_until: new Date(openSpan.untilMs),
  };
}

/** Reads a claim. */
export function fromStoredClaim({ id, carrier, at, open_from, open_until }: StoredClaim): Claim {
  const claim = { id, carrierId: carrier, atMs: at.getTime() };
  if (open_from === undefined || open_until === undefined) return claim;
  return { ...claim, openSpan: { fromMs: open_from.getTime(), untilMs: open_until.getTime() } };
}

export function fromHistory({ history }: Pick<MessageDocument, "history">): StatusChange[] {
  return history.map(fromStoredChange);
}

const NO_RECEIPTS = Object.freeze({ delivered: 0, failed: 0 });

function toStoredRoute({ routeId, connectorId, price }: Message["routes"][number]): StoredRoute {
  return { route_id: routeId, connector_id: connectorId, price };
}

function toStoredChange(change: StatusChange): MessageDocument["history"][number] {
  const stored = { status: change.status, at: dateOf(change.atMs) };
  return change.error === undefined ? stored : { ...stored, error: change.error };
}

function fromStoredChange(stored: MessageDocument["history"][number]): StatusChange {
  return { status: stored.status, atMs: stored.at.getTime(), error: stored.error };
}

function toDate(atMs: number | undefined): Date | undefined {
  return atMs === undefined ? undefined : dateOf(atMs);
}

let lastDate = new Date(0);

/**
 * Shares one `Date` between equal instants in a row: most dates of consecutive messages are equal, and no document is
 * changed.
 */
function dateOf(atMs: number): Date {
  if (lastDate.getTime() !== atMs) lastDate = new Date(atMs);
  return lastDate;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  if (isPlain(a) && isPlain(b)) {
    const names = Object.keys(a);
    return (
      names.length === Object.keys(b).length && names.every((name) => isSame(a[name], b[name]))
    );
  }
  return a === b;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !(value instanceof Date);
}
