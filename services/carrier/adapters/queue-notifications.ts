import type { NatsConnection } from "nats";
import { subscribe } from "../../shared/io/best-effort-pubsub.ts";
import type { Supervisor } from "../app/supervisor.ts";

/** `doorbell.<connector>` announces queued messages, `invalidate.routing` changed settings. */
export function subscribeToNotifications(connection: NatsConnection, supervisor: Supervisor): void {
  subscribe(connection, "doorbell.*", ({ subject }) => {
    supervisor.notify(subject.slice("doorbell.".length));
  });
  subscribe(connection, "invalidate.routing", () => supervisor.refresh());
}
