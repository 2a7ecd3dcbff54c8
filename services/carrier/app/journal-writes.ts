import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { JournalEntry, PartRef } from "../domain/journal-lines.ts";
import { JournalError } from "../domain/message.ts";
import type { InFlight } from "./in-flight.ts";
import type { Journal } from "./ports.ts";

/**
 * Writes the parts of messages to the journal before their octets leave, each part once. Throws `JournalError` when
 * it cannot: then nothing of them is sent.
 */
export function createJournalWrites(options: {
  readonly connectorId: string;
  readonly hasSingleReceipt: boolean;
  readonly journal: Pick<Journal, "append">;
  readonly clock: Clock;
  readonly log: Logger;
}): (flights: ReadonlyMap<string, InFlight>, parts: readonly PartRef[]) => void {
  const { connectorId, log } = options;

  function toEntry({ message, parts }: InFlight, written: Set<number>): JournalEntry {
    const { messageId, to, from, segments } = message;
    return {
      ...{ messageId, connectorId, to, from, parts: parts.length, atMs: options.clock.now() },
      ...{ segments: options.hasSingleReceipt ? 0 : segments, written },
    };
  }

  return (flights, parts) => {
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
  };
}
