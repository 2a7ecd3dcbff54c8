import type { NatsConnection } from "nats";

/** NATS core subject that tells caches of the route table to ask again. */
export const INVALIDATE_ROUTING = "invalidate.routing";

/**
 * Makes the announcer of changes. Losing one costs caches a poll interval, never truth, so it is
 * published without waiting, and not at all while NATS is away.
 */
export function createAnnouncer(connection: NatsConnection): () => void {
  return () => {
    if (!connection.isClosed()) connection.publish(INVALIDATE_ROUTING);
  };
}
