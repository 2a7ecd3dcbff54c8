import { type ChildProcess, spawn } from "node:child_process";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { startOwnServers } from "./servers.ts";

/**
 * `make test`: one set of servers for the whole run, and a mocha process for each file, so that no
 * file finds what another left in memory. Files that need the whole machine go one at a time.
 */
const FILE_LIMIT_MS = 300_000;
const JOBS = Number(process.env.JOBS) || availableParallelism();

type Outcome = {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  readonly output: string;
};

const patterns = process.argv.slice(2);
const files = globSync(patterns).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
const children = new Set<ChildProcess>();
const outcomes: Outcome[] = [];
const begunMs = performance.now();

if (files.length === 0) {
  process.stderr.write(`no test file matches ${patterns.join(" ")}\n`);
  process.exit(1);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    files.length = 0;
    for (const child of children) child.kill(signal);
    process.exitCode = 130;
  });
}

const servers = await startOwnServers();
process.env.TEST_MONGODB_URI = servers.mongodbUri;
process.env.TEST_NATS_URL = servers.natsUrl;
process.env.TEST_REDIS_URL = servers.redisUrl;
try {
  await runAll((file) => !isWholeStack(file), JOBS);
  await runAll(isWholeStack, 1);
} finally {
  await servers.stop();
}
summarise();

/** The quick ones first. */
function rank(file: string): number {
  return ["unit", "contract", "integration", "e2e"].indexOf(file.split("/")[1] ?? "");
}

/** A file of e2e starts a stack of its own, with a dozen processes. */
function isWholeStack(file: string): boolean {
  return file.startsWith("test/e2e/");
}

async function runAll(belongs: (file: string) => boolean, jobs: number): Promise<void> {
  const waiting = files.filter(belongs);
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      if (files.length === 0) return;
      report(await runFile(file));
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

function runFile(file: string): Promise<Outcome> {
  return new Promise((resolve) => {
    const args = ["node_modules/mocha/bin/mocha.js", "--reporter", "dot", "--no-color", file];
    const child = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: FILE_LIMIT_MS,
      killSignal: "SIGKILL",
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
      // A file that cannot be loaded, hangs or crashes counts as one failure.
      const failed = Math.max(count("failing"), code === 0 ? 0 : 1);
      resolve({ file, passed: count("passing"), failed, output });
    });
  });
}

function report(outcome: Outcome): void {
  outcomes.push(outcome);
  const { file, passed, failed, output } = outcome;
  process.stdout.write(`${failed === 0 ? "ok  " : "FAIL"} ${file} (${passed})\n`);
  if (failed > 0) process.stdout.write(`${output.trimEnd()}\n`);
}

function summarise(): void {
  const sum = (key: "passed" | "failed") =>
    outcomes.reduce((total, outcome) => total + outcome[key], 0);
  const seconds = Math.round((performance.now() - begunMs) / 1000);
  for (const { file, failed } of outcomes) {
    if (failed > 0) process.stdout.write(`FAIL ${file}: ${failed}\n`);
  }
  process.stdout.write(`\n${sum("passed")} passed, ${sum("failed")} failed in ${seconds} s\n`);
  if (sum("failed") > 0) process.exitCode = 1;
}
