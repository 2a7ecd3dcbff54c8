/**
 * Inbound messages in MongoDB. `repeat_key` is unique while it is set, so a repeat of a message that is not
 * confirmed cannot be stored. Without a confirmation the key is free again at `repeat_until`.
 */
import { randomUUID } from "node:crypto";
import type { ClientSession, Db, MongoClient } from "mongodb";
import { type Clock, systemClock } from "../../shared/core/clock.ts";
import { lowestIdAt } from "../../shared/core/ids.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey } from "../../shared/io/mongo-errors.ts";
import type {
  InboundFilter,
  InboundStore,
  KeyedPart,
  NewArrival,
  PartGroup,
} from "../app/ports.ts";
import { type InboundMessage, type InboundPart, repeatWindowMs } from "../domain/inbound.ts";
import { type NewConsent, writeConsents } from "./consent-writes.ts";
import { createDoubledMessages } from "./doubled-messages.ts";
import type { EventOutbox } from "./event-outbox.ts";
import type { InboundDocument } from "./inbound-document.ts";
import { writeReplies } from "./reply-store.ts";

type GroupDocument = {
  _id: string;
  first: InboundPart;
  /** The text of each part, by its sequence. */
  bodies: Record<string, string>;
  /** Set until all parts arrived, or the message was delivered without the missing ones. */
  due_at?: Date;
  expires_at: Date;
};

const KEEP_MS = 31_708_800_000;
const KEEP_UNOWNED_MS = 604_800_000;
/** Parts that come after the rest was delivered are repeats for this long. */
const GROUP_KEEP_MS = 3_600_000;
/** Attempts of a transaction that meets the same message in another process. */
const ATTEMPTS_MAX = 5;

