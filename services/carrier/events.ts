import type { NatsConnection } from "nats";
import type { Supervisor } from "./supervisor.ts";

/** `doorbell.<connector>` says that messages wait, `invalidate.routing` that settings changed. */
export function subscribeToRings(connection: NatsConnection, supervisor: Supervisor): void {
  connection.subscribe("doorbell.*", {
    callback(error, { subject }) {
      if (error === null) supervisor.ring(subject.slice("doorbell.".length));
    },
  });
  connection.subscribe("invalidate.routing", { callback: () => supervisor.refresh() });
}
