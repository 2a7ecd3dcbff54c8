/**
 * The one way in which stored messages change status: one transaction loads a batch, decides each
 * change in order and writes all of it with its events; then they are published. Changes of the
 * same message in one batch compose. A message that another hand changed meanwhile is a write
 * conflict; then nothing is written, and the whole batch is loaded and decided again.
 */

import type { Clock } from "../../shared/core/clock.ts";
import { AppError, isUnavailable } from "../../shared/core/errors.ts";
import { type Batcher, createBatcher } from "../../shared/flow/batcher.ts";
import type { Decision, Message } from "../domain/message.ts";
import { queueOf } from "../domain/queue-transitions.ts";
import { keyInUse } from "./idempotency.ts";
import type { QueueNotifications } from "./notify.ts";
import type {
  CallTrace,
  CausedEvent,
  ChangeSet,
  MessageChange,
  MessageStore,
  SendRecord,
} from "./ports.ts";

/** A pure decision about one message. May throw `AppError`, which refuses this change alone. */
export type Decide<D extends Decision = Decision> = (message: Message, nowMs: number) => D;

/** Changes messages. */
export type Changes = {
  /**
   * Decides about a message and makes it durable; undefined when there is no such message.
   * `toRecord` adds an idempotency record to the same transaction; throws `conflict` when another request
   * holds its key.
   */
  change<D extends Decision>(
    messageId: string,
    decide: Decide<D>,
    toRecord?: (message: Message) => SendRecord,
  ): Promise<D | undefined>;
  close(): Promise<void>;
};

type Item = {
  readonly messageId: string;
  readonly decide: Decide;
  readonly toRecord: ((message: Message) => SendRecord) | undefined;
  readonly traceparent: string | undefined;
};

/** Between two batches: a carrier waits for the answer to its receipts, so this is short. */
const PACE_MS = { least: 10, most: 60 };

/** Makes the engine. */
export function createChanges(options: {
  readonly store: MessageStore;
  readonly notifications: QueueNotifications;
  readonly clock: Clock;
  readonly trace: Pick<CallTrace, "current">;
}): Changes {
  const { store, notifications, clock } = options;

  async function apply(items: readonly Item[]): Promise<(Decision | undefined | Error)[]> {
    let open = items.map((item, at) => ({ item, at }));
    const results: (Decision | undefined | Error)[] = new Array(items.length).fill(undefined);
    // Each turn but the last takes out an item that lost its key.
    while (open.length > 0) {
      const ids = [...new Set(open.map(({ item }) => item.messageId))];
      const nowMs = clock.now();
      let plan: Plan = NOTHING;
      const refusedRecord = await store.change(
        ids,
        (loaded) => {
          plan = decideAll(open, loaded, nowMs);
          return toChangeSet(plan);
        },
        nowMs,
      );
      if (refusedRecord !== undefined) {
        const loser = plan.records[refusedRecord]?.at;
        if (loser === undefined) throw new Error("the store refused a record that does not exist");
        results[loser] = keyInUse();
        open = open.filter(({ at }) => at !== loser);
        continue;
      }
      for (const { at, result } of plan.results) results[at] = result;
      notifications.ring(plan.changes.filter(hasEntered).map(({ after }) => after));
      break;
    }
    return results;
  }

  const batcher: Batcher<Item, Decision | undefined> = createBatcher<Item, Decision | undefined>({
    name: "changes",
    batchMax: 500,
    queueMax: 20_000,
    minIntervalMs: PACE_MS.least,
    maxIntervalMs: PACE_MS.most,
    isTransient: isUnavailable,
    flush: apply,
  });

  return {
    async change<D extends Decision>(
      messageId: string,
      decide: Decide<D>,
      toRecord?: (message: Message) => SendRecord,
    ) {
      const traceparent = options.trace.current();
      // The batch keeps each item's own decision, so its type comes back as it went in.
      return (await batcher.add({ messageId, decide, toRecord, traceparent })) as D | undefined;
    },
    close: () => batcher.close(),
  };
}

type Plan = {
  readonly changes: readonly MessageChange[];
  readonly events: readonly CausedEvent[];
  readonly records: readonly { record: SendRecord; at: number }[];
  readonly results: readonly { at: number; result: Decision | undefined | Error }[];
};

const NOTHING: Plan = { changes: [], events: [], records: [], results: [] };

function toChangeSet({ changes, events, records }: Plan): ChangeSet {
  return { changes, events, records: records.map(({ record }) => record) };
}

/** Decides every item in order, each on what the ones before it left; synchronous. */
function decideAll(
  open: readonly { item: Item; at: number }[],
  loaded: readonly Message[],
  nowMs: number,
): Plan {
  const present = new Map(loaded.map((message) => [message.id, message]));
  const events: CausedEvent[] = [];
  const records: { record: SendRecord; at: number }[] = [];
  const results = open.map(({ item, at }) => {
    const message = present.get(item.messageId);
    if (message === undefined) return { at, result: undefined };
    try {
      const decision = item.decide(message, nowMs);
      present.set(item.messageId, decision.message);
      for (const event of decision.events) events.push({ event, traceparent: item.traceparent });
      if (item.toRecord !== undefined) {
        records.push({ record: item.toRecord(decision.message), at });
      }
      return { at, result: decision };
    } catch (error) {
      if (error instanceof AppError) return { at, result: error };
      throw error;
    }
  });
  const changes = loaded.flatMap((before) => {
    const after = present.get(before.id);
    return after === undefined || after === before ? [] : [{ before, after }];
  });
  return { changes, events, records, results };
}

/** Tells whether a change put the message into a queue it was not in before. */
function hasEntered({ before, after }: MessageChange): boolean {
  return after.phase === "waiting" && queueOf(after) !== queueOf(before);
}
