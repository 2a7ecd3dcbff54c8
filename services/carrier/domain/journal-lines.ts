/**
 * The journal's lines. Each claim of a message has at most two: one written before its first octet goes to a
 * carrier, one when its outcome is known to messaging. Fields are separated by tabs:
 *
 *     W <message id> <connector> <to> <from> <parts> <at, ms> <segments>
 *     S <message id>
 *
 * A crash may cut the last line short; a line without its end is no line. Lines of an earlier version
 * lack the segments: then the carrier is taken to send a receipt for each part.
 */

/** A message whose octets may have reached a carrier. */
export type JournalEntry = {
  readonly messageId: string;
  readonly connectorId: string;
  readonly to: string;
  readonly from: string;
  readonly parts: number;
  readonly atMs: number;
  /** The message's segments; 0 when the carrier sends one receipt for all its parts. */
  readonly segments: number;
};

/** The line that must be in the journal before a message's octets leave. */
export function writtenLine(entry: JournalEntry): string {
  const { messageId, connectorId, to, from, parts, atMs, segments } = entry;
  return `W\t${messageId}\t${connectorId}\t${to}\t${from}\t${parts}\t${atMs}\t${segments}\n`;
}

/** The line that says a message's outcome has been reported. */
export function settledLine(messageId: string): string {
  return `S\t${messageId}\n`;
}

/** Reads a journal: the messages that were written and whose outcome was never reported. */
export function readOpenEntries(text: string): Map<string, JournalEntry> {
  const open = new Map<string, JournalEntry>();
  const lines = text.split("\n");
  // What follows the last line end is empty, or a line that a crash cut short.
  for (const line of lines.slice(0, -1)) {
    const [kind, messageId = "", connectorId = "", to = "", from = "", parts, at, segments] =
      line.split("\t");
    if (kind === "S") open.delete(messageId);
    if (kind !== "W" || at === undefined) continue;
    const counts = { parts: Number(parts), segments: Number(segments ?? parts) };
    open.set(messageId, { messageId, connectorId, to, from, ...counts, atMs: Number(at) });
  }
  return open;
}
