import { type ChildProcess, spawn } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { startOwnServers, type TestServers } from "./servers.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { printResult, printSummary, type RunResult, type TestRun } from "./test-report.ts";

/**
 * `make test` and `make test-slow`. The unit tests of one service share a mocha process, and so do the files of
 * SHARED_FOLDERS, the files that use the shared REST stack, and those that render the chart. Every other file has its
 * own process. Every worker has its own servers, because a durable consumer has one name: two files on one stream
 * would take each other's events.
 *
 * A run of whole stacks has several processes of its own, so at most one per core runs at a time. The other runs are
 * beside them: they compute while the stacks wait.
 *
 * Slow files put load on the machine or measure rates, so one per core runs at a time. A few of them wait nearly all
 * the time; these have a worker of their own.
 */
const RUN_LIMIT_MS = 300_000;
/** In a run of several files: what each further one adds. */
const FILE_LIMIT_MS = 20_000;
/** A slow or busy machine misses some deadlines; more failed files than this are not worth a retry. */
const RETRIES_MAX = 15;
const SLOW_FILES = "**/*.slow.test.ts";
/** In-process tests: loading the services takes longer than many of their files. */
const SHARED_FOLDERS: readonly string[] = [
  ...["test/contract/gateway", "test/contract/messaging", "test/contract/webhook"],
  ...["test/integration/messaging", "test/integration/webhook"],
];
/** Files of these folders with a process of their own, and why. */
const ALONE: Readonly<Record<string, string>> = {
  "test/contract/gateway/body-budget.test.ts": "measures the memory of its process",
  "test/integration/messaging/retention.test.ts":
    "deletes by the times of ids, which other files have moved into the future",
};
/** Names of groups that are no folder. */
const SHARED_STACK = "test/e2e: the shared stack";
const CHART_RENDERS = "test/chart: renders";
/** Files of one process, so that the workers end at nearly the same time. A file of renders takes longest. */
const FILES_OF_RUN_MAX = 10;
const RENDERS_OF_RUN_MAX = 5;
/** Slow files that wait for timeouts, leases and rate-limited submits, the longest first. */
const WAITING_FILES = [
  "test/integration/carrier/messages.slow.test.ts",
  "test/e2e/wallet/orphan-hold.slow.test.ts",
  "test/integration/carrier/optional-parameters.slow.test.ts",
  "test/integration/carrier/quiet-hours.slow.test.ts",
];

/** Installed tools keep their compiled code in the temporary directory. */
const CACHE_OF_TOOLS = "node-compile-cache";

const patterns = process.argv.slice(2);
const isSlow = patterns.some((pattern) => pattern.includes(".slow."));
/** Tests wait more than they compute, so two files per core keep the cores busy. */
const JOBS_DEFAULT = availableParallelism() * (isSlow ? 1 : 2);
const JOBS = Math.max(1, Math.floor(Number(process.env.JOBS || JOBS_DEFAULT)) || 1);
const STACKS = Math.min(JOBS, availableParallelism());
const files = globSync(patterns, { exclude: isSlow ? [] : [SLOW_FILES] });
const children = new Set<ChildProcess>();
const results: RunResult[] = [];
const passedOnRetry: string[] = [];
const startedMs = performance.now();
let isStopped = false;

if (files.length === 0) {
  process.stderr.write(`no test file matches ${patterns.join(" ")}\n`);
  process.exit(1);
}
/** Everything that this run keeps on disk but the servers' data; removed at its end. */
const runFolder = temporaryFolder("run");
/** V8's code and the stripped types of the sources: every run loads nearly the same ones. */
const compileCache = join(runFolder, "code");
/** Enables it in a process, and not in those that it starts: services have the memory that they always have. */
const COMPILE_CACHE_MODULE = `data:text/javascript,${encodeURIComponent(
  'import { enableCompileCache } from "node:module"; enableCompileCache(process.env.TEST_COMPILE_CACHE);',
)}`;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    isStopped = true;
    for (const child of children) child.kill(signal);
    process.exitCode = 130;
  });
}

const runs = groupFiles(files);
const waitingRuns =
  isSlow && JOBS > 1
    ? WAITING_FILES.flatMap((name) => runs.find((run) => run.name === name) ?? [])
    : [];
const otherRuns = runs.filter((run) => !waitingRuns.includes(run));
const workerCount = Math.min(JOBS, otherRuns.length) + Math.min(1, waitingRuns.length);
const workers = await Promise.all(Array.from({ length: workerCount }, () => startOwnServers()));
try {
  if (isSlow) {
    const ofOthers = workers.slice(0, JOBS);
    await Promise.all([runAll(waitingRuns, workers.slice(-1)), runAll(otherRuns, ofOthers)]);
  } else {
    await runBeside(
      runs.filter(isWholeStack),
      runs.filter((run) => !isWholeStack(run)),
    );
  }
  await retryFailed();
} finally {
  await Promise.all(workers.map((servers) => servers.stop()));
}
const isGood = printSummary(results, {
  passedOnRetry,
  seconds: (performance.now() - startedMs) / 1000,
  isSlow,
});
if (!isGood && !isStopped) process.exitCode = 1;

/** Groups the files that share a process; longer kinds of runs come first. */
function groupFiles(paths: readonly string[]): readonly TestRun[] {
  const groups = Map.groupBy([...paths].sort(), groupOf);
  return [...groups]
    .flatMap(([name, group]) => splitGroup(name, group))
    .sort((a, b) => rankOf(a) - rankOf(b) || a.name.localeCompare(b.name));
}

