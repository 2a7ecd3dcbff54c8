/** Reading: one message, a page of them, and the walks that reconciliation needs. */
import type { Clock } from "../../shared/core/clock.ts";
import { idTimeMs, newId } from "../../shared/core/ids.ts";
import { PAGE_MAX, pageLimit } from "../../shared/core/limits.ts";
import { pause } from "../../shared/flow/backoff.ts";
import type { Message, MessageMode } from "../domain/message.ts";
import { type Breach, checkMessage, type MessageCharge } from "../domain/message-invariants.ts";
import { isVisible, notFound } from "./cancel.ts";
import { type InflightSends, SKEW_MAX_MS } from "./inflight-sends.ts";
import type {
  EventBacklog,
  ListFilter,
  MessageLists,
  MessageSnapshot,
  MessageStore,
  QueueStore,
  SendStore,
} from "./ports.ts";

/** One connector's queue, for scaling and operators. */
export type QueueStatus = {
  readonly connectorId: string;
  readonly waiting: number;
  readonly oldestWaitingMs: number;
  readonly sending: number;
};

/** A part of a check: what was found broken, and how much has been walked so far. */
export type CheckProgress = {
  readonly breaches: readonly (Breach & { readonly ids: readonly string[] })[];
  readonly messages: number;
  readonly sends: number;
  readonly outbox: number;
  readonly done: boolean;
};

/** The reading side of messaging. */
export type Queries = {
  /** Throws `not_found` for what is not the tenant's. */
  get(tenantId: string, messageId: string, mode: MessageMode | undefined): Promise<Message>;
  /**
   * A page. With `isSettled` the first one waits for the sends under way and shows none that begins later,
   * so that no later list has more of what lies below its newest; throws `service_unavailable` when one
   * takes too long.
   */
  list(
    filter: ListFilter,
    limit: number,
    isSettled: boolean,
  ): Promise<{ messages: Message[]; hasMore: boolean }>;
  /** What each message of a tenant, or of all, owes, at one instant, oldest first, in chunks. */
  charges(tenantId: string | undefined): AsyncGenerator<readonly MessageCharge[]>;
  /** Checks each of them for itself; the last item is `done`. */
  check(tenantId: string | undefined): AsyncGenerator<CheckProgress>;
  queues(): Promise<QueueStatus[]>;
};

/** An outbox document older than this has been forgotten by everyone. */
const OUTBOX_AGE_MAX_MS = 60_000;

/** Makes it. */
export function createQueries(options: {
  readonly store: MessageStore;
  readonly lists: MessageLists;
  readonly openSnapshot: () => MessageSnapshot;
  readonly queue: QueueStore;
  readonly sends: SendStore;
  readonly outbox: EventBacklog;
  readonly inflight: Pick<InflightSends, "settle">;
  readonly clock: Clock;
}): Queries {
  const { store, lists, queue, clock } = options;

  async function* walk<T>(
    read: (snapshot: MessageSnapshot) => AsyncIterable<readonly T[]>,
  ): AsyncGenerator<readonly T[]> {
    const snapshot = options.openSnapshot();
    try {
      yield* read(snapshot);
    } finally {
      await snapshot.close();
    }
  }

  return {
    async get(tenantId, messageId, mode) {
      const message = await store.find(messageId);
      if (message === undefined || !isVisible(message, tenantId, mode)) throw notFound();
      return message;
    },
    async list(filter, limit, isSettled) {
      const { tenantId, createdBeforeMs = Number.MAX_SAFE_INTEGER } = filter;
      const size = pageLimit(limit, PAGE_MAX);
      // Further pages lie below what the first one waited for.
      if (!isSettled || filter.beforeId !== undefined) return lists.page(filter, size);
      const aheadMs = createdBeforeMs - clock.now();
      // As where another replica has named it, or a customer's clock is a little ahead.
      if (aheadMs > 0 && aheadMs <= SKEW_MAX_MS) await pause(aheadMs + 1);
      // What begins from here on has a higher id, and is left out: it may overtake what begins before it.
      const beforeId = newId("message", clock.now());
      await options.inflight.settle(tenantId, Math.min(createdBeforeMs, idTimeMs(beforeId) + 1));
      return lists.page({ ...filter, beforeId }, size);
    },
    charges: (tenantId) => walk((snapshot) => snapshot.charges(tenantId)),
    async *check(tenantId) {
      let messages = 0;
      for await (const chunk of walk((snapshot) => snapshot.messages(tenantId))) {
        messages += chunk.length;
        const breaches = chunk.flatMap((message) =>
          checkMessage(message).map((breach) => ({ ...breach, ids: [message.id] })),
        );
        yield { breaches, messages, sends: 0, outbox: 0, done: false };
      }
      const backlog = await options.outbox.backlog();
      const isStuck = backlog.count > 0 && backlog.oldestMs > OUTBOX_AGE_MAX_MS;
      const what = `the outbox holds ${backlog.count} batches that nobody publishes`;
      yield {
        breaches: isStuck ? [{ invariant: 6, what, ids: [] }] : [],
        messages,
        sends: await options.sends.count(),
        outbox: backlog.count,
        done: true,
      };
    },
    async queues() {
      const nowMs = clock.now();
      return (await queue.figures()).map(({ connectorId, waiting, sending, oldestMs }) => ({
        connectorId,
        waiting,
        sending,
        oldestWaitingMs: oldestMs === undefined ? 0 : Math.max(0, nowMs - oldestMs),
      }));
    },
  };
}
