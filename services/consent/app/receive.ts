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
      const isNew = await inbound.arrive(key, await arrivalOf({ key, first: part, bodies }));
      if (isNew) await announce(part.to);
      return key;
    }
    const group = await inbound.addPart(key, part, parts.partsWaitMs);
    if (typeof group !== "string") await finish(group);
    return key;
  }

  async function finish(group: PartGroup): Promise<void> {
    const isNew = await inbound.arriveGroup(group, await arrivalOf(group));
    if (isNew) await announce(group.first.to);
  }

  /** Invalidates the cached suppressions of every tenant with this number. */
  async function announce(to: string): Promise<void> {
    const owners = await settings.numbersOf(to);
    parts.onReceived(owners.length > 0);
    for (const tenantId of new Set(owners.map((one) => one.tenantId)))
      invalidation.changed(tenantId);
  }

  async function arrivalOf({ first, bodies }: PartGroup): Promise<Arrival> {
    const rows = await settings.numbersOf(first.to);
    const body = joinParts(bodies);
    const { owner, text } = findOwner(rows, body);
    const nowMs = clock.now();
    const keywords = owner && (await settings.keywords(owner.tenantId));
    const action = keywords && (actionOf(body, keywords) ?? actionOf(text, keywords));
    const message: InboundMessage = {
      id: newId("inboundMessage", nowMs),
      tenantId: owner?.tenantId,
      from: first.from,
      to: first.to,
      body,
      encoding: first.encoding,
      parts: first.total,
      partsReceived: bodies.size,
      action,
      connectorId: first.connectorId,
      receivedAtMs: first.receivedAtMs,
    };
    const consents = await consentsOf(message, owner, rows, text);
    const reply = owner && keywords && replyOf(message, owner, keywords, nowMs);
    return { message, consents, reply };
  }

  /** The opt-out or opt-in of a message. Without an owner it counts for every tenant with this number. */
  async function consentsOf(
    message: InboundMessage,
    owner: InboundNumber | undefined,
    rows: readonly InboundNumber[],
    text: string,
  ): Promise<Consent[]> {
    if (!message.from.startsWith("+")) return [];
    const concerned = owner === undefined ? rows : [owner];
    const consents: Consent[] = [];
    for (const row of concerned) {
      const own = await settings.keywords(row.tenantId);
      const action = actionOf(message.body, own) ?? actionOf(text, own);
      if (action !== "opt_out" && action !== "opt_in") continue;
      const isAll = isForAll(message.body) || isForAll(text);
      consents.push({
        tenantId: row.tenantId,
        number: message.from,
        sender: isAll ? "" : row.sender.toLowerCase(),
        isOut: action === "opt_out",
        source: "keyword",
        reason: message.body.slice(0, 256),
        atMs: message.receivedAtMs,
      });
    }
    return consents;
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

function replyOf(
  message: InboundMessage,
  owner: InboundNumber,
  keywords: Keywords,
  nowMs: number,
): Reply | undefined {
  const { action, from } = message;
  if (action === undefined || !from.startsWith("+")) return undefined;
  const body = keywords.replies[action];
  if (body === "") return undefined;
  // The reply comes from the number that the handset wrote to, unless the opt-out is for one sender ID.
  const sender = owner.sender === "" ? owner.number : owner.sender;
  const { tenantId } = owner;
  return { id: message.id, tenantId, from: sender, to: from, body, createdAtMs: nowMs };
}
