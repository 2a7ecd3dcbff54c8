import type { NatsConnection } from "nats";
import { hearHints } from "../shared/io/hints.ts";
import type { Supervisor } from "./supervisor.ts";

/** `doorbell.<connector>` says that messages wait, `invalidate.routing` that settings changed. */
export function subscribeToRings(connection: NatsConnection, supervisor: Supervisor): void {
  hearHints(connection, "doorbell.*", ({ subject }) => {
    supervisor.ring(subject.slice("doorbell.".length));
  });
  hearHints(connection, "invalidate.routing", () => supervisor.refresh());
}
