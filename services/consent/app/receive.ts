/**
 * Receives inbound messages. A part is acknowledged to the carrier only when it is stored, so after a crash the carrier
 * sends it again. The parts of one call are stored together, because a transaction costs more than its content; a
 * message, its opt-out or opt-in, the events and the reply commit together.
 *
 * Most inbound messages have no id. The same text between the same numbers is a repeat until the carrier has confirmed
 * it; after that it is a new message.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { newId } from "../../shared/core/ids.ts";
import {
  findOwner,
  groupKey,
  type InboundAction,
  type InboundMessage,
  type InboundNumber,
  type InboundPart,
  joinParts,
  needsConfirmation,
  normalisePart,
} from "../domain/inbound.ts";
import { actionOf, isForAll, type Keywords, NO_KEYWORDS } from "../domain/keywords.ts";
import type { Consent } from "../domain/suppression.ts";
import type {
  Arrival,
  ConsentInvalidation,
  InboundStore,
  NewArrival,
  PartGroup,
  Reply,
  SettingsStore,
} from "./ports.ts";

export type ReceiveParts = {
  readonly inbound: InboundStore;
  readonly settings: Pick<SettingsStore, "numbersOf" | "keywordsOf">;
  readonly invalidation: ConsentInvalidation;
  readonly clock: Clock;
  readonly partsWaitMs: number;
  readonly onReceived: (isOwned: boolean) => void;
};

export type Receive = ReturnType<typeof createReceive>;

const OVERDUE_BATCH = 100;
/** The most characters in one transaction: its events are one document, and a document has at most 16 MiB. */
const CHARS_PER_TRANSACTION = 1_000_000;

export function createReceive(parts: ReceiveParts) {
  const { inbound, settings, invalidation, clock } = parts;

  /** Stores parts; returns for each the key by which it is confirmed, or an empty text if it needs no confirmation. */
  async function record(given: readonly InboundPart[]): Promise<string[]> {
    const keyed = given.map(normalisePart).map((part) => ({ key: groupKey(part), part }));
    const whole = keyed
      .filter(({ part }) => part.total === 1)
      .map(({ key, part }) => ({ key, first: part, bodies: new Map([[1, part.body]]) }));
    const pieces = keyed.filter(({ part }) => part.total > 1);
    const joined = pieces.length === 0 ? [] : await inbound.addParts(pieces, parts.partsWaitMs);
    await deliver([...whole, ...joined]);
    return keyed.map(({ key, part }) => (needsConfirmation(part) ? key : ""));
  }

  /** Stores messages with their effects, and invalidates the cached suppressions that they change. */
  async function deliver(groups: readonly PartGroup[]): Promise<void> {
    for (const some of chunked(await arrivalsOf(groups))) {
      const stored = await inbound.arrive(some);
      for (const { isKnownNumber } of stored) parts.onReceived(isKnownNumber);
      // Invalidate for repeats too: a repeat may opt out.
      const tenants = some.flatMap(({ arrival }) => arrival.consents.map((one) => one.tenantId));
      for (const tenantId of new Set(tenants)) invalidation.changed(tenantId);
    }
  }

  async function arrivalsOf(groups: readonly PartGroup[]): Promise<NewArrival[]> {
    if (groups.length === 0) return [];
    const rows = await settings.numbersOf([...new Set(groups.map(({ first }) => first.to))]);
    const byNumber = Map.groupBy(rows, ({ number }) => number);
    const read = groups.map((group) => readGroup(group, byNumber.get(group.first.to) ?? []));
    const tenantIds = new Set(read.flatMap(({ asked }) => asked.map(({ tenantId }) => tenantId)));
    const words = await settings.keywordsOf([...tenantIds]);
    const nowMs = clock.now();
    return read.map((one) => ({
      group: one.group,
      arrival: arrivalOf(one, words, nowMs),
      isKnownNumber: byNumber.has(one.group.first.to),
    }));
  }

  return {
    record,
    confirm: (keys: readonly string[]) => inbound.confirm(keys),
    /** Delivers messages whose missing parts are overdue, without those parts. */
    async sweep(): Promise<boolean> {
      const overdue = await inbound.findOverdue(clock.now(), OVERDUE_BATCH);
      await deliver(overdue);
      return overdue.length === OVERDUE_BATCH;
    },
  };
}

