/**
 * Publish and subscribe on NATS core: delivery at most once, nothing is stored. For messages that are useful at once
 * or never. Nothing is published while the server is away: the client would keep the messages without
 * bound and deliver them late.
 */
import { Events, type Msg, type NatsConnection, type Subscription } from "nats";

/** Publishes to all current subscribers of a subject; drops the message while the server is away. */
export type Publish = (subject: string, text: string) => void;

/** Opens a publisher over a connection. */
export function openPublisher(connection: NatsConnection): Publish {
  let isAway = false;
  void followStatus();
  return (subject, text) => {
    if (isAway || connection.isDraining() || connection.isClosed()) return;
    connection.publish(subject, text);
  };

  async function followStatus(): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === Events.Disconnect) isAway = true;
      if (type === Events.Reconnect) isAway = false;
    }
  }
}

/** Subscribes to a subject. NATS reports a refused subscription as a callback without a message. */
export function subscribe(
  connection: NatsConnection,
  subject: string,
  onMessage: (message: Msg) => void,
): Subscription {
  return connection.subscribe(subject, {
    callback(error, message) {
      if (error === null) onMessage(message);
    },
  });
}

/**
 * Reads a JSON message that `isValid` accepts; undefined otherwise. Replicas of two versions run side by side
 * during an upgrade, so every subscriber ignores messages it cannot read.
 */
export function readJson<Value>(
  text: string,
  isValid: (value: unknown) => value is Value,
): Value | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isValid(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
