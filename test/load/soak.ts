/**
 * `make soak [MINUTES=60] [RATE=…]`: single sends end to end at half of what the stack can do, for an
 * hour. Memory, open files and sockets of every process, and the latency, are drawn as an SVG graph.
 * Memory and latency must stay flat after a warm-up of a quarter of the time. Files and sockets
 * follow the load, because pools do; what is open at rest must be as much after it as before. At the end
 * every message must be final, settled and announced. Else it exits with 1.
 */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { MongoClient } from "mongodb";
import { newId } from "../../services/shared/core/ids.ts";
import { openFiles, processesIn, residentMb } from "./cpu.ts";
import { driveOpen, latenciesOf } from "./drive.ts";
import { settled } from "./message-cost.ts";
import { measureOurEndToEnd } from "./our-end-to-end.ts";
import { keepResult, printTable } from "./report.ts";
import { openConnections, singleSend } from "./sends.ts";
import { loadStack } from "./stack.ts";
import { drawPanels, type Line } from "./svg-chart.ts";
import { type Sample, type Tolerance, trendOf } from "./trend.ts";

const MINUTES = Number(process.env.MINUTES ?? 60);
const CONNECTIONS = 128;
const CAPACITY_RATE = 2500;
const CAPACITY_SECONDS = 6;
const SAMPLES = 240;
const SAMPLE_MIN_MS = 2000;

/** The allowed growth of each series. */
const TOLERANCES: Readonly<Record<string, Tolerance>> = {
  memory: { share: 0.1, absolute: 20 },
  "p50 of accepts": { share: 0.25, absolute: 5 },
  "p99 of accepts": { share: 0.25, absolute: 20 },
};

/**
 * Drawn, not checked: the stand-ins for the outside world remember what they saw up to a bound of
 * theirs, and mongod fills the cache that it is given.
 */
const NOT_CHECKED = new Set(["smsc-simulator", "receiver", "mongod"]);

/** A heap grows towards its usual size for some minutes; a shorter run does not check memory. */
const MEMORY_MINUTES = 12;

/** Pools close connections after 30 s without use. */
const REST_MS = 45_000;

/** Allowed additional handles at rest after the load: reconnections, a driver's larger pool. */
const REST_TOLERANCE = 10;

/** Samples by series, then by process. */
const series = new Map<string, Map<string, Sample[]>>();
const failures: string[] = [];

function note(what: string, name: string, sample: Sample): void {
  const lines = series.get(what) ?? new Map<string, Sample[]>();
  series.set(what, lines);
  lines.set(name, [...(lines.get(name) ?? []), sample]);
}

const { stack, stop } = await loadStack();
try {
  const rate = Number(process.env.RATE ?? (await halfOfCapacity()));
  process.stdout.write(`${rate}/s for ${MINUTES} minutes\n`);
  const before = await openAtRest();
  await soak(rate, MINUTES * 60_000);
  finish(rate, before, await openAtRest());
} finally {
  await stop();
}

async function halfOfCapacity(): Promise<number> {
  const load = { perSecond: CAPACITY_RATE, seconds: CAPACITY_SECONDS };
  const { perSecond } = await measureOurEndToEnd(stack, load);
  return Math.max(1, Math.round(perSecond / 2));
}

/** The open handles of each idle process. */
async function openAtRest(): Promise<ReadonlyMap<string, ReturnType<typeof openFiles>>> {
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  return new Map(processesIn(stack.pids).map(([name, pid]) => [name, openFiles(pid)]));
}

