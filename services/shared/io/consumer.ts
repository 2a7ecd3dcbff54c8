/**
 * A durable pull consumer that delivers batches. It is created when missing, created again when lost, and
 * survives restarts of the broker: it retries any failure with backoff for ever.
 *
 * The handler returns one acknowledgement for each item:
 * - `ack`: the effect of the item is durable.
 * - `retry`: deliver the item again after a while.
 * - `dead`: the item can never be handled; it is written to `dead_letters`, then acknowledged.
 *
 * When the handler throws, the whole batch is retried. Acknowledgements may be lost, so handlers must be
 * idempotent.
 */
import type { Db } from "mongodb";
import { AckPolicy, type Consumer, DeliverPolicy, type JetStreamManager, type JsMsg } from "nats";
import { ulid } from "ulid";
import { type Clock, systemClock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { pause } from "../flow/backoff.ts";
import { createMinInterval, type MinInterval } from "../flow/min-interval.ts";
import { startLoop } from "../flow/periodic.ts";
import { pullBatch } from "../vendor/nats-pull-batch.ts";
import { openBatchSpan } from "./batch-span.ts";
import { EVENT_STREAM, isMissing, type Nats } from "./nats.ts";

/** The handler's decision about one item. */
export type Acknowledgement =
  | { readonly kind: "ack" }
  | { readonly kind: "retry"; readonly afterMs: number }
  | { readonly kind: "dead"; readonly reason: string };

/** The acknowledgement for a handled item. */
export const ACK: Acknowledgement = { kind: "ack" };

/** One item of the stream. */
export type Delivered = {
  readonly subject: string;
  readonly data: Uint8Array;
  /** How often the item has been delivered, counted from 1. */
  readonly deliveries: number;
};

/** A running consumer. */
export type RunningConsumer = {
  /** Items not yet acknowledged, as last reported by the server; for metrics and scaling. */
  lag(): Promise<number>;
  /** The age in the stream of the oldest item not yet acknowledged, in milliseconds; 0 without one. */
  oldestMs(): Promise<number>;
  close(): Promise<void>;
};

/** Options of a consumer. */
export type ConsumerOptions = {
  readonly nats: Nats;
  readonly db: Db;
  readonly durable: string;
  readonly subjects: readonly string[];
  readonly batchMax: number;
  readonly ackWaitMs: number;
  /**
   * Minimum interval between batches, in milliseconds, so that batches are larger. After a full batch the next
   * one starts at once. A function is called again during the wait, because it may return less by then.
   */
  readonly minIntervalMs: number | (() => number);
  readonly log: Logger;
  readonly handle: (items: readonly Delivered[]) => Promise<readonly Acknowledgement[]>;
  /** Awaited before each request for a batch. */
  readonly beforeTaking?: () => Promise<void>;
  readonly stream?: string;
  /** Measures the age of the oldest item. */
  readonly clock?: Clock;
};

/** How often an interval that may change is read again. */
const READ_AGAIN_MS = 100;

/** Starts a durable consumer; returns at once and runs until closed. */
export function startConsumer(options: ConsumerOptions): RunningConsumer {
  const { nats, log, durable, stream = EVENT_STREAM, clock = systemClock } = options;
  const interval = createMinInterval(options.minIntervalMs);
  let consumer: Consumer | undefined;
  let wasFull = false;
  let isSet = false;

  async function takeNext(signal: AbortSignal): Promise<void> {
    const bound = consumer ?? (await ensureConsumer(options, stream, isSet));
    isSet = true;
    // Unset until the batch is handled: after a failure the next run binds again.
    consumer = undefined;
    await options.beforeTaking?.();
    if (!wasFull) await waitFor(interval, signal);
    wasFull = false;
    const taken = await takeBatch(bound, options, stream, signal, interval);
    wasFull = taken === options.batchMax;
    consumer = bound;
  }

  async function waitFor(minimum: MinInterval, signal: AbortSignal): Promise<void> {
    const stepMs = typeof options.minIntervalMs === "function" ? READ_AGAIN_MS : Number.MAX_VALUE;
    for (let waitMs = minimum.waitMs(); waitMs > 0 && !signal.aborted; waitMs = minimum.waitMs()) {
      await pause(Math.min(waitMs, stepMs), signal);
    }
  }

  async function readInfo() {
    const manager = await nats.connection.jetstreamManager();
    const { num_pending, num_ack_pending, ack_floor } = await manager.consumers.info(
      stream,
      durable,
    );
    return { manager, lag: num_pending + num_ack_pending, floor: ack_floor.stream_seq };
  }

  const loop = startLoop({
    name: durable,
    intervalMs: 0,
    retryMaxMs: 5000,
    log,
    work: async (signal) => {
      await takeNext(signal);
      return true;
    },
  });
  return {
    lag: async () => (await readInfo()).lag,
    async oldestMs() {
      const { manager, lag, floor } = await readInfo();
      if (lag === 0) return 0;
      return Math.max(0, clock.now() - (await timeAfter(manager, stream, floor)));
    },
    close: () => loop.close(),
  };
}

/**
 * Creates or updates the durable, and binds to it. Updates it once per process: during an upgrade, each
 * reconnect of the old version would otherwise undo the changes of the new one.
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
 * The arrival time of the first item after a sequence number. The consumer may not select that item; then its
 * oldest item is younger, by no more than the distance between the two.
 */
async function timeAfter(manager: JetStreamManager, stream: string, seq: number): Promise<number> {
  const { state } = await manager.streams.info(stream);
  // A full stream has dropped its oldest items; they cannot be read.
  const next = Math.max(seq + 1, state.first_seq);
  return (await manager.streams.getMessage(stream, { seq: next })).time.getTime();
}

/**
 * Fetches one batch (waits at most 1 s for its first item), handles it, and acknowledges each item by its
 * acknowledgement; returns the number of items.
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
  let acknowledgements: readonly Acknowledgement[];
  const span = openBatchSpan(options.durable, stream, messages);
  // Keep the batch ours while an outage delays it: without this the server would redeliver it.
  const heartbeat = setInterval(() => {
    if (options.nats.connection.isClosed()) return;
    for (const message of messages) message.working();
  }, options.ackWaitMs / 2);
  try {
    acknowledgements = await options.handle(
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
    clearInterval(heartbeat);
  }
  await buryDead(options, messages, acknowledgements);
  messages.forEach((message, at) => {
    const acknowledgement = acknowledgements[at];
    if (acknowledgement?.kind === "retry") message.nak(acknowledgement.afterMs);
    else message.ack();
  });
  return messages.length;
}

/**
 * Waits for one item, then takes the other items that are available. The second request does not wait: another
 * replica may have taken them, and this batch would be delayed for nothing. The server's `pending` does not count
 * items that it redelivers: after a redelivered one, request a whole batch. Otherwise the items of a killed
 * process would come one by one, each a `minIntervalMs` after the one before.
 */
async function fetchBatch(
  consumer: Consumer,
  { nats, durable, batchMax }: ConsumerOptions,
  stream: string,
  signal: AbortSignal,
): Promise<JsMsg[]> {
  const first = await consumer.next({ expires: 1000 });
  if (first === null) return [];
  const available = first.redelivered ? batchMax : first.info.pending;
  if (available === 0 || batchMax === 1 || signal.aborted) return [first];
  const batch = Math.min(batchMax - 1, available);
  return [first, ...(await pullBatch(nats.connection, stream, durable, batch))];
}

async function buryDead(
  options: ConsumerOptions,
  messages: readonly JsMsg[],
  acknowledgements: readonly Acknowledgement[],
): Promise<void> {
  const dead = messages.flatMap((message, at) => {
    const acknowledgement = acknowledgements[at];
    if (acknowledgement?.kind !== "dead") return [];
    return [
      {
        _id: ulid() as never,
        durable: options.durable,
        subject: message.subject,
        data: Buffer.from(message.data),
        reason: acknowledgement.reason,
        created_at: new Date(),
      },
    ];
  });
  if (dead.length === 0) return;
  await options.db.collection("dead_letters").insertMany(dead);
  options.log.error({ durable: options.durable, count: dead.length }, "dead letters");
}
