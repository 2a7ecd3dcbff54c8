import { createInbox, type JsMsg, type NatsConnection } from "nats";
// Not among the client's exports, which has no pull that does not wait and leaves nothing behind: `fetch` with
// `no_wait` keeps its subscription for good whenever fewer messages come than were asked for (nats 2.29).
import { toJsMsg } from "nats/lib/jetstream/jsmsg.js";

/** Without an answer (the server died right now) a pull would never end by itself. */
const LIMIT_MS = 2000;

/**
 * Takes at most so many of a durable consumer's messages as are there now (JetStream's
 * `CONSUMER.MSG.NEXT` with `no_wait`). What is on its way when the time is over comes again after the
 * acknowledgement's time.
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
      // A status: there are no more, or none could be had.
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
