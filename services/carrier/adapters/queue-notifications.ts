import type { NatsConnection } from "nats";
import { subscribeHints } from "../../shared/io/best-effort-pubsub.ts";
import type { Supervisor } from "../app/supervisor.ts";

/** `doorbell.<connector>` says that messages wait, `invalidate.routing` that settings changed. */
export function subscribeToRings(connection: NatsConnection, supervisor: Supervisor): void {
  subscribeHints(connection, "doorbell.*", ({ subject }) => {
    supervisor.ring(subject.slice("doorbell.".length));
  });
  subscribeHints(connection, "invalidate.routing", () => supervisor.refresh());
}
