/**
 * `make chaos [SEED=1] [MINUTES=2] [KEEP=1]`: steady load and a seeded storm of faults on its own stack.
 * Then it checks every invariant of docs/invariants.md against the records of customers, carrier and
 * webhook servers, and against the databases. The same seed makes the same plan. ORDERS_PER_SECOND (8)
 * is the load; CHAOS_DIR holds the stack and its report. KEEP=1 also keeps the servers' data there, as
 * `seed-…/kept`, for a second check.
 *
 * The load is sized for two otherwise idle cores. On a busy machine webhook retries come late: the
 * report says so, but only the machine is at fault. All other invariants are still checked.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ensureCertificates } from "../../deploy/dev/certificates.ts";
import { writeJson } from "../../deploy/dev/json-file.ts";
import { layoutOf, ROOT } from "../../deploy/dev/paths.ts";
import { startChaosStack } from "./chaos-stack.ts";
import { countStrikes } from "./check-storm.ts";
import { createClient } from "./client.ts";
import { startCustomers } from "./customers.ts";
import { openDatabaseReader } from "./database-reader.ts";
import { runWithOwnMounts } from "./disks.ts";
import { drain } from "./drain.ts";
import { collectFindings } from "./findings.ts";
import { watchLoad } from "./machine-load.ts";
import { describeFault, makePlan } from "./plan.ts";
import { startReceivers } from "./receivers.ts";
import { printReport } from "./report.ts";
import { blow, mend } from "./storm.ts";
import { seedTenants, startTopUps } from "./tenants.ts";

const SEED = numberOf("SEED", 1);
const MINUTES = numberOf("MINUTES", 2);
const ORDERS_PER_SECOND = numberOf("ORDERS_PER_SECOND", 8);

process.exitCode = (await runWithOwnMounts()) ?? (await run());

async function run(): Promise<number> {
  const folder = process.env.CHAOS_DIR || join(ROOT, ".local", "chaos");
  const dir = join(folder, `seed-${SEED}`);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const beganMs = performance.now();
  const say = (line: string) => {
    const seconds = ((performance.now() - beganMs) / 1000).toFixed(0).padStart(4);
    process.stdout.write(`${seconds} s | ${line}\n`);
  };
  const plan = makePlan(SEED, MINUTES);
  say(`seed ${SEED}, ${MINUTES} minutes, ${plan.length} faults:`);
  for (const fault of plan) say(describeFault(fault));

  const layout = layoutOf(dir);
  const receivers = await startReceivers(
    ensureCertificates(layout.tlsDir),
    join(dir, "webhooks.jsonl"),
  );
  const stack = await startChaosStack(dir, receivers.port);
  const client = createClient(stack.file.gateway, join(dir, "requests.jsonl"));
  const storedData = await openDatabaseReader(stack.file.mongodb_uri, stack.file.nats_url, [
    stack.file.smsc.control,
    stack.secondControl,
  ]);
  try {
    if (stack.disks.reason !== undefined) say(`no full disks: ${stack.disks.reason}`);
    say("the machine's clock is everybody's: clock steps are made inside the services' processes");
    const tenants = await seedTenants(stack, receivers);
    say("the storm begins");
    const load = watchLoad();
    const topUps = startTopUps(stack, tenants);
    const customers = startCustomers({
      client,
      tenants,
      seed: SEED,
      ordersPerSecond: ORDERS_PER_SECOND,
    });
    const faults = await blow(stack, plan, SEED, say);
    const loadPerCore = load.end();
    const unready = await mend(stack);
    say(`everything is mended${unready.length === 0 ? "" : ` but ${unready}`}; draining`);
    const drained = await drain({ client, customers, topUps, storedData, tenants, unready, say });
    const findings = await collectFindings({
      loadPerCore,
      faults,
      minutes: MINUTES,
      stack,
      client,
      customers,
      receivers,
      tenants,
      storedData,
      drained,
    });
    const { crashes } = stack;
    const strikes = countStrikes(faults);
    const report = { seed: SEED, minutes: MINUTES, faults, strikes, crashes, ...findings };
    const file = join(dir, "report.json");
    writeJson(file, report);
    printReport(report, file, say);
    return findings.breaches.length === 0 ? 0 : 1;
  } finally {
    client.giveUp();
    await client.close();
    await storedData.close().catch(() => undefined);
    await stack.stop();
    await receivers.close();
  }
}

function numberOf(name: string, fallback: number): number {
  const text = process.env[name];
  const value = text === undefined || text === "" ? fallback : Number(text);
  if (!(value > 0)) throw new Error(`${name} must be a number above zero, not "${text}"`);
  return value;
}
