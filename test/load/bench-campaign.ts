/**
 * `make bench-campaign [ROWS_OF_CAMPAIGN=1000000]` adds recipients as CSV files of the largest allowed size, then reads
 * and estimates the campaign. Memory must not grow with the number of rows.
 */
import { performance } from "node:perf_hooks";
import { readProcessMemory } from "../support/process-memory.ts";
import { startTestStack } from "../support/stack.ts";
import { fetchData } from "./fetch-data.ts";
import { report } from "./report.ts";

const ROWS = Number(process.env.ROWS_OF_CAMPAIGN ?? 1_000_000);
const BODY_BYTES_MAX = 4 * 1024 * 1024;
const READS = 50;
/** Budgets: a read, an estimate of all rows, and the growth of the process after its first file. */
const GET_MAX_MS = 50;
const ESTIMATE_MAX_MS = 25_000;
const GROWTH_MAX_MIB = 150;

const stack = await startTestStack({ settings: { LOG_LEVEL: "warn" } });
try {
  report("bench-campaign", rate(await measure(stack)));
} finally {
  await stack.stop();
}

async function measure(running: typeof stack) {
  const { id } = await fetchData<{ id: string }>(running, "POST", "/v1/campaigns", {
    body: JSON.stringify({ name: "Large", from: running.sender_id, body: "Hello {{name}}." }),
  });
  const memory = () => readProcessMemory(running.pid("campaign")).residentMib;
  const beganMs = performance.now();
  const sizes: number[] = [];
  let slowestMs = 0;
  for (const { csv, rows } of files()) {
    const fileMs = performance.now();
    const headers = { "content-type": "text/csv" };
    const path = `/v1/campaigns/${id}/recipients`;
    const { taken } = await fetchData<{ taken: number }>(running, "POST", path, {
      body: csv,
      headers,
    });
    if (taken !== rows) throw new Error(`${taken} of ${rows} rows were taken`);
    slowestMs = Math.max(slowestMs, performance.now() - fileMs);
    sizes.push(memory());
    process.stdout.write(`  ${rows} rows in ${Math.round(performance.now() - fileMs)} ms\n`);
  }
  const importMs = performance.now() - beganMs;
  const growthMib = Math.max(...sizes) - (sizes[0] ?? 0);
  const reads: number[] = [];
  for (let at = 0; at < READS; at += 1) {
    const readMs = performance.now();
    await fetchData(running, "GET", `/v1/campaigns/${id}`);
    reads.push(performance.now() - readMs);
  }
  const getMs = Math.max(...reads.slice(1));
  const estimateBeganMs = performance.now();
  const { recipients } = await fetchData<{ recipients: number }>(
    running,
    "POST",
    `/v1/campaigns/${id}/estimate`,
    { body: "{}" },
  );
  const estimateMs = performance.now() - estimateBeganMs;
  if (recipients !== ROWS) throw new Error(`${recipients} of ${ROWS} rows were estimated`);
  const maxMib = Math.max(...sizes);
  return { perSecond: (ROWS * 1000) / importMs, slowestMs, growthMib, maxMib, getMs, estimateMs };
}

/** The rows of the report. */
function rate(figures: Awaited<ReturnType<typeof measure>>) {
  const { perSecond, slowestMs, growthMib, maxMib, getMs, estimateMs } = figures;
  return [
    {
      path: `${ROWS} recipients as CSV, rows per second`,
      budget: "each file within the 30 s of a request",
      aim: "",
      measured: `${Math.round(perSecond)}/s, slowest file ${(slowestMs / 1000).toFixed(1)} s`,
      met: slowestMs < 30_000,
      figures: { perSecond, slowestMs },
    },
    {
      path: "memory of the process after its first file, growth",
      budget: `${GROWTH_MAX_MIB} MiB`,
      aim: "0",
      measured: `${Math.round(growthMib)} MiB (${Math.round(maxMib)} MiB in all)`,
      met: growthMib <= GROWTH_MAX_MIB,
      figures: { growthMib, maxMib },
    },
    {
      path: `GET of it, slowest of ${READS}`,
      budget: `${GET_MAX_MS} ms`,
      aim: "",
      measured: `${getMs.toFixed(1)} ms`,
      met: getMs <= GET_MAX_MS,
      figures: { getMs },
    },
    {
      path: "estimate of it",
      budget: `${ESTIMATE_MAX_MS / 1000} s`,
      aim: "",
      measured: `${(estimateMs / 1000).toFixed(1)} s`,
      met: estimateMs <= ESTIMATE_MAX_MS,
      figures: { estimateMs },
    },
  ];
}

/** CSV files, each as large as a body may be. */
function* files(): Generator<{ csv: string; rows: number }> {
  const head = "to,name\n";
  let lines: string[] = [];
  let bytes = head.length;
  for (let at = 0; at < ROWS; at += 1) {
    const line = `+23480${30_000_000 + at},Customer ${at}\n`;
    if (bytes + line.length > BODY_BYTES_MAX) {
      yield { csv: head + lines.join(""), rows: lines.length };
      lines = [];
      bytes = head.length;
    }
    lines.push(line);
    bytes += line.length;
  }
  yield { csv: head + lines.join(""), rows: lines.length };
}
