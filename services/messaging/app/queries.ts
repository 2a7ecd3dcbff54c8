/** Reads one message, a page of messages, and all messages for reconciliation. */
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
  ListPage,
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

/** A part of a check: the breaches it found, and the totals so far. */
export type CheckProgress = {
  readonly breaches: readonly (Breach & { readonly ids: readonly string[] })[];
  readonly messages: number;
  readonly sends: number;
  readonly outbox: number;
  readonly done: boolean;
};

export type Queries = {
  /** Throws `not_found` for another tenant's message. */
  get(tenantId: string, messageId: string, mode: MessageMode | undefined): Promise<Message>;
  /**
   * One page. With `isSettled` the first page waits for in-flight sends and excludes later ones, so no later list
   * shows more messages below its newest. Throws `service_unavailable` when a send takes too long.
   */
  list(
    filter: ListFilter,
    options: {
      readonly limit: number;
      readonly isSettled: boolean;
      readonly allowsShort: boolean;
    },
  ): Promise<ListPage>;
  /** A message of any tenant. */
  findById(messageId: string): Promise<Message | undefined>;
  /** The newest messages to a number, tenant by tenant. Reads a bounded number of tenants. */
  findByNumber(search: NumberSearch): Promise<{
    readonly messages: readonly Message[];
    /** The last searched tenant; undefined when none follows. */
    readonly nextTenantId: string | undefined;
  }>;
  /** The charge of each message of a tenant, or of all, at one instant; oldest first, in chunks. */
  charges(tenantId: string | undefined): AsyncGenerator<readonly MessageCharge[]>;
  /** Checks the invariants of each message; the last item is `done`. */
  check(tenantId: string | undefined): AsyncGenerator<CheckProgress>;
  queues(): Promise<QueueStatus[]>;
  /** The number of messages that wait for the end of quiet hours, counted up to a limit. */
  countQuiet(): Promise<number>;
};

/** A search for the messages to a number. */
export type NumberSearch = {
  readonly to: string;
  /** Undefined searches every tenant. */
  readonly tenantId: string | undefined;
  readonly createdAfterMs: number | undefined;
  readonly createdBeforeMs: number | undefined;
  /** The most messages of one tenant; 0 means the default. */
  readonly limit: number;
  /** The most tenants that this search reads; 0 means the default. */
  readonly tenants: number;
  readonly afterTenantId: string;
};

const FIND_DEFAULT = 10;
const TENANTS_MAX = 100;
/** Concurrent lists of one search: more would delay the sends of the same process. */
const FIND_CONCURRENCY = 4;

/** An outbox document older than this is stuck. */
const OUTBOX_AGE_MAX_MS = 60_000;
const QUIET_COUNT_MAX = 100_000;

/** A filter that every message passes. */
const ANY_MESSAGE = {
  ...{ mode: undefined, statuses: [], sources: [], from: undefined, clientReference: undefined },
  ...{ campaignId: undefined, beforeId: undefined },
} as const;

export function createQueries(options: {
  readonly store: MessageStore;
  readonly lists: MessageLists;
  readonly openSnapshot: () => MessageSnapshot;
  readonly queue: QueueStore;
  readonly sends: SendStore;
  readonly outbox: EventBacklog;
  readonly inflight: Pick<InflightSends, "waitFor">;
  readonly clock: Clock;
}): Queries {
  const { store, lists, queue, clock } = options;

  async function* readSnapshot<T>(
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
      if (message === undefined || !isVisible(message, tenantId, mode)) throw notFound(mode);
      return message;
    },
    async list(filter, { limit, isSettled, allowsShort }) {
      const { tenantId, createdBeforeMs = Number.MAX_SAFE_INTEGER } = filter;
      const size = pageLimit(limit, PAGE_MAX);
      // The first page has already waited for everything on further pages.
      if (!isSettled || filter.beforeId !== undefined) {
        return lists.page(filter, size, { allowsShort });
      }
      const aheadMs = createdBeforeMs - clock.now();
      // The instant may come from another replica's clock, or a customer's, that is slightly ahead.
      if (aheadMs > 0 && aheadMs <= SKEW_MAX_MS) await pause(aheadMs + 1);
      // Later sends have higher ids. Exclude them: one may commit before an earlier send.
      const beforeId = newId("message", clock.now());
      await options.inflight.waitFor(tenantId, Math.min(createdBeforeMs, idTimeMs(beforeId) + 1));
      return lists.page({ ...filter, beforeId }, size, { allowsShort });
    },
    findById: (messageId) => store.find(messageId),
    async findByNumber({ tenantId, limit, tenants, afterTenantId, ...range }) {
      const size = limit === 0 ? FIND_DEFAULT : pageLimit(limit, PAGE_MAX);
      const count = tenants === 0 ? TENANTS_MAX : pageLimit(tenants, TENANTS_MAX);
      const found =
        tenantId === undefined ? await lists.tenantsAfter(afterTenantId, count) : [tenantId];
      const messages: Message[] = [];
      for (let at = 0; at < found.length; at += FIND_CONCURRENCY) {
        const some = found.slice(at, at + FIND_CONCURRENCY).map((id) => {
          const filter = { ...ANY_MESSAGE, ...range, tenantId: id };
          return lists.page(filter, size, { allowsShort: false });
        });
        for (const page of await Promise.all(some)) messages.push(...page.messages);
      }
      const isLast = tenantId !== undefined || found.length < count;
      return { messages, nextTenantId: isLast ? undefined : found.at(-1) };
    },
    charges: (tenantId) => readSnapshot((snapshot) => snapshot.charges(tenantId)),
    async *check(tenantId) {
      let messages = 0;
      for await (const chunk of readSnapshot((snapshot) => snapshot.messages(tenantId))) {
        messages += chunk.length;
        const breaches = chunk.flatMap((message) =>
          checkMessage(message).map((breach) => ({ ...breach, ids: [message.id] })),
        );
        yield { breaches, messages, sends: 0, outbox: 0, done: false };
      }
      const backlog = await options.outbox.backlog();
      const isStuck = backlog.count > 0 && backlog.oldestMs > OUTBOX_AGE_MAX_MS;
      const what = `the outbox holds ${backlog.count} unpublished batches`;
      yield {
        breaches: isStuck ? [{ invariant: 6, what, ids: [] }] : [],
        messages,
        sends: await options.sends.count(),
        outbox: backlog.count,
        done: true,
      };
    },
    countQuiet: () => store.countQuiet(QUIET_COUNT_MAX),
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
