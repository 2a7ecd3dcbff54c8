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
export function pullBatch(
  connection: NatsConnection,
  stream: string,
  durable: string,
  batch: number,
): Promise<JsMsg[]> {
  return new Promise((resolve, reject) => {
    const messages: JsMsg[] = [];
    // A callback: an iterator of the client costs a promise for each message.
    const subscription = connection.subscribe(createInbox(), {
      callback(error, message) {
        if (error !== null) {
          reject(error);
          return end();
        }
        // A status message: no more messages, or an error.
        if (message.data.length === 0 && (message.headers?.code ?? 0) > 0) return end();
        messages.push(toJsMsg(message));
        if (messages.length === batch) end();
      },
    });
    const limit = setTimeout(end, LIMIT_MS);
    function end(): void {
      clearTimeout(limit);
      subscription.unsubscribe();
      resolve(messages);
    }
    void subscription.closed.then(end);
    const request = JSON.stringify({ batch, no_wait: true });
    const reply = subscription.getSubject();
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`, request, { reply });
  });
}
