import type { NatsConnection } from "nats";
import { subscribe } from "../../shared/io/best-effort-pubsub.ts";
import type { Supervisor } from "../app/supervisor.ts";

/** `doorbell.<connector>` says that messages wait, `invalidate.routing` that settings changed. */
export function subscribeToRings(connection: NatsConnection, supervisor: Supervisor): void {
  subscribe(connection, "doorbell.*", ({ subject }) => {
    supervisor.ring(subject.slice("doorbell.".length));
  });
  subscribe(connection, "invalidate.routing", () => supervisor.refresh());
}
