/** The report for people; the JSON has everything. */
import type { Crash } from "./chaos-stack.ts";
import type { Strikes } from "./check-storm.ts";
import type { Findings } from "./findings.ts";
import type { Done } from "./storm.ts";

/** The files of a run. */
export type Report = Findings & {
  readonly seed: number;
  readonly minutes: number;
  readonly faults: readonly Done[];
  readonly strikes: Readonly<Record<string, Strikes>>;
  readonly crashes: readonly Crash[];
};

/** Breaches printed in full. */
const PRINTED_MAX = 40;

/** Prints counts and breaches. */
export function printReport(report: Report, file: string, say: (line: string) => void): void {
  const { breaches, excused, counts, answers, statuses, crashes, seed, faults, strikes } = report;
  say(`counts    ${inWords(counts)}`);
  say(`statuses  ${inWords(statuses)}`);
  say(`answers   ${inWords(answers)}`);
  const struck = Object.entries(strikes).map(
    ([kind, one]) => `${kind} ${one.struck}/${one.planned}`,
  );
  say(`struck    ${struck.join(", ")}`);
  for (const { name, atMs } of crashes)
    say(`ended by itself: ${name} at ${new Date(atMs).toISOString()}`);
  for (const { invariant, what, ids } of breaches.slice(0, PRINTED_MAX)) {
    say(`BREACH of ${invariant}: ${what}: ${ids.join(" ")}`);
  }
  if (breaches.length > PRINTED_MAX) say(`… and ${breaches.length - PRINTED_MAX} more`);
  for (const { what } of excused) say(`not held against the service: ${what}`);
  say(`report: ${file}`);
  process.stdout.write(
    breaches.length === 0
      ? `seed ${seed}: ${faults.length} faults, every invariant held\n1 passed, 0 failed\n`
      : `seed ${seed}: ${faults.length} faults, ${breaches.length} breaches\n0 passed, 1 failed\n`,
  );
}

function inWords(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}
