/**
 * Contention hints between replicas as NATS core messages on one subject. A lost hint costs a few
 * milliseconds, so hints are neither stored nor acknowledged.
 */
import type { NatsConnection } from "nats";
import { openPublisher, readJson, subscribe } from "../../shared/io/best-effort-pubsub.ts";
import { createContention } from "../app/contention.ts";
import type { Contention, ContentionHint } from "../app/ports.ts";

const SUBJECT = "wallet.turns";

/** Opens one replica's view of contended wallets over the event connection. */
export function openContention(connection: NatsConnection, replica: string): Contention {
  const publishText = openPublisher(connection);
  const contention = createContention({
    replica,
    publish: (hint) => publishText(SUBJECT, JSON.stringify(hint)),
  });
  subscribe(connection, SUBJECT, (message) => {
    const hint = parseHint(message.string());
    if (hint !== undefined) contention.receive(hint);
  });
  return contention;
}

/** Parses a hint. Returns undefined for anything else, for example a hint of another version. */
export function parseHint(text: string): ContentionHint | undefined {
  const parsed = readJson(text, isRecord);
  if (parsed === undefined || typeof parsed.from !== "string") return undefined;
  const { kind, from, to } = parsed;
  if (!Array.isArray(parsed.tenantIds)) return undefined;
  const tenantIds = parsed.tenantIds.filter((id) => typeof id === "string");
  const alone = parsed.alone === true;
  if (kind === "waits") return { kind, from, tenantIds, alone };
  if (kind === "next" && typeof to === "string") return { kind, from, tenantIds, to, alone };
  return undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