/** Splits arrivals so that the texts of a transaction stay within its limit. */
function* chunked(items: readonly NewArrival[]): Generator<NewArrival[]> {
  let some: NewArrival[] = [];
  let chars = 0;
  for (const item of items) {
    const { length } = item.arrival.message.body;
    if (some.length > 0 && chars + length > CHARS_PER_TRANSACTION) {
      yield some;
      some = [];
      chars = 0;
    }
    some.push(item);
    chars += length;
  }
  if (some.length > 0) yield some;
}

/** A message with the tenants' rows of its number to which its text may be a request. */
type ReadGroup = {
  readonly group: PartGroup;
  readonly body: string;
  /** The text after the keyword. */
  readonly text: string;
  readonly owner: InboundNumber | undefined;
  readonly asked: readonly InboundNumber[];
};

function readGroup(group: PartGroup, rows: readonly InboundNumber[]): ReadGroup {
  const body = joinParts(group.bodies);
  const { owner, text } = findOwner(rows, body);
  // Without an owner an opt-out or opt-in counts for every tenant with this number.
  const others = canAnswer(group) ? rows : [];
  return { group, body, text, owner, asked: owner === undefined ? others : [owner] };
}

/** True when the sender is a number: only numbers can opt out and get a reply. */
function canAnswer({ first }: PartGroup): boolean {
  return first.from.startsWith("+");
}

function arrivalOf(
  { group, body, text, owner, asked: rows }: ReadGroup,
  words: ReadonlyMap<string, Keywords>,
  nowMs: number,
): Arrival {
  const { first, bodies } = group;
  const asked = rows.map((row): Asked => {
    const keywords = words.get(row.tenantId) ?? NO_KEYWORDS;
    return { row, keywords, action: actionOf(body, keywords) ?? actionOf(text, keywords) };
  });
  const byOwner = owner === undefined ? undefined : asked[0];
  const message: InboundMessage = {
    id: newId("inboundMessage", nowMs),
    tenantId: owner?.tenantId,
    from: first.from,
    to: first.to,
    body,
    encoding: first.encoding,
    parts: first.total,
    partsReceived: bodies.size,
    action: byOwner?.action,
    connectorId: first.connectorId,
    receivedAtMs: first.receivedAtMs,
  };
  if (!canAnswer(group)) return { message, consents: [], reply: undefined };
  const isAll = isForAll(body) || isForAll(text);
  const consents = asked.flatMap((one) => consentOf(message, one, isAll));
  return { message, consents, reply: byOwner && replyOf(message, byOwner, nowMs) };
}

/** The action that a message requests of one tenant. */
type Asked = {
  readonly row: InboundNumber;
  readonly keywords: Keywords;
  readonly action: InboundAction | undefined;
};

/** The opt-outs or opt-ins that a message makes of one tenant. START undoes STOPALL too, or it would change nothing. */
function consentOf(message: InboundMessage, { row, action }: Asked, isAll: boolean): Consent[] {
  if (action !== "opt_out" && action !== "opt_in") return [];
  const { from, body, receivedAtMs } = message;
  const isOut = action === "opt_out";
  const sender = row.sender.toLowerCase();
  const senders = isOut ? [isAll ? "" : sender] : new Set([sender, ""]);
  return Array.from(senders, (one) => ({
    tenantId: row.tenantId,
    number: from,
    sender: one,
    isOut,
    source: "keyword" as const,
    reason: body.slice(0, 256),
    atMs: receivedAtMs,
  }));
}

function replyOf(
  { id, from }: InboundMessage,
  { row, keywords, action }: Asked,
  nowMs: number,
): Reply | undefined {
  const body = action === undefined ? "" : keywords.replies[action];
  if (body === "") return undefined;
  // The reply comes from the number that the handset wrote to, unless the opt-out is for one sender ID.
  const sender = row.sender === "" ? row.number : row.sender;
  return { id, tenantId: row.tenantId, from: sender, to: from, body, createdAtMs: nowMs };
}
