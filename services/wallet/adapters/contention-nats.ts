/**
 * Turn notes between replicas (`store/turns.ts`) as NATS core messages on one subject: a note that
 * is lost costs milliseconds, so nothing is stored and nothing is acknowledged.
 */
import type { NatsConnection } from "nats";
import { openPublisher, readJson, subscribe } from "../../shared/io/best-effort-pubsub.ts";
import { type ContentionHint, createRoundRobin, type Turns } from "../store/contention.ts";

const SUBJECT = "wallet.turns";

/** Opens one replica's turns over the event connection. */
export function openTurns(connection: NatsConnection, replica: string): Turns {
  const tell = openPublisher(connection);
  const turns = createRoundRobin({ replica, tell: (note) => tell(SUBJECT, JSON.stringify(note)) });
  subscribe(connection, SUBJECT, (message) => {
    const note = readNote(message.string());
    if (note !== undefined) turns.hear(note);
  });
  return turns;
}

/** Reads a note; what is none, perhaps from another version, is nothing. */
export function readNote(text: string): ContentionHint | undefined {
  const note = readJson(text, isRecord);
  if (note === undefined || typeof note.from !== "string") return undefined;
  const { kind, from, to } = note;
  if (!Array.isArray(note.tenantIds)) return undefined;
  const tenantIds = note.tenantIds.filter((id) => typeof id === "string");
  const alone = note.alone === true;
  if (kind === "waits") return { kind, from, tenantIds, alone };
  if (kind === "next" && typeof to === "string") return { kind, from, tenantIds, to, alone };
  return undefined;
}

function isRecord(value: unknown): value is Partial<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
