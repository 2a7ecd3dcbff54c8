import { headers, type JetStreamClient, type JetStreamPublishOptions } from "nats";
import { TRACE_HEADER } from "./batch-span.ts";

/** One item for the stream. `id` becomes `Nats-Msg-Id`: a repeat within two minutes is dropped. */
export type StreamItem = {
  readonly id: string;
  readonly subject: string;
  readonly data: Uint8Array;
  /** W3C traceparent of what made the item; sent as a header. */
  readonly traceparent?: string | undefined;
};

/**
 * Publishes items pipelined, `window` unanswered at once, and answers when the stream has stored
 * them all. Throws on the first failure; what was stored before it is harmless to repeat.
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
