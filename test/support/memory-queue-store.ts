import type { ClaimBatch, QueueFigures, QueueStore } from "../../services/messaging/app/ports.ts";
import type { Message } from "../../services/messaging/domain/message.ts";
import { queueName, queueOf, sentBy } from "../../services/messaging/domain/queue-transitions.ts";
import { idTimeMs } from "../../services/shared/core/ids.ts";

/** The queues of messages that a test puts in; the conformance suite of `QueueStore` runs on it. */
export type MemoryQueueStore = QueueStore & {
  /** Adds messages, or replaces those with the same ids. */
  put(messages: readonly Message[]): Promise<void>;
};

const byId = (a: Message, b: Message) => (a.id < b.id ? -1 : 1);

/** Creates an empty store. */
export function createMemoryQueueStore(): MemoryQueueStore {
  const messages = new Map<string, Message>();
  const heardAtMs = new Map<string, number>();

  const inQueue = (name: string) =>
    [...messages.values()].filter((message) => queueOf(message) === name).sort(byId);
  const names = () => [...new Set([...messages.values()].flatMap((one) => queueOf(one) ?? []))];

  function claimOne({ connectorId, priority, claim, spanOf }: ClaimBatch, found: Message): void {
    const stored = messages.get(found.id);
    if (stored === undefined || queueOf(stored) !== queueName(connectorId, priority)) return;
    if (stored.revision !== found.revision) return;
    const openSpan = spanOf(found);
    messages.set(found.id, {
      ...stored,
      phase: "sending",
      claim: openSpan === undefined ? claim : { ...claim, openSpan },
      revision: stored.revision + 1,
    });
  }

  return {
    async put(added) {
      for (const message of added) messages.set(message.id, message);
    },
    queueNames: async () => names().sort(),
    async waitingTenants(connectorId, priority) {
      const waiting = inQueue(queueName(connectorId, priority));
      return [...new Set(waiting.map(({ tenantId }) => tenantId))].sort();
    },
    async findWaiting(connectorId, priority, { tenantIds, fromId, nowMs, limit, isFresh }) {
      const latestMs = isFresh === true ? 0 : nowMs;
      return inQueue(queueName(connectorId, priority))
        .filter(({ tenantId }) => tenantIds.includes(tenantId))
        .filter(({ id, notBeforeMs }) => id >= fromId && notBeforeMs <= latestMs)
        .sort((a, b) => (a.tenantId === b.tenantId ? 0 : a.tenantId < b.tenantId ? -1 : 1))
        .slice(0, limit);
    },
    async findByIds(queries) {
      return queries.map(({ connectorId, priority, ids, nowMs }) =>
        ids.flatMap((id) => {
          const message = messages.get(id);
          if (message === undefined || message.notBeforeMs > nowMs) return [];
          return queueOf(message) === queueName(connectorId, priority) ? [message] : [];
        }),
      );
    },
    async claim(batches) {
      for (const batch of batches) for (const found of batch.found) claimOne(batch, found);
      return batches.map(({ claim, found }) =>
        found.flatMap(({ id }) => {
          const message = messages.get(id);
          return message?.claim?.id === claim.id ? [message] : [];
        }),
      );
    },
    sendingNames: async (carrierId) => names().filter((name) => sentBy(name) === carrierId),
    async findSending(queues, afterId, limit) {
      const sending = queues.flatMap(inQueue).filter(({ id }) => id > afterId);
      return sending.sort(byId).slice(0, limit);
    },
    async countIn(connectorId, priority, max) {
      return Math.min(max, inQueue(queueName(connectorId, priority)).length);
    },
    async figures() {
      const byConnector = new Map<string, QueueFigures>();
      for (const name of names().sort()) {
        const [connectorId = "", kind] = name.split("|");
        const empty = { connectorId, waiting: 0, sending: 0, oldestMs: undefined };
        const known = byConnector.get(connectorId) ?? empty;
        const queue = inQueue(name);
        if (kind === "sending") {
          byConnector.set(connectorId, { ...known, sending: known.sending + queue.length });
          continue;
        }
        const sinceMs = queue.map(({ id, scheduledAtMs = 0, releasedAtMs = 0 }) =>
          Math.max(idTimeMs(id), scheduledAtMs, releasedAtMs),
        );
        const oldestMs = Math.min(known.oldestMs ?? Number.POSITIVE_INFINITY, ...sinceMs);
        byConnector.set(connectorId, { ...known, waiting: known.waiting + queue.length, oldestMs });
      }
      return [...byConnector.values()];
    },
    async beat(carrierId, nowMs) {
      heardAtMs.set(carrierId, Math.max(nowMs, heardAtMs.get(carrierId) ?? nowMs));
    },
    async carriersReportedBefore(beforeMs) {
      return [...heardAtMs].flatMap(([id, atMs]) => (atMs < beforeMs ? [id] : []));
    },
    async forgetCarrier(carrierId, beforeMs) {
      if ((heardAtMs.get(carrierId) ?? beforeMs) < beforeMs) heardAtMs.delete(carrierId);
    },
  };
}
