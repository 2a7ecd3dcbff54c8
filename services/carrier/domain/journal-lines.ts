/**
 * The lines of the journal. Each claim of a message has one before its first octet goes to a carrier, one before
 * each further part, one after each refusal of a further part, and one when messaging has its outcome. Tabs separate
 * the fields:
 *
 *     W <message id> <connector> <to> <from> <parts> <at, ms> <segments> p
 *     P <message id> <part>
 *     N <message id> <part>
 *     S <message id>
 *
 * W stands for the first part; P counts parts from 0. A W without `p` is of a release that wrote no P: any part of
 * its message may have been written. A crash may truncate the last line; a line without its end does not count,
 * which is safe, because its octets leave after the whole line. A line without segments counts one for each part.
 * N says that the carrier certainly lacks the part; another P follows before the part is submitted again.
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
  /** The parts, counted from 0, whose octets may have left; absent when that is unknown. */
  readonly written?: Set<number>;
  /** The written parts that the carrier has refused: it certainly lacks them. */
  readonly refused?: Set<number>;
};

/** One part of a message. */
export type PartRef = { readonly messageId: string; readonly index: number };

/** The lines that the journal must have before octets of the message leave. */
export function writtenLines(entry: JournalEntry): string {
  const { messageId, connectorId, to, from, parts, atMs, segments, written, refused } = entry;
  const line = `W\t${messageId}\t${connectorId}\t${to}\t${from}\t${parts}\t${atMs}\t${segments}`;
  if (written === undefined) return `${line}\n`;
  const others = [...written].filter((index) => index > 0);
  const further = others.map((index) => partLine({ messageId, index }));
  const lacking = [...(refused ?? [])].map((index) => refusedLine({ messageId, index }));
  return `${line}\tp\n${[...further, ...lacking].join("")}`;
}

/** The line that the journal must have before octets of a further part leave. */
export function partLine({ messageId, index }: PartRef): string {
  return `P\t${messageId}\t${index}\n`;
}

/** The line after the refusal of a further part. */
export function refusedLine({ messageId, index }: PartRef): string {
  return `N\t${messageId}\t${index}\n`;
}

/** The parts that the carrier may have; undefined when any may have been written. */
export function partsInDoubt({ written, refused }: JournalEntry): ReadonlySet<number> | undefined {
  return refused === undefined ? written : written?.difference(refused);
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
    const [kind, messageId = "", connectorId = "", to = "", from = "", parts, at, ...rest] =
      line.split("\t");
    if (kind === "S") open.delete(messageId);
    if (kind === "P" || kind === "N") {
      notePart(open.get(messageId), kind === "N", Number(connectorId));
    }
    if (kind !== "W" || at === undefined) continue;
    const [segments, byPart] = rest;
    const counts = { parts: Number(parts), segments: Number(segments ?? parts) };
    const written = byPart === "p" ? { written: new Set([0]), refused: new Set<number>() } : {};
    open.set(messageId, {
      messageId,
      connectorId,
      to,
      from,
      ...counts,
      atMs: Number(at),
      ...written,
    });
  }
  return open;
}

/** Notes in an entry that a further part was written, or refused. */
export function notePart(entry: JournalEntry | undefined, isRefused: boolean, index: number): void {
  if (isRefused) entry?.refused?.add(index);
  else {
    entry?.written?.add(index);
    entry?.refused?.delete(index);
  }
}
