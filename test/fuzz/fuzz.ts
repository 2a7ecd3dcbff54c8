/**
 * `make fuzz [SECONDS=60] [SEED=…] [TARGET=http]`: random input for every parser of outside data.
 * Shrinks failing inputs and keeps them in test/fuzz/corpus, which `make test` replays. The same seed gives
 * the same inputs.
 */
import { randomBytes } from "node:crypto";
import { relative } from "node:path";
import { keepFailure, readCorpus } from "./corpus.ts";
import { runTarget } from "./run-target.ts";
import { FUZZ_TARGETS } from "./targets.ts";

const seconds = Number(process.env.SECONDS || 60);
const seed = process.env.SEED || randomBytes(4).toString("hex");
const chosen = FUZZ_TARGETS.filter(({ name }) => (process.env.TARGET || name) === name);
if (chosen.length === 0 || !(seconds > 0)) {
  const names = FUZZ_TARGETS.map(({ name }) => name).join(", ");
  process.stderr.write(`SECONDS is a number above 0; TARGET is one of ${names}\n`);
  process.exit(2);
}

process.stdout.write(`seed ${seed}, ${seconds} s in all\n`);
const shareMs = (seconds * 1000) / chosen.length;
for (const target of chosen) {
  const open = await target.open();
  try {
    const { runs, elapsedMs, failures } = await runTarget(open, {
      seed: `${seed} ${target.name}`,
      corpus: readCorpus(target.name),
      goesOn: (_runs, sinceMs) => sinceMs < shareMs,
    });
    const rate = Math.round((1000 * runs) / Math.max(1, elapsedMs));
    const took = (elapsedMs / 1000).toFixed(1);
    process.stdout.write(
      `${target.name.padEnd(12)} ${String(runs).padStart(8)} inputs in ${took} s ` +
        `(${rate}/s), ${failures.length} failed\n`,
    );
    for (const failure of failures) {
      const file = relative(process.cwd(), keepFailure(target.name, failure));
      process.stdout.write(`  ${file}: ${failure.error.stack ?? failure.error.message}\n`);
      process.exitCode = 1;
    }
  } finally {
    await open.close();
  }
}
// A connection that a failed input left open must not hold the process.
process.exit();
