/**
 * Hints on NATS core: what may be lost, and is worth something at once or not at all. Nothing is told
 * while the server is away: the client would keep it until the server is back, old and without bound.
 */
import { Events, type Msg, type NatsConnection, type Subscription } from "nats";

/** Tells everybody on a subject, or nobody. */
export type PublishHint = (subject: string, text: string) => void;

/** Opens the way out for hints over a connection. */
export function openHints(connection: NatsConnection): PublishHint {
  let isAway = false;
  void follow();
  return (subject, text) => {
    if (isAway || connection.isDraining() || connection.isClosed()) return;
    connection.publish(subject, text);
  };

  async function follow(): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === Events.Disconnect) isAway = true;
      if (type === Events.Reconnect) isAway = false;
    }
  }
}

/** Hears hints on a subject. A subscription that the server refuses is called back without a message. */
export function subscribeHints(
  connection: NatsConnection,
  subject: string,
  hear: (message: Msg) => void,
): Subscription {
  return connection.subscribe(subject, {
    callback(error, message) {
      if (error === null) hear(message);
    },
  });
}
