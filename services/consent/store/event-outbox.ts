import type { ClientSession } from "mongodb";
import type { OutboxTicket } from "../../shared/io/outbox.ts";
import type { ConsentEvent } from "../app/ports.ts";

/** Writes events inside the transaction of their change and publishes them after its commit. */
export type EventOutbox = {
  write(events: readonly ConsentEvent[], session: ClientSession): Promise<OutboxTicket | undefined>;
  publish(ticket: OutboxTicket | undefined): void;
};
