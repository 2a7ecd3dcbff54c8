/**
 * What: a JetStream pull that takes the messages available now and does not wait for more.
 * Why: the client has no such pull without a leak: `fetch` with `no_wait` keeps its subscription for ever when fewer
 * messages arrive than requested.
 * Upstream: no issue known.
 * Tried with: nats 2.29.3 (`lib/jetstream/jsmsg.js`).
 * Tests: `test/integration/io/nats-pull-batch.test.ts`, `test/unit/vendor/private-parts.test.ts`.
 */
import { createInbox, type JsMsg, type NatsConnection } from "nats";
import { toJsMsg } from "nats/lib/jetstream/jsmsg.js";

/** A pull without an answer, because the server has just died, ends after this long, in milliseconds. */
const LIMIT_MS = 2000;

/**
 * Takes at most `batch` of a durable consumer's available messages (`CONSUMER.MSG.NEXT` with `no_wait`). Messages
 * in transit at the time limit are redelivered after the acknowledgement wait.
 */
export async function pullBatch(
  connection: NatsConnection,
  stream: string,
  durable: string,
  batch: number,
): Promise<JsMsg[]> {
  const inbox = createInbox();
  const subscription = connection.subscribe(inbox);
  const limit = setTimeout(() => subscription.unsubscribe(), LIMIT_MS);
  const messages: JsMsg[] = [];
  try {
    const request = JSON.stringify({ batch, no_wait: true });
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`, request, { reply: inbox });
    for await (const message of subscription) {
      // A status message: no more messages, or an error.
      if (message.data.length === 0 && message.headers !== undefined && message.headers.code > 0) {
        break;
      }
      messages.push(toJsMsg(message));
      if (messages.length === batch) break;
    }
    return messages;
  } finally {
    clearTimeout(limit);
    subscription.unsubscribe();
  }
}
