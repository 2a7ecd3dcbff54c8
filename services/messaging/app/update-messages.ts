/**
 * The only way to change the status of a stored message, apart from claims. One transaction loads a batch, decides
 * each change in order, and writes all of them with their events; then the events are published. Changes of the
 * same message in one batch compose. If another writer changed a message meanwhile, nothing is written, and the
 * whole batch is loaded and decided again.
 */

import type { AuditSource } from "../../shared/core/audit.ts";
import type { Clock } from "../../shared/core/clock.ts";
import { AppError, isUnavailable } from "../../shared/core/errors.ts";
import { type Batcher, createBatcher } from "../../shared/flow/batcher.ts";
import type { Decision, Message } from "../domain/message.ts";
import { queueOf } from "../domain/queue-transitions.ts";
import { keyInUse } from "./idempotency.ts";
import type { QueueNotifications } from "./notify.ts";
import type {
  Audited,
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
   * Decides about a message and stores the result; undefined if there is no such message.
   * `toRecord` adds an idempotency record to the same transaction; throws `conflict` when another request
   * holds its key. `source` adds an audit entry if the message changes.
   */
  change<D extends Decision>(
    messageId: string,
    decide: Decide<D>,
    toRecord?: (message: Message) => SendRecord,
    source?: AuditSource,
  ): Promise<D | undefined>;
  close(): Promise<void>;
};

type Item = {
  readonly messageId: string;
  readonly decide: Decide;
  readonly toRecord: ((message: Message) => SendRecord) | undefined;
  readonly source: AuditSource | undefined;
  readonly traceparent: string | undefined;
};

/** The interval between two batches; short, because a carrier waits until its receipts are stored. */
const INTERVAL_MS = { min: 10, max: 60 };
/**
 * This many changes end the interval. A carrier sends as many receipts as its window allows and then waits for their
 * acknowledgements, so waiting longer would collect nothing.
 */
const FULL_AT = 64;

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
    // Each round but the last removes one item whose key another request holds.
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
      notifications.notify(plan.changes.filter(hasEntered).map(({ after }) => after));
      break;
    }
    return results;
  }

  const batcher: Batcher<Item, Decision | undefined> = createBatcher<Item, Decision | undefined>({
    name: "changes",
    batchMax: 500,
    fullAt: FULL_AT,
    queueMax: 20_000,
    minIntervalMs: INTERVAL_MS.min,
    maxIntervalMs: INTERVAL_MS.max,
    isTransient: isUnavailable,
    flush: apply,
  });

  return {
    async change<D extends Decision>(
      messageId: string,
      decide: Decide<D>,
      toRecord?: (message: Message) => SendRecord,
      source?: AuditSource,
    ) {
      const traceparent = options.trace.current();
      // The batcher returns each item's own decision, so the type is the one of `decide`.
      return (await batcher.add({ messageId, decide, toRecord, source, traceparent })) as
        | D
        | undefined;
    },
    close: () => batcher.close(),
  };
}

type Plan = {
  readonly changes: readonly MessageChange[];
  readonly events: readonly CausedEvent[];
  readonly records: readonly { record: SendRecord; at: number }[];
  readonly audits: readonly Audited[];
  readonly results: readonly { at: number; result: Decision | undefined | Error }[];
};

const NOTHING: Plan = { changes: [], events: [], records: [], audits: [], results: [] };

function toChangeSet({ changes, events, records, audits }: Plan): ChangeSet {
  return { changes, events, audits, records: records.map(({ record }) => record) };
}

/** Decides every item in order, each on the result of the items before it; synchronous. */
function decideAll(
  open: readonly { item: Item; at: number }[],
  loaded: readonly Message[],
  nowMs: number,
): Plan {
  const present = new Map(loaded.map((message) => [message.id, message]));
  const events: CausedEvent[] = [];
  const records: { record: SendRecord; at: number }[] = [];
  const audits: Audited[] = [];
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
      if (item.source !== undefined && decision.message !== message) {
        const { id: subject, tenantId } = message;
        const [before, after] = [{ status: message.status }, { status: decision.message.status }];
        audits.push({ change: { tenantId, subject, before, after }, source: item.source });
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
  return { changes, events, records, audits, results };
}

/** True if a change put the message into a queue that it was not in before. */
function hasEntered({ before, after }: MessageChange): boolean {
  return after.phase === "waiting" && queueOf(after) !== queueOf(before);
}
