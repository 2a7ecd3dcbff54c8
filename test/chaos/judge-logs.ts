/** Every log of the run, line by line, for what must be in none (invariant 10). */
import { createReadStream, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import { type Forbidden, findLeaks } from "../support/log-scan.ts";

/** Lines are judged in pieces of about this many characters. */
const PIECE_LENGTH = 1 << 20;
/** Leaks named in full; the rest is counted. */
const NAMED_MAX = 20;

/** What the scan saw. */
export type LogScan = { readonly lines: number; readonly breaches: readonly FoundBreach[] };

/** Scans a folder of logs. */
export async function judgeLogs(dir: string, forbidden: readonly Forbidden[]): Promise<LogScan> {
  let lines = 0;
  const breaches: FoundBreach[] = [];
  for (const name of readdirSync(dir)) {
    const file = join(dir, name);
    let piece = "";
    const judge = () => {
      for (const { kind, line } of findLeaks(piece, forbidden)) {
        if (breaches.length >= NAMED_MAX) break;
        const what = `${kind} in ${basename(file)}: ${line.slice(0, 600)}`;
        breaches.push({ invariant: 10, what, ids: [] });
      }
      piece = "";
    };
    for await (const line of createInterface({ input: createReadStream(file, "utf8") })) {
      lines += 1;
      piece += `${line}\n`;
      if (piece.length > PIECE_LENGTH) judge();
    }
    judge();
  }
  return { lines, breaches };
}
