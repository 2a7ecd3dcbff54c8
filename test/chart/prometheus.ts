/** A Prometheus for one test. */
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { freePorts } from "../../deploy/dev/ports.ts";
import { endProcess, lastLines, startProcess } from "../../deploy/dev/processes.ts";
import { eventually } from "../support/poll.ts";
import { createGuard } from "../support/process-guard.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** One series of an instant query. */
export type Series = {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [seconds: number, value: string];
};

export type Prometheus = {
  /** Series that an expression gives now; throws when it cannot be read. */
  query(expression: string): Promise<readonly Series[]>;
  stop(): Promise<void>;
};

const PROGRAM = process.env.PROMETHEUS ?? "prometheus";

/** Why there is no Prometheus here; `undefined` when there is one. */
export function prometheusMissing(): string | undefined {
  if (spawnSync(PROGRAM, ["--version"]).error === undefined) return undefined;
  return "prometheus is neither on PATH nor named by $PROMETHEUS";
}

/**
 * Starts Prometheus on a free port. It scrapes each ops port every second, under the labels that the
 * chart's ServiceMonitor would give: the component as `job`, a namespace, and a pod.
 */
export async function startPrometheus(
  ops: Readonly<Record<string, string>>,
  namespace: string,
): Promise<Prometheus> {
  const folder = temporaryFolder("prometheus");
  const guard = createGuard(folder);
  const [port = 0] = await freePorts(1);
  const jobs = Object.entries(ops).map(([job, url]) => ({
    job_name: job,
    static_configs: [{ targets: [new URL(url).host], labels: { namespace, pod: `sms-${job}-0` } }],
  }));
  const config = { global: { scrape_interval: "1s" }, scrape_configs: jobs };
  writeFileSync(join(folder, "prometheus.yaml"), stringify(config));
  const logFile = join(folder, "prometheus.log");
  const record = await startProcess({
    name: "prometheus",
    program: PROGRAM,
    args: [
      `--config.file=${join(folder, "prometheus.yaml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    cwd: folder,
    env: process.env,
    logFile,
  });
  guard.add(record);
  const at = `http://127.0.0.1:${port}`;
  const stop = async () => {
    await endProcess(record, 10_000);
    guard.dismiss();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const isReady = async () => (await fetch(`${at}/-/ready`)).ok;
    await eventually(isReady, { timeoutMs: 30_000, what: "a ready Prometheus" });
  } catch (error) {
    const said = lastLines(logFile, 5);
    await stop();
    throw new Error(`${error}\n${said}`);
  }
  return { query: (expression) => query(at, expression), stop };
}

async function query(at: string, expression: string): Promise<readonly Series[]> {
  const url = new URL("/api/v1/query", at);
  url.searchParams.set("query", expression);
  const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  const { data, error } = (await answer.json()) as {
    data?: { result: readonly Series[] };
    error?: string;
  };
  if (data === undefined) throw new Error(`${expression}: ${error}`);
  return data.result;
}
