/**
 * Turn notes between replicas (`store/turns.ts`) as NATS core messages on one subject: a note that
 * is lost costs milliseconds, so nothing is stored and nothing is acknowledged.
 */
import type { NatsConnection } from "nats";
import { openHints, subscribeHints } from "../../shared/io/best-effort-pubsub.ts";
import { type ContentionHint, createRoundRobin, type Turns } from "../store/contention.ts";

const SUBJECT = "wallet.turns";

/** Opens one replica's turns over the event connection. */
export function openTurns(connection: NatsConnection, replica: string): Turns {
  const tell = openHints(connection);
  const turns = createRoundRobin({ replica, tell: (note) => tell(SUBJECT, JSON.stringify(note)) });
  subscribeHints(connection, SUBJECT, (message) => {
    const note = readNote(message.string());
    if (note !== undefined) turns.hear(note);
  });
  return turns;
}

/** Reads a note; what is none, perhaps from another version, is nothing. */
export function readNote(text: string): ContentionHint | undefined {
  let note: Partial<Record<string, unknown>>;
  try {
    note = JSON.parse(text) as Partial<Record<string, unknown>>;
  } catch {
    return undefined;
  }
  if (typeof note !== "object" || note === null || typeof note.from !== "string") return undefined;
  const { kind, from, to } = note;
  if (!Array.isArray(note.tenantIds)) return undefined;
  const tenantIds = note.tenantIds.filter((id) => typeof id === "string");
  const alone = note.alone === true;
  if (kind === "waits") return { kind, from, tenantIds, alone };
  if (kind === "next" && typeof to === "string") return { kind, from, tenantIds, to, alone };
  return undefined;
}
