import { headers, type JetStreamClient, type JetStreamPublishOptions } from "nats";
import { TRACE_HEADER } from "./batch-span.ts";

/**
 * One item for the stream. `id` becomes `Nats-Msg-Id`: the stream drops a duplicate within two minutes.
 */
export type StreamItem = {
  readonly id: string;
  readonly subject: string;
  readonly data: Uint8Array;
  /** W3C traceparent of the item's producer; sent as a header. */
  readonly traceparent?: string | undefined;
};

/**
 * Publishes items with at most `window` unacknowledged, and resolves when the stream has stored all. Rejects
 * with the first failure; publishing the stored items again is harmless.
 */
export async function publishAll(
  jetstream: JetStreamClient,
  items: readonly StreamItem[],
  window = 64,
): Promise<void> {
  let next = 0;
  let failure: { error: unknown } | undefined;
  async function worker(): Promise<void> {
    while (failure === undefined) {
      const item = items[next];
      if (item === undefined) return;
      next += 1;
      try {
        await jetstream.publish(item.subject, item.data, optionsOf(item));
      } catch (error) {
        failure = { error };
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(window, items.length) }, worker));
  if (failure !== undefined) throw failure.error;
}

function optionsOf({ id, traceparent }: StreamItem): Partial<JetStreamPublishOptions> {
  if (traceparent === undefined) return { msgID: id };
  const traced = headers();
  traced.set(TRACE_HEADER, traceparent);
  return { msgID: id, headers: traced };
}
