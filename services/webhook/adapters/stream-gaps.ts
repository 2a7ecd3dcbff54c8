/** Items that a full stream has dropped before its consumer was given them. */
import type { Logger } from "../../shared/core/logger.ts";
import { EVENT_STREAM, type Nats } from "../../shared/io/nats.ts";

/** What a consumer of a whole stream and the stream check like at one moment. */
export type StreamPosition = {
  /** The last item that the consumer was given; 0 before the first. */
  readonly deliveredSeq: number;
  /** The first item that the stream still has. */
  readonly firstSeq: number;
};

/**
 * Counts what was dropped, each item once: those between the last that the consumer was given and the first
 * that is left. A stream that is full drops the oldest, and the consumer's own count of what is left falls
 * as if they had been consumed.
 */
export function createGapCounter(): (check: StreamPosition) => number {
  let countedTo = 0;
  return ({ deliveredSeq, firstSeq }) => {
    // A stream that was made anew begins at one again.
    countedTo = Math.min(countedTo, firstSeq);
    // A consumer that is new begins with what there is.
    const from = deliveredSeq === 0 ? firstSeq : Math.max(deliveredSeq + 1, countedTo);
    countedTo = firstSeq;
    return Math.max(0, firstSeq - from);
  };
}

/** How often it is asked whether the stream has dropped anything. */
const CHECK_INTERVAL_MS = 5000;

/**
 * Makes the check that is taken before more is: once more is taken, a gap before it cannot be told from what
 * was consumed. Other replicas may have taken more, so what is counted is the least that was lost. A check
 * that fails is left out.
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
        log.error({ durable, lost }, "the stream has dropped events that were not consumed");
        options.onLost(lost);
      }
    } catch (error) {
      log.warn({ error, durable }, "what the stream has dropped is not known");
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
