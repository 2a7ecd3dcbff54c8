/**
 * `make test-rolling [S=wallet,…]`: two replicas of each process (or of those in S) behind an entry
 * that probes readiness. Under load, each in turn gets SIGTERM and is restarted, in the order and with the
 * pauses of a rollout: it turns unready, serves for `DRAIN_DELAY_MS`, finishes its requests, and has 30 s
 * to exit.
 *
 * No request may fail, without retries; every message ends once; every change reaches the customer;
 * `smsctl check` is clean; no process logs an error or an unclean close.
 */
import { opsPort } from "../../deploy/dev/port-layout.ts";
import {
  gatewayPort,
  SERVICE_PROCESSES,
  type ServiceProcess,
} from "../../deploy/dev/process-table.ts";
import { smsctl } from "../support/smsctl.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { checkBooks, checkLogs, checkMessages, collectWebhooks } from "./rolling-checks.ts";
import { type Gateway, openEntry } from "./rolling-entry.ts";
import { startLoad } from "./rolling-load.ts";

const REQUESTS = Number(process.env.REQUESTS ?? 20_000);
const asked = process.env.S === undefined || process.env.S === "" ? undefined : process.env.S;
/** The services that are restarted, and so have two replicas. */
const ROLLED = SERVICE_PROCESSES.filter(({ name }) => asked?.split(",").includes(name) ?? true);
const unknown = (asked?.split(",") ?? []).filter(
  (name) => !ROLLED.some((one) => one.name === name),
);
if (unknown.length > 0) throw new Error(`no such service: ${unknown.join(", ")}`);
const DRAIN_DELAY_MS = 1500;
/** The pause between restarts, as a rollout waits for a new pod (`minReadySeconds`). */
const STEADY_MS = 2000;

const PROCESSES = [...SERVICE_PROCESSES, ...ROLLED.map(secondReplica)];

const stack = await startTestStack({
  processes: PROCESSES,
  settings: {
    LOG_LEVEL: "info",
    ACCESS_LOG: "false",
    DRAIN_DELAY_MS: String(DRAIN_DELAY_MS),
    GATEWAY_REPLICAS: "2",
  },
});
let breaches: string[];
try {
  breaches = await rollAll(stack);
} finally {
  await stack.stop();
}
for (const breach of breaches) process.stdout.write(`  ${breach}\n`);
process.stdout.write(breaches.length === 0 ? "ok\n" : `NOT OK: ${breaches.length} breaches\n`);
process.exitCode = breaches.length === 0 ? 0 : 1;

async function rollAll(stack: TestStack): Promise<string[]> {
  const breaches: string[] = [];
  const shared = await smsctl(stack, "connector", "update", "smsc", "--binds", "2");
  if (shared.code !== 0) throw new Error(shared.error);
  const entry = await openEntry(gatewaysOf(stack));
  const webhooks = collectWebhooks(stack);
  const load = startLoad(stack, entry);
  const { record } = load;
  for (const name of namesToRestart()) {
    const before = { requests: record.requests, failed: failed(record.failures) };
    const startedMs = performance.now();
    await stack.restart(name, {}, (line) => {
      if (/ killed$/.test(line)) breaches.push(`${name} did not end within its grace`);
    });
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    await pause(STEADY_MS);
    const requests = record.requests - before.requests;
    process.stdout.write(
      `${name.padEnd(12)} restarted in ${seconds} s, ${String(requests).padStart(5)} requests, ` +
        `${failed(record.failures) - before.failed} failed\n`,
    );
    if (failed(record.failures) > before.failed) {
      process.stdout.write(`  so far: ${JSON.stringify(Object.fromEntries(record.failures))}\n`);
    }
  }
  while (record.requests < REQUESTS) await pause(100);
  await load.stop();
  for (const [what, count] of record.failures) breaches.push(`${count} requests: ${what}`);
  breaches.push(...(await checkMessages(stack, record.messages)));
  breaches.push(...(await webhooks.check(record.messages)));
  breaches.push(...(await checkBooks(stack, record.messages.size)));
  breaches.push(...checkLogs(stack.dir, namesToRestart()));
  await entry.close();
  process.stdout.write(
    `${record.requests} requests (${[...entry.answered.values()].join(" + ")} answered), ` +
      `${failed(record.failures)} failed, ${record.messages.size} messages\n`,
  );
  return breaches;
}

/** The row of a service's second replica, with its own ports and files. */
function secondReplica({ name, services }: ServiceProcess): ServiceProcess {
  const settings = name === "carrier" ? { CARRIER_ID: "carrier-dev-2" } : {};
  return { name: `${name}-2`, services, settings };
}

/** Both replicas of a service one after the other, the services in the order of starting. */
function namesToRestart(): string[] {
  return ROLLED.flatMap(({ name }) => [name, `${name}-2`]);
}

function gatewaysOf(stack: TestStack): Gateway[] {
  const portBase = Number(new URL(stack.gateway).port);
  return PROCESSES.flatMap(({ services }, place) =>
    services.includes("gateway")
      ? [
          {
            url: `http://127.0.0.1:${gatewayPort({ portBase, processes: PROCESSES }, place)}`,
            ops: `http://127.0.0.1:${opsPort(portBase, place)}`,
          },
        ]
      : [],
  );
}

function failed(failures: ReadonlyMap<string, number>): number {
  return [...failures.values()].reduce((sum, count) => sum + count, 0);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