/** Inbound messages in MongoDB; the port explains the methods. */
export function createInboundStore(
  client: MongoClient,
  db: Db,
  outbox: EventOutbox,
  clock: Clock = systemClock,
): InboundStore {
  const inbound = db.collection<InboundDocument>("inbound");
  const groups = db.collection<GroupDocument>("inbound_parts");

  /** Returns the keys among these that belong to repeats; frees keys whose time is over. */
  async function findRepeats(keys: readonly string[], nowMs: number, session: ClientSession) {
    if (keys.length === 0) return new Set<string>();
    const known = await inbound
      .find({ repeat_key: { $in: [...keys] } }, { session, projection: REPEAT_FIELDS })
      .toArray();
    const isOver = (document: InboundDocument) => repeatUntilMs(document) <= nowMs;
    const over = known.filter(isOver).map(({ _id }) => _id);
    if (over.length > 0) {
      await inbound.updateMany({ _id: { $in: over } }, { $unset: { repeat_key: 1 } }, { session });
    }
    return new Set(known.flatMap((one) => (isOver(one) ? [] : (one.repeat_key ?? []))));
  }

  /** Marks groups as done; returns those that were not. */
  async function closeGroups(keys: readonly string[], session: ClientSession) {
    if (keys.length === 0) return new Set<string>();
    const filter = { _id: { $in: [...keys] }, due_at: { $exists: true } };
    const open = await groups.find(filter, { session, projection: { _id: 1 } }).toArray();
    // Another process that closes one of them meanwhile makes this transaction start again.
    await groups.updateMany(filter, { $unset: { due_at: 1 } }, { session });
    return new Set(open.map(({ _id }) => _id));
  }

  /** The items that are stored now: the others are repeats, or were delivered by another process. */
  async function pickNew(items: readonly NewArrival[], nowMs: number, session: ClientSession) {
    const [whole, joined] = [items.filter(isWhole), items.filter((item) => !isWhole(item))];
    const keysOf = (some: readonly NewArrival[]) => some.map(({ group }) => group.key);
    const taken = await findRepeats(keysOf(whole), nowMs, session);
    const open = await closeGroups(keysOf(joined), session);
    return items.filter((item) => {
      const { key } = item.group;
      if (!isWhole(item)) return open.has(key);
      if (taken.has(key)) return false;
      // The same message twice in one call is a repeat too.
      taken.add(key);
      return true;
    });
  }

  async function writeAll(items: readonly NewArrival[], session: ClientSession) {
    const nowMs = clock.now();
    const stored = await pickNew(items, nowMs, session);
    if (stored.length > 0) {
      await inbound.insertMany(
        stored.map((item) => fromArrival(item, nowMs)),
        { session },
      );
    }
    const isStored = new Set(stored);
    const consents = items.flatMap((item) =>
      isStored.has(item) ? consentsOf(item) : optOutsOf(item),
    );
    const changes = await writeConsents(db, consents, session);
    await writeReplies(
      db,
      stored.flatMap(({ arrival }) => arrival.reply ?? []),
      session,
    );
    const received = stored.flatMap(({ arrival: { message } }) =>
      message.tenantId === undefined ? [] : [{ kind: "received", message } as const],
    );
    return { stored, ticket: await outbox.write([...received, ...changes], session) };
  }

  return {
    async arrive(items) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          const made = await runTransaction(client, (session) => writeAll(items, session));
          outbox.publish(made.ticket);
          return made.stored;
        } catch (error) {
          // Another process stored the same message or number meanwhile; the next attempt sees it.
          if (!isDuplicateKey(error) || attempt === ATTEMPTS_MAX) throw error;
        }
      }
    },
    addParts: (parts, waitMs) =>
      runTransaction(client, async (session) => {
        const nowMs = clock.now();
        const filter = { _id: { $in: [...new Set(parts.map(({ key }) => key))] } };
        const stored = await groups.find(filter, { session }).toArray();
        const known = new Map(stored.map((group) => [group._id, group]));
        const changed = new Map<string, GroupDocument>();
        const put = (group: GroupDocument) => {
          known.set(group._id, group);
          changed.set(group._id, group);
        };
        for (const { key, part } of parts) {
          const before = known.get(key);
          if (isReused(before, part)) put(setAside(before, nowMs));
          const group = withPart(before, { key, part }, nowMs, waitMs);
          if (group !== undefined) put(group);
        }
        if (changed.size > 0) {
          await groups.bulkWrite(
            [...changed].map(([_id, group]) => ({
              replaceOne: { filter: { _id }, replacement: group, upsert: true },
            })),
            { session, ordered: false },
          );
        }
        return [...known.values()].filter(isComplete).map(toGroup);
      }),
    async findOverdue(nowMs, limit) {
      const found = await guardMongo(
        groups
          .find({ due_at: { $lte: new Date(nowMs) } })
          .sort({ due_at: 1 })
          .limit(limit)
          .toArray(),
      );
      return found.map(toGroup);
    },
    async confirm(keys) {
      await guardMongo(
        inbound.updateMany(
          { repeat_key: { $in: [...keys] } },
          { $unset: { repeat_key: 1 }, $set: { confirmed_at: new Date(clock.now()) } },
        ),
      );
    },
    async list(filter) {
      const found = await guardMongo(
        inbound.find(toQuery(filter)).sort({ _id: -1 }).limit(filter.limit).toArray(),
      );
      return found.map(toMessage);
    },
    async find(tenantId, id) {
      const found = await guardMongo(inbound.findOne({ _id: id, tenant_id: tenantId ?? null }));
      return found === null ? undefined : toMessage(found);
    },
    ...createDoubledMessages(inbound),
    countUnowned: () => guardMongo(inbound.countDocuments({ tenant_id: null }, { limit: 10_000 })),
  };
}

const REPEAT_FIELDS = { repeat_key: 1, repeat_until: 1, stored_at: 1 } as const;

/** For documents of earlier releases, which have no `repeat_until`. n-1: remove in 0.4.0. */
const OLD_REPEAT_MS = 3_600_000;

function repeatUntilMs({ repeat_until, stored_at }: InboundDocument): number {
  return repeat_until?.getTime() ?? stored_at.getTime() + OLD_REPEAT_MS;
}

function isWhole({ group }: NewArrival): boolean {
  return group.first.total === 1;
}

function consentsOf({ arrival: { message, consents } }: NewArrival): NewConsent[] {
  return consents.map((consent) => ({ consent, inboundMessageId: message.id }));
}

/** True for an open message whose reference is used again: the part at this place has another text. */
function isReused(stored: GroupDocument | undefined, part: InboundPart): stored is GroupDocument {
  const known = stored?.bodies[part.sequence];
  return stored?.due_at !== undefined && known !== undefined && known !== part.body;
}

