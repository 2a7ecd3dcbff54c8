import { createInbox, headers, type Msg, type NatsConnection, type NatsError } from "nats";
import { startDeadlineTimer } from "../flow/deadline-timer.ts";
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

/** The longest wait for the next acknowledgement. */
const ACK_MS = 5000;

/** Called once for an item, with the failure if the stream did not store it. */
type OnAnswer = (failure: Error | undefined) => void;

/** The answers that a connection awaits, all at one inbox, by the last token of their subjects. */
type Inbox = { readonly name: string; readonly awaited: Map<string, OnAnswer>; last: number };

const inboxes = new WeakMap<NatsConnection, Inbox>();

/**
 * Publishes items with at most `window` unacknowledged, and resolves when the stream has stored all. Rejects with the
 * first failure; publishing the stored items again is harmless. One timer and one promise for all of them: a request
 * of the client for each costs several times as much CPU.
 */
export function publishAll(
  connection: NatsConnection,
  items: readonly StreamItem[],
  window = 64,
): Promise<void> {
  if (items.length === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const inbox = inboxOf(connection);
    const own = new Set<string>();
    let next = 0;
    const timer = startDeadlineTimer(ACK_MS, () =>
      end(new Error("the stream did not acknowledge")),
    );

    function end(failure?: unknown): void {
      clearTimeout(timer);
      for (const token of own) inbox.awaited.delete(token);
      if (failure === undefined) resolve();
      else reject(failure);
    }

    function publishNext(): void {
      const item = items[next];
      if (item === undefined) return;
      next += 1;
      inbox.last += 1;
      const token = String(inbox.last);
      own.add(token);
      inbox.awaited.set(token, (failure) => {
        own.delete(token);
        inbox.awaited.delete(token);
        if (failure !== undefined) return end(failure);
        timer.refresh();
        attempt(publishNext);
        if (own.size === 0) end();
      });
      const reply = `${inbox.name}.${token}`;
      connection.publish(item.subject, item.data, { reply, headers: headersOf(item) });
    }

    /** The client throws when the connection is closed. */
    function attempt(publish: () => void): void {
      try {
        publish();
      } catch (error) {
        end(error);
      }
    }

    attempt(() => {
      while (next < Math.min(window, items.length)) publishNext();
    });
  });
}

/** The inbox of a connection; the client subscribes again after a reconnect. */
function inboxOf(connection: NatsConnection): Inbox {
  const known = inboxes.get(connection);
  if (known !== undefined) return known;
  const inbox: Inbox = { name: createInbox(), awaited: new Map(), last: 0 };
  connection.subscribe(`${inbox.name}.*`, {
    callback(error: NatsError | null, answer) {
      if (error === null) {
        inbox.awaited.get(answer.subject.slice(inbox.name.length + 1))?.(refusalIn(answer));
        return;
      }
      // Without a message: the server refuses the subscription, so no answer would arrive. The next call tries again.
      inboxes.delete(connection);
      for (const one of [...inbox.awaited.values()]) one(error);
    },
  });
  inboxes.set(connection, inbox);
  return inbox;
}

/** Why an item was not stored; undefined if it was. */
function refusalIn({ data, headers }: Msg): Error | undefined {
  // Without a body: no stream has the subject.
  if (data.length === 0) return new Error(`no stream answers (${headers?.code})`);
  const { error } = JSON.parse(Buffer.from(data).toString()) as { error?: { description: string } };
  return error === undefined ? undefined : new Error(error.description);
}

function headersOf({ id, traceparent }: StreamItem) {
  const all = headers();
  all.set("Nats-Msg-Id", id);
  if (traceparent !== undefined) all.set(TRACE_HEADER, traceparent);
  return all;
}
