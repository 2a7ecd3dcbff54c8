/**
 * A durable pull consumer that hands over batches. It is created when missing, re-created when
 * lost, and outlives the broker: any failure is backed off and tried again for ever.
 *
 * The handler answers one verdict per item:
 * - `ack`: what the item asked for is durable.
 * - `retry`: give it to me again after a while.
 * - `dead`: it can never be handled; it is written to `dead_letters`, then acknowledged.
 * A handler that throws retries the whole batch. Acknowledgements may be lost, so handlers must
 * be idempotent.
 */
import type { Db } from "mongodb";
import { AckPolicy, type Consumer, DeliverPolicy, type JetStreamManager, type JsMsg } from "nats";
import { ulid } from "ulid";
import type { Logger } from "../core/logger.ts";
import { backoffMs, pause } from "../flow/backoff.ts";
import { createMinInterval, type MinInterval } from "../flow/min-interval.ts";
import { pullBatch } from "../vendor/nats-pull-batch.ts";
import { openBatchSpan } from "./batch-span.ts";
import { EVENT_STREAM, isMissing, type Nats } from "./nats.ts";

/** What a handler decided about one item. */
export type Verdict =
  | { readonly kind: "ack" }
  | { readonly kind: "retry"; readonly afterMs: number }
  | { readonly kind: "dead"; readonly reason: string };

/** The usual verdict. */
export const ACK: Verdict = { kind: "ack" };

/** One item of the stream. */
export type Delivered = {
  readonly subject: string;
  readonly data: Uint8Array;
  /** How often the item has been handed out, counted from 1. */
  readonly deliveries: number;
};

/** A running consumer. */
export type RunningConsumer = {
  /** Items not yet acknowledged, as the server last said; for metrics and scaling. */
  lag(): Promise<number>;
  /** How long the oldest item not yet acknowledged has been in the stream, in milliseconds; 0 without one. */
  oldestMs(): Promise<number>;
  close(): Promise<void>;
};

/** How a consumer is set up. */
export type ConsumerOptions = {
  readonly nats: Nats;
  readonly db: Db;
  readonly durable: string;
  readonly subjects: readonly string[];
  readonly batchMax: number;
  readonly ackWaitMs: number;
  /**
   * A batch begins this long after the one before it, so that it finds more; in milliseconds. After
   * a full one there is no more to be found, and the next begins at once.
   */
  readonly minIntervalMs: number;
  readonly log: Logger;
  readonly handle: (items: readonly Delivered[]) => Promise<readonly Verdict[]>;
  /** Awaited before each batch is asked for. */
  readonly beforeTaking?: () => Promise<void>;
  readonly stream?: string;
};

/** Starts a durable consumer; answers at once and keeps at it until closed. */
export function startConsumer(options: ConsumerOptions): RunningConsumer {
  const { nats, log, durable, stream = EVENT_STREAM } = options;
  const interval = createMinInterval(options.minIntervalMs);
  const abort = new AbortController();

  async function run(): Promise<void> {
    let failures = 0;
    let consumer: Consumer | undefined;
    let wasFull = false;
    let isSet = false;
    while (!abort.signal.aborted) {
      try {
        consumer ??= await ensureConsumer(options, stream, isSet);
        isSet = true;
        await options.beforeTaking?.();
        const waitMs = wasFull ? 0 : interval.waitMs();
        if (waitMs > 0) await pause(waitMs, abort.signal);
        const taken = await takeBatch(consumer, options, stream, abort.signal, interval);
        wasFull = taken === options.batchMax;
        failures = 0;
      } catch (error) {
        consumer = undefined;
        wasFull = false;
        failures += 1;
        if (abort.signal.aborted) return;
        log.warn({ error, durable, failures }, "the consumer starts again");
        await pause(backoffMs(failures, 100, 5000), abort.signal);
      }
    }
  }

  async function look() {
    const manager = await nats.connection.jetstreamManager();
    const { num_pending, num_ack_pending, ack_floor } = await manager.consumers.info(
      stream,
      durable,
    );
    return { manager, lag: num_pending + num_ack_pending, floor: ack_floor.stream_seq };
  }

  const finished = run();
  return {
    lag: async () => (await look()).lag,
    async oldestMs() {
      const { manager, lag, floor } = await look();
      if (lag === 0) return 0;
      return Math.max(0, Date.now() - (await timeAfter(manager, stream, floor)));
    },
    async close() {
      abort.abort();
      await finished;
    },
  };
}

