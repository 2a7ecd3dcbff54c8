import { type ChildProcess, spawn } from "node:child_process";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { startOwnServers, type TestServers } from "./servers.ts";

/**
 * `make test`: a mocha process for each file, so that no file finds what another left in memory,
 * and a set of servers for each file that runs at the same time: a durable consumer has one name,
 * and two files on one stream would take each other's events. Files that need the whole machine
 * go one at a time.
 */
const FILE_LIMIT_MS = 300_000;
/** More failures than this are no accident. */
const AGAIN_MAX = 5;
const JOBS = Math.max(1, Math.floor(Number(process.env.JOBS || availableParallelism())) || 1);

type Outcome = {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  /** Tests that could not be tried here; their files print why. */
  readonly skipped: number;
  readonly output: string;
};

const patterns = process.argv.slice(2);
const files = globSync(patterns).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
const children = new Set<ChildProcess>();
const outcomes: Outcome[] = [];
/** Files that failed at first. */
const passedAgain: string[] = [];
const begunMs = performance.now();
let isStopped = false;

if (files.length === 0) {
  process.stderr.write(`no test file matches ${patterns.join(" ")}\n`);
  process.exit(1);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    isStopped = true;
    for (const child of children) child.kill(signal);
    process.exitCode = 130;
  });
}

const lanes = await Promise.all(Array.from({ length: JOBS }, () => startOwnServers()));
try {
  await runAll((file) => !isWholeStack(file), lanes);
  await runAll(isWholeStack, lanes.slice(0, 1));
  await runFailedAgain();
} finally {
  await Promise.all(lanes.map((servers) => servers.stop()));
}
summarise();

/** The quick ones first. */
function rank(file: string): number {
  const order = ["unit", "contract", "chart", "integration", "e2e"];
  return order.indexOf(file.split("/")[1] ?? "");
}

/** A file of e2e starts a stack of its own, with a dozen processes. */
function isWholeStack(file: string): boolean {
  return file.startsWith("test/e2e/");
}

async function runAll(
  belongs: (file: string) => boolean,
  places: readonly TestServers[],
): Promise<void> {
  const waiting = files.filter(belongs);
  const work = async (servers: TestServers) => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      if (isStopped) return;
      report(await runFile(file, servers));
    }
  };
  await Promise.all(places.map(work));
}

/**
 * Tests with deadlines may miss them beside another file. One that failed gets a second run with
 * the machine to itself, and both are printed; a file that fails again has failed.
 */
async function runFailedAgain(): Promise<void> {
  const failed = outcomes.filter((outcome) => outcome.failed > 0).map(({ file }) => file);
  if (isStopped || failed.length === 0 || failed.length > AGAIN_MAX) return;
  process.stdout.write(`once more, alone: ${failed.join(", ")}\n`);
  for (const file of failed) {
    if (isStopped) return;
    const at = outcomes.findIndex((outcome) => outcome.file === file);
    outcomes.splice(at, 1);
    const again = await runFile(file, lanes[0] as TestServers);
    if (again.failed === 0) passedAgain.push(file);
    report(again);
  }
}

function runFile(file: string, servers: TestServers): Promise<Outcome> {
  return new Promise((resolve) => {
    const args = ["node_modules/mocha/bin/mocha.js", "--reporter", "dot", "--no-color", file];
    const child = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: FILE_LIMIT_MS,
      killSignal: "SIGKILL",
      env: {
        ...process.env,
        TEST_MONGODB_URI: servers.mongodbUri,
        TEST_NATS_URL: servers.natsUrl,
        TEST_REDIS_URL: servers.redisUrl,
      },
    });
    children.add(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("close", (code) => {
      children.delete(child);
      const count = (word: string) =>
        Number(new RegExp(`^ +(\\d+) ${word}`, "m").exec(output)?.[1] ?? 0);
      const [passed, skipped] = [count("passing"), count("pending")];
      // A file that cannot be loaded, hangs, crashes or has no test at all counts as one failure.
      const isGood = code === 0 && passed + skipped > 0;
      const failed = Math.max(count("failing"), isGood ? 0 : 1);
      resolve({ file, passed, failed, skipped, output });
    });
  });
}

function report(outcome: Outcome): void {
  outcomes.push(outcome);
  const { file, passed, failed, skipped, output } = outcome;
  const counts = skipped === 0 ? `${passed}` : `${passed}, ${skipped} skipped`;
  process.stdout.write(`${failed === 0 ? "ok  " : "FAIL"} ${file} (${counts})\n`);
  if (failed > 0) process.stdout.write(`${output.trimEnd()}\n`);
  // Behind the dots of the tests before it.
  else
    for (const [why] of output.matchAll(/\w[^\n]*\bskipped, since .*$|skipped, since .*$/gm)) {
      process.stdout.write(`     ${why}\n`);
    }
}

function summarise(): void {
  const sum = (key: "passed" | "failed" | "skipped") =>
    outcomes.reduce((total, outcome) => total + outcome[key], 0);
  const seconds = Math.round((performance.now() - begunMs) / 1000);
  for (const { file, failed } of outcomes) {
    if (failed > 0) process.stdout.write(`FAIL ${file}: ${failed}\n`);
  }
  const again =
    passedAgain.length === 0 ? "" : `, ${passedAgain.length} passed on their second run`;
  for (const file of passedAgain) process.stdout.write(`passed on its second run: ${file}\n`);
  process.stdout.write(
    `\n${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped in ${seconds} s${again}\n`,
  );
  if (sum("failed") > 0 && !isStopped) process.exitCode = 1;
}
