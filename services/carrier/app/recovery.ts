import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { retry } from "../../shared/flow/retry.ts";
import { type JournalEntry, partsInDoubt } from "../domain/journal-lines.ts";
import type { ClaimedMessage } from "../domain/message.ts";
import { normalizeAddress } from "../domain/receipt.ts";
import { segmentOfPart, type UnknownSubmission } from "../domain/submission.ts";
import type { PartlyWritten } from "./partly-written.ts";
import type { Journal, MessagingClient, SubmissionStore } from "./ports.ts";

/**
 * Ends the claims of an earlier process of this identity, before anything new is claimed. Messages without a
 * journal entry return to their queue at once. The others are in doubt, and the store keeps them by recipient and
 * sender, so that a receipt can still decide them. Retries until the process stops.
 *
 * Returns, by connector, the messages of which some parts were certainly not written: they follow when the first
 * part is proved (`awaiting-proof.ts`). Their journal entries stay open until then, so that a process that dies
 * again leaves them to the next. Entries of an earlier identity may lack lines, because its machine has restarted,
 * so all their parts count as written. So do those of a carrier that sends one receipt for all parts, because that
 * receipt would prove too much.
 */
export async function recoverClaims(options: {
  readonly journal: Pick<Journal, "inherited" | "orphaned" | "markSettled">;
  readonly messaging: Pick<MessagingClient, "recoverClaims">;
  readonly store: Pick<SubmissionStore, "saveUnknowns">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}): Promise<ReadonlyMap<string, readonly PartlyWritten[]>> {
  const { journal, messaging, store, clock, log, signal } = options;
  const written = [...journal.inherited.values()];
  const partlyIds = written.filter(isPartlyWritten).map(({ messageId }) => messageId);
  const unknownsAt = (atMs: number) =>
    [...written, ...[...journal.orphaned.values()].map(wholly)].flatMap((entry) => {
      const { messageId, connectorId, to, from, parts, segments, atMs: submittedAtMs } = entry;
      const indexes = partsInDoubt(entry) ?? range(Math.max(1, parts));
      return [...indexes].map((index): UnknownSubmission => {
        const segment = segmentOfPart(index, parts, segments === 0);
        const parties = { to: normalizeAddress(to), from: normalizeAddress(from) };
        return { connectorId, messageId, ...segment, ...parties, atMs, submittedAtMs };
      });
    });
  async function recover() {
    // The wait for receipts begins now: neither the age of the entry nor an outage of messaging shortens it.
    await store.saveUnknowns(unknownsAt(clock.now()));
    const ids = written.map(({ messageId }) => messageId);
    const { givenBack, inDoubt, partlyWritten } = await messaging.recoverClaims(ids, partlyIds);
    const left = new Set(partlyWritten.map(({ messageId }) => messageId));
    journal.markSettled(ids.filter((messageId) => !left.has(messageId)));
    if (givenBack + inDoubt > 0) log.warn({ givenBack, inDoubt }, "claims recovered");
    return byConnector(partlyWritten, journal.inherited);
  }

  try {
    return await retry(recover, {
      ...{ baseMs: 100, capMs: 5000, signal },
      onRetry: (error, attempt) => log.warn({ error, attempt }, "recovering claims is retried"),
    });
  } catch (error) {
    // The next process recovers the same claims.
    if (signal.aborted) return new Map();
    throw error;
  }
}

/** The end of an earlier identity's journal may be lost: any part may have been written. */
function wholly({ written: _, ...entry }: JournalEntry): JournalEntry {
  return entry;
}

function isPartlyWritten(entry: JournalEntry): boolean {
  const inDoubt = partsInDoubt(entry);
  return entry.segments > 0 && inDoubt !== undefined && inDoubt.size < entry.parts;
}

function byConnector(
  messages: readonly ClaimedMessage[],
  entries: ReadonlyMap<string, JournalEntry>,
): ReadonlyMap<string, readonly PartlyWritten[]> {
  const all = messages.flatMap((message) => {
    const entry = entries.get(message.messageId);
    const inDoubt = entry && partsInDoubt(entry);
    if (entry?.written === undefined || inDoubt === undefined) return [];
    const { connectorId, parts } = entry;
    const isFirstTaken = entry.written.size > 1;
    return [{ connectorId, message, parts, written: new Set(inDoubt), isFirstTaken }];
  });
  return Map.groupBy(all, ({ connectorId }) => connectorId);
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}
