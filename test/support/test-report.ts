/** Mocha's work in one process: one file, or several that share it. */
export type TestRun = { readonly name: string; readonly files: readonly string[] };

export type RunResult = {
  readonly run: TestRun;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly seconds: number;
  /** Lines `<seconds> <file>` of test/support/file-seconds.ts, when several files share the process. */
  readonly fileSeconds: string;
  /** Files and folders that it left in the temporary directory. */
  readonly left: readonly string[];
  readonly output: string;
};

/** `make test` should stay near six minutes: a file above this belongs to `make test-slow`. */
const SECONDS_MAX = 30;
/** Files of a shared process below this are not listed. */
const LISTED_SECONDS_MIN = 1;
const SKIPPED_SINCE = /skipped, since ([^\n]+)/g;

/** Prints one line for a run, its slow files, and mocha's output when a test failed. */
export function printResult({ run, failed, passed, skipped, ...rest }: RunResult): void {
  const counts = skipped === 0 ? `${passed}` : `${passed}, ${skipped} skipped`;
  const took = rest.seconds.toFixed(1).padStart(6);
  print(`${failed === 0 ? "ok  " : "FAIL"} ${took} s  ${run.name} (${counts})`);
  for (const { file, seconds } of parseFileSeconds(rest.fileSeconds)) {
    if (seconds >= LISTED_SECONDS_MIN) print(`     ${seconds.toFixed(1).padStart(6)} s  - ${file}`);
  }
  if (rest.left.length > 0) print(`     left in the temporary directory: ${rest.left.join(", ")}`);
  if (failed > 0) print(rest.output.trimEnd());
}

/** Prints the failures, the skipped tests with their reasons, and the totals; true when all passed. */
export function printSummary(
  results: readonly RunResult[],
  {
    passedOnRetry,
    seconds,
    isSlow,
  }: {
    readonly passedOnRetry: readonly string[];
    readonly seconds: number;
    readonly isSlow: boolean;
  },
): boolean {
  const sum = (key: "passed" | "failed" | "skipped") =>
    results.reduce((total, result) => total + result[key], 0);
  print("");
  if (!isSlow) printLongRuns(results);
  printSkipped(results);
  if (!isSlow) print("not part of this run: storms and long waits (make test-slow)");
  for (const { run, failed } of results) if (failed > 0) print(`FAIL ${run.name}: ${failed}`);
  for (const name of passedOnRetry) print(`passed on retry: ${name}`);
  const retries = passedOnRetry.length === 0 ? "" : `, ${passedOnRetry.length} passed on retry`;
  const took = `in ${Math.round(seconds)} s`;
  print(
    `${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped ${took}${retries}`,
  );
  return sum("failed") === 0;
}

function printLongRuns(results: readonly RunResult[]): void {
  for (const { run, seconds, fileSeconds } of results) {
    const ofFiles =
      run.files.length === 1 ? [{ file: run.name, seconds }] : parseFileSeconds(fileSeconds);
    for (const one of ofFiles) {
      if (one.seconds <= SECONDS_MAX) continue;
      print(`over ${SECONDS_MAX} s: ${one.file} (${one.seconds.toFixed(0)} s)`);
    }
  }
}

function parseFileSeconds(lines: string): readonly { file: string; seconds: number }[] {
  return [...lines.matchAll(/^(\S+) (\S+)$/gm)].map(([, seconds = "0", file = ""]) => ({
    ...{ file, seconds: Number(seconds) },
  }));
}

/** Skipped tests by reason: which files, and the command that runs them. */
function printSkipped(results: readonly RunResult[]): void {
  const skippedRuns = results.filter(({ skipped }) => skipped > 0);
  const reasonOf = ({ output }: RunResult) =>
    [...new Set([...output.matchAll(SKIPPED_SINCE)].map(([, why = ""]) => why.trim()))].join("; ");
  for (const [reason, group] of Map.groupBy(skippedRuns, reasonOf)) {
    const count = group.reduce((total, { skipped }) => total + skipped, 0);
    print(`skipped ${count}: ${reason || "the file gives no reason"}`);
    print(`  then run: make test TESTS="${group.map(({ run }) => patternOf(run)).join(" ")}"`);
  }
}

/** The value of TESTS that repeats a run: a file or a folder by its name, else the files. */
function patternOf({ name, files }: TestRun): string {
  return /[: ]/.test(name) ? files.join(" ") : name;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
