/**
 * Doorbells on NATS core: `doorbell.<connector>` after each commit that put something in its queues.
 * Carriers claim when it rings; the other replicas of messaging note what it names. A bell that is
 * lost costs time: a carrier's poll, a replica's look at the whole queue.
 */
import type { NatsConnection } from "nats";
import { isId } from "../../shared/core/ids.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { openPublisher, readJson, subscribe } from "../../shared/io/best-effort-pubsub.ts";
import type { Arrival } from "../app/pending-index.ts";

/** One replica's bells. */
export type QueueNotifier = {
  ring(connectorId: string, arrivals: readonly Arrival[]): void;
  /** Calls back for what other replicas put in. */
  onNotify(take: (connectorId: string, arrival: Arrival) => void): void;
};

/** Lane, tenant, first message, due; then each message and when it is due, unless they are too many. */
type Wire = readonly [
  priority: Arrival["priority"],
  tenantId: string,
  messageId: string,
  dueAtMs: number,
  named?: readonly (readonly [messageId: string, dueAtMs: number])[],
];

const PREFIX = "doorbell.";

/** Arrivals told in one bell at most; what is not told is found by looking. */
const ITEMS_MAX = 1000;

/** Messages named in one bell at most: 50 bytes each, far below what NATS takes (1 MiB unless set). */
const NAMED_MAX = 4000;

/** Opens one replica's bells over the event connection. */
export function openQueueNotifier(
  connection: NatsConnection,
  replica: string,
  log: Logger,
): QueueNotifier {
  const tell = openPublisher(connection);
  return {
    ring(connectorId, arrivals) {
      let room = NAMED_MAX;
      const told = arrivals.slice(0, ITEMS_MAX).map((one): Wire => {
        const first = [one.priority, one.tenantId, one.messageId, one.dueAtMs] as const;
        if (one.named === undefined || one.named.length > room) return first;
        room -= one.named.length;
        return [...first, one.named.map(({ messageId, dueAtMs }) => [messageId, dueAtMs])];
      });
      tell(`${PREFIX}${connectorId}`, `${replica}\n${JSON.stringify(told)}`);
    },
    onNotify(take) {
      subscribe(connection, `${PREFIX}*`, (message) => {
        const text = message.string();
        const end = text.indexOf("\n");
        if (end < 0 || text.slice(0, end) === replica) return;
        const arrivals = readArrivals(text.slice(end + 1));
        if (arrivals === undefined) log.warn({ subject: message.subject }, "a bell says nothing");
        for (const arrival of arrivals ?? []) take(message.subject.slice(PREFIX.length), arrival);
      });
    },
  };
}

/** Reads what a bell says; undefined when it is not in this version's form. */
export function readArrivals(text: string): Arrival[] | undefined {
  const arrivals = readJson(text, areWire);
  return arrivals?.map(([priority, tenantId, messageId, dueAtMs, named]) => ({
    priority,
    tenantId,
    messageId,
    dueAtMs,
    named: named?.map(([messageId, dueAtMs]) => ({ messageId, dueAtMs })),
  }));
}

function areWire(value: unknown): value is Wire[] {
  return Array.isArray(value) && value.every(isWire);
}

function isWire(told: unknown): told is Wire {
  if (!Array.isArray(told)) return false;
  const [priority, tenantId, messageId, dueAtMs, named = []] = told as unknown[];
  return (
    (priority === "single" || priority === "bulk") &&
    typeof tenantId === "string" &&
    isNamed([messageId, dueAtMs]) &&
    Array.isArray(named) &&
    named.every(isNamed)
  );
}

function isNamed(told: unknown): boolean {
  if (!Array.isArray(told)) return false;
  const [messageId, dueAtMs] = told as unknown[];
  return typeof messageId === "string" && isId("message", messageId) && Number.isFinite(dueAtMs);
}
