/**
 * Inbound messages in MongoDB. `repeat_key` is unique while it is set, so a repeat of a message that is not
 * confirmed cannot be stored. A confirmation that is lost with its process ends by itself after `REPEAT_MS`.
 */
import type { ClientSession, Db, MongoClient } from "mongodb";
import { lowestIdAt } from "../../shared/core/ids.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey } from "../../shared/io/mongo-errors.ts";
import type { OutboxTicket } from "../../shared/io/outbox.ts";
import type { Arrival, InboundFilter, InboundStore, PartGroup } from "../app/ports.ts";
import type { InboundMessage, InboundPart } from "../domain/inbound.ts";
import { writeConsents } from "./consent-writes.ts";
import type { EventOutbox } from "./event-outbox.ts";
import { writeReply } from "./reply-store.ts";

type InboundDocument = {
  _id: string;
  tenant_id: string | null;
  from: string;
  to: string;
  body: string;
  encoding: InboundMessage["encoding"];
  parts: number;
  parts_received: number;
  action?: InboundMessage["action"] & string;
  connector_id: string;
  received_at: Date;
  repeat_key?: string;
  stored_at: Date;
  expires_at: Date;
};

type GroupDocument = {
  _id: string;
  first: InboundPart;
  /** By sequence. */
  bodies: Record<string, string>;
  /** Set until all parts arrived, or the message was delivered without the missing ones. */
  due_at?: Date;
  expires_at: Date;
};

/** Carriers repeat parts without an acknowledgement within this time. */
const REPEAT_MS = 3_600_000;
const KEEP_MS = 31_708_800_000;
const KEEP_UNOWNED_MS = 604_800_000;
/** Parts that come after the rest was delivered are repeats for this long. */
const GROUP_KEEP_MS = 3_600_000;

export function createInboundStore(client: MongoClient, db: Db, outbox: EventOutbox): InboundStore {
  const inbound = db.collection<InboundDocument>("inbound");
  const groups = db.collection<GroupDocument>("inbound_parts");

  /** Writes a message with its effects. */
  async function write(
    arrival: Arrival,
    repeatKey: string | undefined,
    session: ClientSession,
  ): Promise<OutboxTicket | undefined> {
    const { message, consents, reply } = arrival;
    const nowMs = Date.now();
    if (repeatKey !== undefined) {
      await inbound.updateOne(
        { repeat_key: repeatKey, stored_at: { $lte: new Date(nowMs - REPEAT_MS) } },
        { $unset: { repeat_key: 1 } },
        { session },
      );
    }
    await inbound.insertOne(fromMessage(message, repeatKey, nowMs), { session });
    const changes = await writeConsents(db, consents, message.id, session);
    if (reply !== undefined) await writeReply(db, reply, session);
    const received = message.tenantId === undefined ? [] : [{ kind: "received", message } as const];
    return outbox.write([...received, ...changes], session);
  }

  return {
    async arrive(key, arrival) {
      let ticket: OutboxTicket | undefined;
      try {
        await runTransaction(client, async (session) => {
          ticket = await write(arrival, key, session);
        });
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
      outbox.publish(ticket);
      return true;
    },
    async addPart(key, part, waitMs) {
      const nowMs = Date.now();
      return runTransaction(client, async (session) => {
        const stored = await groups.findOne({ _id: key }, { session });
        const known = stored?.bodies[part.sequence];
        const isOther = known !== undefined && known !== part.body;
        const isDone = stored !== null && stored.due_at === undefined;
        if (isDone && !isOther) return "done";
        // The reference is used again: another message begins.
        const base = stored === null || isOther ? newGroup(key, part, nowMs, waitMs) : stored;
        const group = { ...base, bodies: { ...base.bodies, [part.sequence]: part.body } };
        await groups.replaceOne({ _id: key }, group, { session, upsert: true });
        const isWhole = Object.keys(group.bodies).length === group.first.total;
        return isWhole ? toGroup(group) : "waiting";
      });
    },
    async arriveGroup(group, arrival) {
      let ticket: OutboxTicket | undefined;
      const isNew = await runTransaction(client, async (session) => {
        // Another process may have delivered it meanwhile.
        const done = await groups.updateOne(
          { _id: group.key, due_at: { $exists: true } },
          { $unset: { due_at: 1 } },
          { session },
        );
        if (done.matchedCount === 0) return false;
        ticket = await write(arrival, undefined, session);
        return true;
      });
      if (isNew) outbox.publish(ticket);
      return isNew;
    },
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
        inbound.updateMany({ repeat_key: { $in: [...keys] } }, { $unset: { repeat_key: 1 } }),
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
    countUnowned: () => guardMongo(inbound.countDocuments({ tenant_id: null }, { limit: 10_000 })),
  };
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

function fromMessage(
  message: InboundMessage,
  repeatKey: string | undefined,
  nowMs: number,
): InboundDocument {
  const keepMs = message.tenantId === undefined ? KEEP_UNOWNED_MS : KEEP_MS;
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
    ...(repeatKey === undefined ? {} : { repeat_key: repeatKey }),
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
