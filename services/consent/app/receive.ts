/**
 * Receives inbound messages. A part is acknowledged to the carrier only when it is stored, so after a crash the carrier
 * sends it again. A message, its opt-out or opt-in, the events and the reply commit in one transaction.
 *
 * An inbound message has no id. The same text between the same numbers is its repeat until the carrier has confirmed
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
  normalisePart,
} from "../domain/inbound.ts";
import { actionOf, isForAll, type Keywords } from "../domain/keywords.ts";
import type { Consent } from "../domain/suppression.ts";
import type {
  Arrival,
  ConsentInvalidation,
  InboundStore,
  PartGroup,
  Reply,
  SettingsStore,
} from "./ports.ts";

export type ReceiveParts = {
  readonly inbound: InboundStore;
  readonly settings: Pick<SettingsStore, "numbersOf" | "keywords">;
  readonly invalidation: ConsentInvalidation;
  readonly clock: Clock;
  readonly partsWaitMs: number;
  readonly onReceived: (isOwned: boolean) => void;
};

export type Receive = ReturnType<typeof createReceive>;

const OVERDUE_BATCH = 100;

export function createReceive(parts: ReceiveParts) {
  const { inbound, settings, invalidation, clock } = parts;

  /** Stores one part; returns its key, by which it is confirmed. */
  async function record(given: InboundPart): Promise<string> {
    const part = normalisePart(given);
    const key = groupKey(part);
    if (part.total === 1) {
      const bodies = new Map([[1, part.body]]);
      await deliver({ key, first: part, bodies }, (arrival) => inbound.arrive(key, arrival));
      return key;
    }
    const group = await inbound.addPart(key, part, parts.partsWaitMs);
    if (typeof group !== "string") await finish(group);
    return key;
  }

  const finish = (group: PartGroup) =>
    deliver(group, (arrival) => inbound.arriveGroup(group, arrival));

  /** Stores a message with its effects, and invalidates the cached suppressions that it changes. */
  async function deliver(
    group: PartGroup,
    store: (arrival: Arrival) => Promise<boolean>,
  ): Promise<void> {
    const rows = await settings.numbersOf(group.first.to);
    const arrival = await arrivalOf(group, rows);
    if (!(await store(arrival))) return;
    parts.onReceived(rows.length > 0);
    const tenants = new Set(arrival.consents.map(({ tenantId }) => tenantId));
    for (const tenantId of tenants) invalidation.changed(tenantId);
  }

  async function arrivalOf(
    { first, bodies }: PartGroup,
    rows: readonly InboundNumber[],
  ): Promise<Arrival> {
    const body = joinParts(bodies);
    const { owner, text } = findOwner(rows, body);
    const nowMs = clock.now();
    const canAnswer = first.from.startsWith("+");
    // Without an owner an opt-out or opt-in counts for every tenant with this number.
    const others = canAnswer ? rows : [];
    const asked = await readActions(owner === undefined ? others : [owner], body, text);
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
    if (!canAnswer) return { message, consents: [], reply: undefined };
    const isAll = isForAll(body) || isForAll(text);
    const consents = asked.flatMap((one) => consentOf(message, one, isAll));
    return { message, consents, reply: byOwner && replyOf(message, byOwner, nowMs) };
  }

  /** What the text asks of the tenant of each row, by the tenant's words. */
  async function readActions(
    rows: readonly InboundNumber[],
    body: string,
    text: string,
  ): Promise<Asked[]> {
    const asked: Asked[] = [];
    for (const row of rows) {
      const keywords = await settings.keywords(row.tenantId);
      const action = actionOf(body, keywords) ?? actionOf(text, keywords);
      asked.push({ row, keywords, action });
    }
    return asked;
  }

  return {
    record,
    confirm: (keys: readonly string[]) => inbound.confirm(keys),
    /** Delivers messages whose missing parts are overdue, without those parts. */
    async sweep(): Promise<boolean> {
      const overdue = await inbound.findOverdue(clock.now(), OVERDUE_BATCH);
      for (const group of overdue) await finish(group);
      return overdue.length === OVERDUE_BATCH;
    },
  };
}

/** What a message asks of one tenant. */
type Asked = {
  readonly row: InboundNumber;
  readonly keywords: Keywords;
  readonly action: InboundAction | undefined;
};

/** The opt-out or opt-in of a message, if it is one. */
function consentOf(message: InboundMessage, { row, action }: Asked, isAll: boolean): Consent[] {
  if (action !== "opt_out" && action !== "opt_in") return [];
  const { from, body, receivedAtMs } = message;
  return [
    {
      tenantId: row.tenantId,
      number: from,
      sender: isAll ? "" : row.sender.toLowerCase(),
      isOut: action === "opt_out",
      source: "keyword",
      reason: body.slice(0, 256),
      atMs: receivedAtMs,
    },
  ];
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
