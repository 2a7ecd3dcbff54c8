/** Best-effort messages on NATS core: stopped endpoints to other replicas, alerts to operators. */
import type { NatsConnection } from "nats";
import type { Logger } from "../../shared/core/logger.ts";
import { openPublisher, subscribe } from "../../shared/io/best-effort-pubsub.ts";
import type { OperatorAlerts, StopPublisher } from "../app/ports.ts";

/** Subject of stopped endpoints; the endpoint's id follows. The database holds the truth. */
const STOPPED = "invalidate.webhook_endpoint";

/**
 * A lost message lets a request of another replica leave that was connecting when the endpoint was
 * stopped.
 */
export function createStopPublisher(connection: NatsConnection): StopPublisher {
  const publish = openPublisher(connection);
  return { publish: (endpointId) => publish(`${STOPPED}.${endpointId}`, "") };
}

/** Calls `stop` for each endpoint that a replica stopped. */
export function subscribeStops(
  connection: NatsConnection,
  stop: (endpointId: string) => void,
): void {
  subscribe(connection, `${STOPPED}.*`, ({ subject }) => stop(subject.slice(STOPPED.length + 1)));
}

/** Logs each alert and publishes it on `operator.webhook.<kind>`. */
export function createOperatorAlerts(connection: NatsConnection, log: Logger): OperatorAlerts {
  return {
    send(alert) {
      log.warn({ ...alert }, "a webhook endpoint needs attention");
      connection.publish(`operator.webhook.${alert.kind}`, JSON.stringify(alert));
    },
  };
}