async function soak(perSecond: number, forMs: number): Promise<void> {
  const connections = await openConnections(stack, CONNECTIONS);
  const beganMs = performance.now();
  let latencies = latenciesOf();
  let count = 0;
  const sample = () => {
    const atS = (performance.now() - beganMs) / 1000;
    for (const [name, mb] of residentMb(stack.pids)) note("memory", name, [atS, mb]);
    for (const [name, pid] of processesIn(stack.pids)) {
      const { files, sockets } = openFiles(pid);
      note("files", name, [atS, files]);
      note("sockets", name, [atS, sockets]);
    }
    // Nothing was answered: a moment without a latency, and not one of none.
    if (latencies.count() === 0) return;
    note("p50 of accepts", "gateway", [atS, latencies.at(50)]);
    note("p99 of accepts", "gateway", [atS, latencies.at(99)]);
    latencies = latenciesOf();
  };
  const timer = setInterval(sample, Math.max(SAMPLE_MIN_MS, forMs / SAMPLES));
  const firstId = newId("message");
  const work = async (caller: number, dueMs: number) => {
    count += 1;
    const answer = await connections[caller]?.send(singleSend(stack, count));
    latencies.add(performance.now() - dueMs);
    return answer?.status === 202;
  };
  const load = { callers: CONNECTIONS, perSecond, warmupMs: 0, measureMs: forMs };
  const { failed, succeeded } = await driveOpen({ ...load, work });
  clearInterval(timer);
  for (const connection of connections) connection.close();
  if (failed > 0) failures.push(`${failed} of ${succeeded + failed} sends were refused`);
  await allEnded(firstId, succeeded);
}

/** Accepted messages have ended: a flat accept rate alone does not prove that. */
async function allEnded(firstId: string, count: number): Promise<void> {
  const client = await new MongoClient(stack.mongodb_uri).connect();
  try {
    await settled(client, firstId, count);
  } catch (error) {
    failures.push(`of ${count} messages: ${error instanceof Error ? error.message : error}`);
  } finally {
    await client.close();
  }
}

type AtRest = Awaited<ReturnType<typeof openAtRest>>;

function finish(rate: number, before: AtRest, after: AtRest): void {
  const table: string[][] = [["what", "whose", "median", "rise", "an hour", ""]];
  for (const [what, lines] of series) {
    const tolerance = TOLERANCES[what];
    if (tolerance === undefined) continue;
    for (const [name, samples] of lines) {
      const trend = trendOf(samples, tolerance);
      const isChecked = !NOT_CHECKED.has(name) && (what !== "memory" || MINUTES >= MEMORY_MINUTES);
      const { median, rise, perHour, isFlat } = trend;
      const word = isFlat ? "flat" : isChecked ? "GROWS" : "not checked";
      table.push([what, name, ...[median, rise, perHour].map((figure) => figure.toFixed(1)), word]);
      if (isChecked && !isFlat) failures.push(`${what} of ${name} grows`);
    }
  }
  printTable(table);
  printTable([
    ["open at rest", "files before", "after", "sockets before", "after", ""],
    ...[...after].map(([name, now]) => restRow(name, before.get(name) ?? now, now)),
  ]);
  const whole = [...series].map(([what, lines]) => [what, Object.fromEntries(lines)]);
  const atRest = { before: Object.fromEntries(before), after: Object.fromEntries(after) };
  const result = { rate, minutes: MINUTES, failures, atRest, series: Object.fromEntries(whole) };
  const file = keepResult("soak", result).replace(/\.json$/, ".svg");
  writeFileSync(file, graph(rate));
  process.stdout.write(`graph in ${relative(process.cwd(), file)}\n`);
  for (const failure of failures) process.stdout.write(`${failure}\n`);
  if (failures.length > 0) process.exitCode = 1;
}

function restRow(
  name: string,
  was: ReturnType<typeof openFiles>,
  is: ReturnType<typeof openFiles>,
): string[] {
  const isFlat = is.files <= was.files + REST_TOLERANCE;
  const isChecked = !NOT_CHECKED.has(name);
  if (isChecked && !isFlat) failures.push(`${name} has ${is.files} files open at rest`);
  const figures = [was.files, is.files, was.sockets, is.sockets].map(String);
  return [name, ...figures, isFlat ? "flat" : isChecked ? "GROWS" : "not checked"];
}

function graph(rate: number): string {
  const linesOf = (what: string): Line[] =>
    [...(series.get(what) ?? [])].map(([name, samples]) => ({ name, samples }));
  const latency = ["p50 of accepts", "p99 of accepts"].flatMap((what) =>
    linesOf(what).map(({ samples }) => ({ name: what, samples })),
  );
  return drawPanels(`Soak: ${rate} sends a second for ${MINUTES} minutes`, [
    { title: "Resident memory", unit: "MB", lines: linesOf("memory") },
    { title: "Latency of accepts", unit: "ms", lines: latency },
    { title: "Open files", unit: "count", lines: linesOf("files") },
    { title: "Sockets", unit: "count", lines: linesOf("sockets") },
  ]);
}