function groupOf(path: string): string {
  const folder = dirname(path);
  if (isSlow || ALONE[path] !== undefined) return path;
  if (folder.startsWith("test/unit/") || SHARED_FOLDERS.includes(folder)) return folder;
  if (folder === "test/chart" && mentions(path, "chartSuite(")) return CHART_RENDERS;
  if (!folder.startsWith("test/e2e/")) return path;
  if (mentions(path, "sharedRestStack", "useRestSuite")) return SHARED_STACK;
  const settings = /\boneProcessStack\((\w*)\)/.exec(readFileSync(path, "utf8"))?.[1];
  return settings === undefined ? path : `test/e2e: one process, ${settings || "no settings"}`;
}

function mentions(path: string, ...words: readonly string[]): boolean {
  const text = readFileSync(path, "utf8");
  return words.some((word) => text.includes(word));
}

/** Unit tests stay together: they take seconds. */
function splitGroup(name: string, group: readonly string[]): TestRun[] {
  if (group.length === 1) return [{ name: group[0] ?? name, files: group }];
  const isUnit = name.startsWith("test/unit/");
  const max = name === CHART_RENDERS ? RENDERS_OF_RUN_MAX : FILES_OF_RUN_MAX;
  const count = isUnit ? 1 : Math.ceil(group.length / max);
  return Array.from({ length: count }, (_, part) => ({
    name: count === 1 ? name : `${name} (${part + 1} of ${count})`,
    files: group.filter((_file, at) => at % count === part),
  }));
}

function rankOf({ name }: TestRun): number {
  return ["chart", "integration", "e2e", "contract", "unit"].indexOf(
    /^test\/(\w+)/.exec(name)?.[1] ?? "",
  );
}

function isWholeStack({ files: [path = ""] }: TestRun): boolean {
  return (
    /^test\/(e2e|clients)\//.test(path) ||
    mentions(path, "startTestStack", "startCarrierStack", "startCampaignStack", "startQuietNight")
  );
}

/** Runs at most one whole stack per core, and the other runs on all the workers that are free. */
async function runBeside(stacks: TestRun[], others: TestRun[]): Promise<void> {
  await Promise.all([
    ...workers.slice(0, STACKS).map(async (servers) => {
      await runAll(stacks, [servers]);
      await runAll(others, [servers]);
    }),
    runAll(others, workers.slice(STACKS)),
  ]);
}

async function runAll(waiting: TestRun[], on: readonly TestServers[]): Promise<void> {
  const work = async (servers: TestServers) => {
    for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
      if (isStopped) return;
      await record(run, servers);
    }
  };
  await Promise.all(on.map(work));
}

/** Runs failed files once more with the machine to themselves. A second failure is final. */
async function retryFailed(): Promise<void> {
  const failed = results.filter((result) => result.failed > 0);
  if (isStopped || failed.length === 0 || failed.length > RETRIES_MAX) return;
  process.stdout.write(`retry alone: ${failed.map(({ run }) => run.name).join(", ")}\n`);
  for (const first of failed) {
    if (isStopped) return;
    results.splice(results.indexOf(first), 1);
    const second = await record(first.run, workers[0] as TestServers);
    if (second.failed === 0) passedOnRetry.push(first.run.name);
  }
}

async function record(run: TestRun, servers: TestServers): Promise<RunResult> {
  const result = await runMocha(run, servers);
  results.push(result);
  printResult(result);
  return result;
}

function runMocha(run: TestRun, servers: TestServers): Promise<RunResult> {
  const runStartedMs = performance.now();
  const tmpDir = mkdtempSync(join(runFolder, "tmp-"));
  const { child, textOf } = spawnMocha(run, servers, tmpDir);
  children.add(child);
  return new Promise((resolve) => {
    child.once("close", (code) => {
      children.delete(child);
      const output = textOf.output();
      const count = (word: string) =>
        Number(new RegExp(`^ +(\\d+) ${word}`, "m").exec(output)?.[1] ?? 0);
      const [passed, skipped] = [count("passing"), count("pending")];
      // A file that cannot be loaded, hangs, crashes or has no test counts as one failure.
      const isGoodRun = code === 0 && passed + skipped > 0;
      const failed = Math.max(count("failing"), isGoodRun ? 0 : 1);
      const seconds = (performance.now() - runStartedMs) / 1000;
      const fileSeconds = textOf.seconds();
      const left = readdirSync(tmpDir).filter((name) => name !== CACHE_OF_TOOLS);
      resolve({ run, passed, failed, skipped, seconds, fileSeconds, left, output });
    });
  });
}

function spawnMocha(run: TestRun, servers: TestServers, tmpDir: string) {
  const args = ["--import", COMPILE_CACHE_MODULE];
  args.push("node_modules/mocha/bin/mocha.js", "--reporter", "dot", "--no-color");
  if (run.files.length > 1) args.push("--require", "./test/support/file-seconds.ts");
  const child = spawn(process.execPath, [...args, ...run.files], {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    timeout: RUN_LIMIT_MS + (run.files.length - 1) * FILE_LIMIT_MS,
    killSignal: "SIGKILL",
    env: {
      ...process.env,
      TMPDIR: tmpDir,
      TEST_COMPILE_CACHE: compileCache,
      TEST_SECONDS_FD: "3",
      TEST_MONGODB_URI: servers.mongodbUri,
      TEST_NATS_URL: servers.natsUrl,
      TEST_REDIS_URL: servers.redisUrl,
    },
  });
  const [, stdout, stderr, secondsPipe] = child.stdio;
  const collect = (...streams: readonly (typeof secondsPipe)[]) => {
    const chunks: Buffer[] = [];
    for (const stream of streams) stream?.on("data", (chunk: Buffer) => chunks.push(chunk));
    return () => Buffer.concat(chunks).toString();
  };
  return { child, textOf: { output: collect(stdout, stderr), seconds: collect(secondsPipe) } };
}
