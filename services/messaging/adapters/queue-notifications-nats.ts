/**
 * Queue notifications on NATS core: `doorbell.<connector>` after each commit that put messages into its queues.
 * Carriers claim when they receive one; other replicas of messaging add its message ids to their pending index. A
 * lost notification costs time: until the carrier's next poll, or until a replica's next full rescan.
 */
import type { NatsConnection } from "nats";
import { isId } from "../../shared/core/ids.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { openPublisher, readJson, subscribe } from "../../shared/io/best-effort-pubsub.ts";
import type { Arrival } from "../app/pending-index.ts";

/** The queue notifications of one replica. */
export type QueueNotifier = {
  publish(connectorId: string, arrivals: readonly Arrival[]): void;
  /** Calls back for arrivals at other replicas. */
  subscribe(onArrival: (connectorId: string, arrival: Arrival) => void): void;
};

/**
 * An arrival: priority class, tenant, first message id and due time. Then each message id with its due time, unless
 * there are too many.
 */
type Wire = readonly [
  priority: Arrival["priority"],
  tenantId: string,
  messageId: string,
  dueAtMs: number,
  messages?: readonly (readonly [messageId: string, dueAtMs: number])[],
];

const PREFIX = "doorbell.";

/** The most arrivals in one notification; scans find the others. */
const ARRIVALS_MAX = 1000;

/** The most message ids in one notification: 50 bytes each, far below the limit of NATS (1 MiB by default). */
const MESSAGES_MAX = 4000;

/** Opens the notifications of one replica on a NATS connection. */
export function openQueueNotifier(
  connection: NatsConnection,
  replica: string,
  log: Logger,
): QueueNotifier {
  const send = openPublisher(connection);
  return {
    publish(connectorId, arrivals) {
      let room = MESSAGES_MAX;
      const wires = arrivals.slice(0, ARRIVALS_MAX).map((one): Wire => {
        const first = [one.priority, one.tenantId, one.messageId, one.dueAtMs] as const;
        if (one.messages === undefined || one.messages.length > room) return first;
        room -= one.messages.length;
        return [...first, one.messages.map(({ messageId, dueAtMs }) => [messageId, dueAtMs])];
      });
      send(`${PREFIX}${connectorId}`, `${replica}\n${JSON.stringify(wires)}`);
    },
    subscribe(onArrival) {
      subscribe(connection, `${PREFIX}*`, (message) => {
        const text = message.string();
        const end = text.indexOf("\n");
        if (end < 0 || text.slice(0, end) === replica) return;
        const arrivals = readArrivals(text.slice(end + 1));
        if (arrivals === undefined) {
          log.warn({ subject: message.subject }, "a queue notification is malformed");
        }
        const connectorId = message.subject.slice(PREFIX.length);
        for (const arrival of arrivals ?? []) onArrival(connectorId, arrival);
      });
    },
  };
}

/** Parses the arrivals of a notification; undefined if it is malformed. */
export function readArrivals(text: string): Arrival[] | undefined {
  const arrivals = readJson(text, areWire);
  return arrivals?.map(([priority, tenantId, messageId, dueAtMs, messages]) => ({
    priority,
    tenantId,
    messageId,
    dueAtMs,
    messages: messages?.map(([messageId, dueAtMs]) => ({ messageId, dueAtMs })),
  }));
}

function areWire(value: unknown): value is Wire[] {
  return Array.isArray(value) && value.every(isWire);
}

function isWire(value: unknown): value is Wire {
  if (!Array.isArray(value)) return false;
  const [priority, tenantId, messageId, dueAtMs, messages = []] = value as unknown[];
  return (
    (priority === "single" || priority === "bulk") &&
    typeof tenantId === "string" &&
    isMessage([messageId, dueAtMs]) &&
    Array.isArray(messages) &&
    messages.every(isMessage)
  );
}

function isMessage(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [messageId, dueAtMs] = value as unknown[];
  return typeof messageId === "string" && isId("message", messageId) && Number.isFinite(dueAtMs);
}
