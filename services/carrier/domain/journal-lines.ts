/**
 * The lines of the journal. Each claim of a message has at most two: one before its first octet goes to a carrier,
 * one when messaging has its outcome. Tabs separate the fields:
 *
 *     W <message id> <connector> <to> <from> <parts> <at, ms> <segments>
 *     S <message id>
 *
 * A crash may truncate the last line; a line without its end does not count. A line without segments counts one
 * for each part.
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

/** The line that the journal must have before octets of the message leave. */
export function writtenLine(entry: JournalEntry): string {
  const { messageId, connectorId, to, from, parts, atMs, segments } = entry;
  return `W\t${messageId}\t${connectorId}\t${to}\t${from}\t${parts}\t${atMs}\t${segments}\n`;
}

/** The line for a reported outcome. */
export function settledLine(messageId: string): string {
  return `S\t${messageId}\n`;
}

/** Reads the entries whose outcome was never reported. */
export function readOpenEntries(text: string): Map<string, JournalEntry> {
  const open = new Map<string, JournalEntry>();
  const lines = text.split("\n");
  // The text after the last line end is empty, or a truncated line.
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
