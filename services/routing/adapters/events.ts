import type { NatsConnection } from "nats";
import type { RouteTableNotifier } from "../app/ports.ts";

/** NATS core subject; on a message caches read the route table again. */
const INVALIDATE_ROUTING = "invalidate.routing";

/**
 * Publishes changes as NATS core messages. After a lost message caches are out of date for one poll
 * interval at most, so nothing is acknowledged, and nothing is published on a closed connection.
 */
export function createRouteTableNotifier(connection: NatsConnection): RouteTableNotifier {
  return {
    notifyChanged() {
      if (!connection.isClosed()) connection.publish(INVALIDATE_ROUTING);
    },
  };
}
