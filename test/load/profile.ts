/**
 * `make profile [COUNT=5000] [WRITE=1] [PROFILES=folder]`: CPU microseconds per message. By process: first the accept
 * path alone (the connector stands still), then everything to the settled, notified message. Then the
 * same once more with V8's sampling profiler in each service, which tells by step. CPU time hardly
 * depends on what else the machine does, so two runs tell the same story. `WRITE=1` puts the tables
 * into `docs/benchmarks.md`. `PROFILES` keeps the samples, as files that Chrome's developer tools open.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { processLayout } from "../../deploy/dev/process-table.ts";
import { ConnectorState } from "../../proto/gen/sms/v1/routing_pb.js";
import { newId } from "../../services/shared/core/ids.ts";
import { setConnector } from "./connector-state.ts";
import { cpuSeconds, processesIn, residentMb } from "./cpu.ts";
import { writeTables } from "./doc-tables.ts";
import { OUTSIDE, sendAll, settled } from "./message-cost.ts";
import { mongodTime, sharesByCollection } from "./mongod-time.ts";
import { sharesByStep } from "./profile-steps.ts";
import { processRows, type StepRow, stepRows } from "./profile-tables.ts";
import { printTable } from "./report.ts";
import { singleSend } from "./sends.ts";
import { loadStack } from "./stack.ts";
import { allowProfiles, startProfile } from "./v8-profile.ts";

const COUNT = Number(process.env.COUNT ?? 5000);
/** Servers and simulators. */
const NOT_NODE = new Set([...OUTSIDE, "mongod", "nats-server", "redis"]);
/** Smaller shares are summed under "(other)". */
const LEAST_US = 3;

type Costs = ReadonlyMap<string, number>;
/** Shares of its time, by process and step. */
type Shares = ReadonlyMap<string, ReadonlyMap<string, number>>;
type Phases<T> = { readonly accept: T; readonly dispatch: T };

allowProfiles();
// By default one process per service, to separate their costs.
const { stack, stop } = await loadStack({}, processLayout({ PROCESSES: "apart", ...process.env }));
const client = await new MongoClient(stack.mongodb_uri).connect();
try {
  const firstId = newId("message");
  await sendAll(stack, COUNT / 2, (at) => singleSend(stack, at));
  await settled(client, firstId, COUNT / 2);
  const memory = residentMb(stack.pids);
  const costs = await inPhases(measure);
  const processes = processRows(costs.accept, costs.dispatch);
  printTable(processes.map((row, at) => [...row, at === 0 ? "MB" : mb(memory.get(row[0] ?? ""))]));
  const shares = await inPhases(sharesWhile);
  const steps = stepRows(costsByStep(costs, shares), LEAST_US);
  process.stdout.write("\n");
  printTable(steps);
  if (process.env.WRITE === "1") {
    writeTables("docs/benchmarks.md", "make profile WRITE=1", processes, steps);
  }
} finally {
  await client.close();
  await stop();
}

/** Sends COUNT messages while the connector is paused, then resumes it and waits for their end. */
async function inPhases<T>(
  observe: (work: () => Promise<void>, phase: keyof Phases<T>) => Promise<T>,
): Promise<Phases<T>> {
  const firstId = newId("message");
  await setConnector(stack, ConnectorState.PAUSED);
  const accept = await observe(
    () => sendAll(stack, COUNT, (at) => singleSend(stack, at)),
    "accept",
  );
  const dispatch = await observe(async () => {
    await setConnector(stack, ConnectorState.ACTIVE);
    await settled(client, firstId, COUNT);
  }, "dispatch");
  return { accept, dispatch };
}

/** The samples of the services' profilers and mongod's counters during `work`. */
async function sharesWhile(work: () => Promise<void>, phase: string): Promise<Shares> {
  const services = processesIn(stack.pids).filter(([name]) => !NOT_NODE.has(name));
  const profilers = await Promise.all(services.map(([, pid]) => startProfile(pid)));
  const before = await mongodTime(client);
  await work();
  const shares = new Map([["mongod", sharesByCollection(before, await mongodTime(client))]]);
  const profiles = await Promise.all(profilers.map((profiler) => profiler.stop()));
  profiles.forEach((profile, at) => {
    const name = services[at]?.[0] ?? "";
    shares.set(name, sharesByStep(profile));
    const folder = process.env.PROFILES;
    if (folder === undefined) return;
    writeFileSync(join(folder, `${name}.${phase}.cpuprofile`), JSON.stringify(profile));
  });
  return shares;
}

/** Divides each process's cost, measured without a profiler, by the shares measured with one. */
function costsByStep(costs: Phases<Costs>, shares: Phases<Shares>): StepRow[] {
  const rows = new Map<string, StepRow>();
  for (const phase of ["accept", "dispatch"] as const) {
    for (const [process, parts] of shares[phase]) {
      for (const [step, share] of parts) {
        const key = `${process} ${step}`;
        const row = rows.get(key) ?? { process, step, accept: 0, dispatch: 0 };
        rows.set(key, { ...row, [phase]: share * (costs[phase].get(process) ?? 0) });
      }
    }
  }
  return [...rows.values()];
}

/** CPU microseconds per message of each process while `work` runs. */
async function measure(work: () => Promise<void>): Promise<Map<string, number>> {
  const before = cpuSeconds(stack.pids);
  const generatorBefore = process.cpuUsage();
  await work();
  const after = cpuSeconds(stack.pids);
  const spent = new Map<string, number>();
  for (const [name, seconds] of after) {
    spent.set(name, ((seconds - (before.get(name) ?? 0)) * 1e6) / COUNT);
  }
  const generator = process.cpuUsage(generatorBefore);
  spent.set("(load generator)", (generator.user + generator.system) / COUNT);
  return spent;
}

function mb(resident: number | undefined): string {
  return resident === undefined ? "" : resident.toFixed(0);
}
