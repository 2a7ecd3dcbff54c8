/** Counts events that a full stream deleted before the consumer received them. */
import type { Logger } from "../../shared/core/logger.ts";
import { EVENT_STREAM, type Nats } from "../../shared/io/nats.ts";

/** The positions of a consumer and its stream. */
export type StreamPosition = {
  /** The last event delivered to the consumer; 0 before the first. */
  readonly deliveredSeq: number;
  /** The first event that the stream still has. */
  readonly firstSeq: number;
};

/**
 * Counts each deleted event once: those between the last delivered event and the first stored one.
 * A full stream deletes the oldest events, and the consumer's own count of pending events drops as
 * if they were consumed.
 */
export function createGapCounter(): (check: StreamPosition) => number {
  let countedTo = 0;
  return ({ deliveredSeq, firstSeq }) => {
    // A recreated stream starts at one again.
    countedTo = Math.min(countedTo, firstSeq);
    // A new consumer starts with the first stored event.
    const from = deliveredSeq === 0 ? firstSeq : Math.max(deliveredSeq + 1, countedTo);
    countedTo = firstSeq;
    return Math.max(0, firstSeq - from);
  };
}

/** How often the positions are checked. */
const CHECK_INTERVAL_MS = 5000;

/**
 * The check runs before the next events are fetched: afterwards a gap cannot be distinguished from consumed
 * events. Other replicas may have fetched more, so the count is a lower bound. A failed check is
 * skipped.
 */
export function createGapCheck(options: {
  readonly nats: Nats;
  readonly durable: string;
  readonly log: Logger;
  readonly onLost: (count: number) => void;
  readonly stream?: string;
}): () => Promise<void> {
  const { nats, durable, log, stream = EVENT_STREAM } = options;
  const countGap = createGapCounter();
  let nextAtMs = 0;
  let checking: Promise<void> | undefined;

  async function check(): Promise<void> {
    try {
      const manager = await nats.connection.jetstreamManager();
      const [{ delivered }, { state }] = await Promise.all([
        manager.consumers.info(stream, durable),
        manager.streams.info(stream),
      ]);
      const lost = countGap({ deliveredSeq: delivered.stream_seq, firstSeq: state.first_seq });
      if (lost > 0) {
        log.error({ durable, lost }, "the stream deleted events that were not consumed");
        options.onLost(lost);
      }
    } catch (error) {
      log.warn({ error, durable }, "the gaps of the stream could not be checked");
    } finally {
      nextAtMs = performance.now() + CHECK_INTERVAL_MS;
      checking = undefined;
    }
  }

  return async () => {
    if (checking === undefined && performance.now() < nextAtMs) return;
    checking ??= check();
    await checking;
  };
}