/** The group under a new key and due now, to be delivered with the parts that arrived. */
function setAside(group: GroupDocument, nowMs: number): GroupDocument {
  return { ...group, _id: `${group._id}|${randomUUID()}`, due_at: new Date(nowMs) };
}

/**
 * A repeat opts out once more: it may be a new STOP after a START, of the same words as a STOP whose confirmation was
 * lost. A repeated START changes nothing, because it may be older than a STOP.
 */
function optOutsOf({ arrival: { consents } }: NewArrival): NewConsent[] {
  return consents.flatMap((consent) =>
    consent.isOut ? [{ consent, inboundMessageId: undefined }] : [],
  );
}

/** The group with a part; undefined when the part changes nothing. */
function withPart(
  stored: GroupDocument | undefined,
  { key, part }: KeyedPart,
  nowMs: number,
  waitMs: number,
): GroupDocument | undefined {
  const known = stored?.bodies[part.sequence];
  if (known === part.body) return undefined;
  // Another text at this place means that the carrier uses the reference again: another message begins.
  const isOther = known !== undefined;
  const isDone = stored !== undefined && stored.due_at === undefined;
  if (isDone && !isOther) return undefined;
  const base = stored === undefined || isOther ? newGroup(key, part, nowMs, waitMs) : stored;
  return { ...base, bodies: { ...base.bodies, [part.sequence]: part.body } };
}

/** Every part has come, and the message is not delivered yet. */
function isComplete({ due_at, bodies, first }: GroupDocument): boolean {
  return due_at !== undefined && Object.keys(bodies).length === first.total;
}

function newGroup(key: string, part: InboundPart, nowMs: number, waitMs: number): GroupDocument {
  return {
    _id: key,
    first: part,
    bodies: {},
    due_at: new Date(nowMs + waitMs),
    expires_at: new Date(nowMs + waitMs + GROUP_KEEP_MS),
  };
}

function toGroup({ _id, first, bodies }: GroupDocument): PartGroup {
  const entries = Object.entries(bodies).map(([at, body]) => [Number(at), body] as const);
  return { key: _id, first, bodies: new Map(entries) };
}

function toQuery(filter: InboundFilter) {
  const { receivedAfterMs, receivedBeforeMs, beforeId } = filter;
  const before = lowestIdAt("inboundMessage", receivedBeforeMs);
  return {
    tenant_id: filter.tenantId ?? null,
    ...(filter.from === "" ? {} : { from: filter.from }),
    ...(filter.to === "" ? {} : { to: filter.to }),
    _id: {
      $gte: lowestIdAt("inboundMessage", receivedAfterMs),
      $lt: beforeId !== "" && beforeId < before ? beforeId : before,
    },
  };
}

function fromArrival(item: NewArrival, nowMs: number): InboundDocument {
  const { group, arrival } = item;
  const { message } = arrival;
  const keepMs = message.tenantId === undefined ? KEEP_UNOWNED_MS : KEEP_MS;
  const repeats = {
    message_key: group.key,
    repeat_key: group.key,
    repeat_until: new Date(nowMs + repeatWindowMs(group.first)),
  };
  return {
    _id: message.id,
    tenant_id: message.tenantId ?? null,
    from: message.from,
    to: message.to,
    body: message.body,
    encoding: message.encoding,
    parts: message.parts,
    parts_received: message.partsReceived,
    ...(message.action && { action: message.action }),
    connector_id: message.connectorId,
    received_at: new Date(message.receivedAtMs),
    ...(isWhole(item) ? repeats : {}),
    stored_at: new Date(nowMs),
    expires_at: new Date(nowMs + keepMs),
  };
}

function toMessage(document: InboundDocument): InboundMessage {
  return {
    id: document._id,
    tenantId: document.tenant_id ?? undefined,
    from: document.from,
    to: document.to,
    body: document.body,
    encoding: document.encoding,
    parts: document.parts,
    partsReceived: document.parts_received,
    action: document.action,
    connectorId: document.connector_id,
    receivedAtMs: document.received_at.getTime(),
  };
}
