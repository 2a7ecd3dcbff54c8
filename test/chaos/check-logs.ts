/** Scans every log of the run for forbidden contents (invariant 10). */
import { createReadStream, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import { type Forbidden, findDigits, findLeaks } from "../support/log-scan.ts";

/** Lines are scanned in pieces of about this many characters. */
const PIECE_LENGTH = 1 << 20;
/** Leaks named in full; the rest is counted. */
const NAMED_MAX = 20;

/** The result of the scan. */
export type LogScan = { readonly lines: number; readonly breaches: readonly FoundBreach[] };

/**
 * Scans a folder of logs; `recipients` are numbers as `+234…`, `writers` the processes that have each written
 * `<name>.log`. An empty log of theirs is a breach: nothing of it was scanned.
 */
export async function checkLogs(
  dir: string,
  {
    forbidden,
    recipients,
    writers,
  }: {
    readonly forbidden: readonly Forbidden[];
    readonly recipients: readonly string[];
    readonly writers: readonly string[];
  },
): Promise<LogScan> {
  const silent = new Set(writers.map((name) => `${name}.log`));
  let lines = 0;
  const breaches: FoundBreach[] = [];
  const runs = new Set(recipients.flatMap((to) => [to.slice(1), to.replace("+234", "0")]));
  for (const name of readdirSync(dir)) {
    const file = join(dir, name);
    let piece = "";
    const check = () => {
      const leaks = findLeaks(piece, forbidden);
      for (const { kind, line } of [...leaks, ...findDigits(piece, "a recipient", runs)]) {
        if (breaches.length >= NAMED_MAX) break;
        const what = `${kind} in ${basename(file)}: ${line.slice(0, 600)}`;
        breaches.push({ invariant: 10, what, ids: [] });
      }
      piece = "";
    };
    for await (const line of createInterface({ input: createReadStream(file, "utf8") })) {
      silent.delete(name);
      lines += 1;
      piece += `${line}\n`;
      if (piece.length > PIECE_LENGTH) check();
    }
    check();
  }
  for (const name of silent) breaches.push({ invariant: 10, what: `no line in ${name}`, ids: [] });
  return { lines, breaches };
}