/**
 * Creates or updates the durable, and binds to it. One that `isSet` is not updated again: beside a newer
 * version, each hiccup of this one would undo what the newer has changed.
 */
async function ensureConsumer(
  options: ConsumerOptions,
  stream: string,
  isSet: boolean,
): Promise<Consumer> {
  const manager = await options.nats.connection.jetstreamManager();
  const wanted = {
    durable_name: options.durable,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: options.ackWaitMs * 1_000_000,
    max_ack_pending: Math.max(1000, options.batchMax * 8),
    filter_subjects: [...options.subjects],
  };
  const isThere = await manager.consumers.info(stream, options.durable).then(
    () => true,
    (error: unknown) => {
      if (isMissing(error)) return false;
      throw error;
    },
  );
  if (!isThere) await manager.consumers.add(stream, wanted);
  else if (!isSet) await manager.consumers.update(stream, options.durable, wanted);
  return options.nats.jetstream.consumers.get(stream, options.durable);
}

/**
 * When the item after a sequence number came, be it one that the consumer does not ask for: with such
 * between, the oldest that it waits for is younger, by no more than they are apart.
 */
async function timeAfter(manager: JetStreamManager, stream: string, seq: number): Promise<number> {
  const { state } = await manager.streams.info(stream);
  // What a full stream has dropped cannot be asked for.
  const next = Math.max(seq + 1, state.first_seq);
  return (await manager.streams.getMessage(stream, { seq: next })).time.getTime();
}

/**
 * Fetches one batch (waiting at most a second for its first item), handles it, and says how each item
 * ended; answers how many there were.
 */
async function takeBatch(
  consumer: Consumer,
  options: ConsumerOptions,
  stream: string,
  signal: AbortSignal,
  interval: MinInterval,
): Promise<number> {
  const messages = await fetchBatch(consumer, options, stream, signal);
  if (messages.length === 0) return 0;
  interval.start();
  let verdicts: readonly Verdict[];
  const span = openBatchSpan(options.durable, stream, messages);
  // A batch at work is nobody else's, however long an outage holds it up.
  const atWork = setInterval(() => {
    if (options.nats.connection.isClosed()) return;
    for (const message of messages) message.working();
  }, options.ackWaitMs / 2);
  try {
    verdicts = await options.handle(
      messages.map((message) => ({
        subject: message.subject,
        data: message.data,
        deliveries: message.info.redeliveryCount,
      })),
    );
    span?.end();
  } catch (error) {
    span?.end("handler_failed");
    for (const message of messages) message.nak(1000);
    throw error;
  } finally {
    clearInterval(atWork);
  }
  await buryDead(options, messages, verdicts);
  messages.forEach((message, at) => {
    const verdict = verdicts[at];
    if (verdict?.kind === "retry") message.nak(verdict.afterMs);
    else message.ack();
  });
  return messages.length;
}

/**
 * First a lone item with patience, then whatever else is there already. The second request does
 * not wait: another replica may have taken what was pending, and this batch would wait for it.
 */
async function fetchBatch(
  consumer: Consumer,
  { nats, durable, batchMax }: ConsumerOptions,
  stream: string,
  signal: AbortSignal,
): Promise<JsMsg[]> {
  const first = await consumer.next({ expires: 1000 });
  if (first === null) return [];
  const { pending } = first.info;
  if (pending === 0 || batchMax === 1 || signal.aborted) return [first];
  const batch = Math.min(batchMax - 1, pending);
  return [first, ...(await pullBatch(nats.connection, stream, durable, batch))];
}

async function buryDead(
  options: ConsumerOptions,
  messages: readonly JsMsg[],
  verdicts: readonly Verdict[],
): Promise<void> {
  const dead = messages.flatMap((message, at) => {
    const verdict = verdicts[at];
    if (verdict?.kind !== "dead") return [];
    return [
      {
        _id: ulid() as never,
        durable: options.durable,
        subject: message.subject,
        data: Buffer.from(message.data),
        reason: verdict.reason,
        created_at: new Date(),
      },
    ];
  });
  if (dead.length === 0) return;
  await options.db.collection("dead_letters").insertMany(dead);
  options.log.error({ durable: options.durable, count: dead.length }, "dead letters");
}
