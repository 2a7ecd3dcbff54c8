import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { JournalEntry, PartRef } from "../domain/journal-lines.ts";
import { JournalError, type PartOutcome } from "../domain/message.ts";
import { isMissing } from "../domain/outcome.ts";
import type { InFlight } from "./in-flight.ts";
import type { Journal } from "./ports.ts";

/** The writes of one connector to the journal. */
export type JournalWrites = {
  /** Writes parts before their octets leave. Throws `JournalError` when it cannot: then nothing of them is sent. */
  before(flights: ReadonlyMap<string, InFlight>, parts: readonly PartRef[]): void;
  /**
   * Notes the outcome of a part. A further part that the carrier refused, and that this process will submit again,
   * must not count as in doubt after a crash. If this line is lost, the part does, which is safe.
   */
  after(flight: InFlight, index: number, outcome: PartOutcome): void;
};

/**
 * Creates the journal writes of a connector. A part gets a line before its first submit, and another one before each
 * submit that follows a refusal.
 */
export function createJournalWrites(options: {
  readonly connectorId: string;
  readonly hasSingleReceipt: boolean;
  readonly journal: Pick<Journal, "append" | "markRefused">;
  readonly clock: Clock;
  readonly log: Logger;
}): JournalWrites {
  const { connectorId, log } = options;

  function toEntry({ message, parts }: InFlight, written: Set<number>): JournalEntry {
    const { messageId, to, from, segments } = message;
    return {
      ...{ messageId, connectorId, to, from, parts: parts.length, atMs: options.clock.now() },
      ...{ segments: options.hasSingleReceipt ? 0 : segments, written, refused: new Set() },
    };
  }

  function before(flights: ReadonlyMap<string, InFlight>, parts: readonly PartRef[]): void {
    const entries = new Map<InFlight, JournalEntry>();
    const further: PartRef[] = [];
    for (const { messageId, index } of parts) {
      const flight = flights.get(messageId);
      if (flight === undefined || flight.written.has(index)) continue;
      if (flight.written.size > 0) further.push({ messageId, index });
      else if (!entries.has(flight)) entries.set(flight, toEntry(flight, new Set([index])));
    }
    if (entries.size + further.length === 0) return;
    try {
      options.journal.append([...entries.values()], further);
    } catch (error) {
      const count = entries.size + further.length;
      log.error({ error, connector: connectorId, count }, "the journal cannot be written");
      throw new JournalError(error);
    }
    for (const { messageId, index } of parts) flights.get(messageId)?.written.add(index);
  }

  function after({ message, written }: InFlight, index: number, outcome: PartOutcome): void {
    if (index === 0 || !written.has(index) || !isMissing(outcome)) return;
    try {
      options.journal.markRefused({ messageId: message.messageId, index });
    } catch (error) {
      log.warn({ error, connector: connectorId }, "the journal cannot note a refused part");
      return;
    }
    written.delete(index);
  }

  return { before, after };
}
