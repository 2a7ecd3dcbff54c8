/** Does to the stack what the plan says, mends it again, and writes down when. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerName } from "../../deploy/dev/server-table.ts";
import type { LinkMode } from "../support/tcp-proxy.ts";
import type { ChaosStack } from "./chaos-stack.ts";
import { CARRIER_MOODS, DISKS, describeFault, type Fault } from "./plan.ts";
import { LINKS, PROCESSES, SERVERS } from "./topology.ts";

/** How long everything may take to be at work again. */
const READY_MS_MAX = 60_000;

/** A fault as it was, in wall clock time. */
export type Done = { readonly fault: Fault; readonly fromMs: number; readonly toMs: number };

/** Carries out the plan; answers when the last fault is mended. */
export async function blow(
  stack: ChaosStack,
  plan: readonly Fault[],
  say: (line: string) => void,
): Promise<Done[]> {
  const startMs = Date.now();
  const done: Done[] = [];
  await Promise.all(
    plan.map(async (fault) => {
      await sleep(fault.atMs);
      say(describeFault(fault));
      const fromMs = Date.now();
      await suffer(stack, fault).catch((error: unknown) => {
        say(`  ${fault.kind} ${fault.target} went wrong: ${String(error)}`);
      });
      done.push({ fault, fromMs, toMs: Date.now() });
    }),
  );
  say(`the storm is over after ${((Date.now() - startMs) / 1000).toFixed(1)} s`);
  return done;
}

async function suffer(stack: ChaosStack, fault: Fault): Promise<void> {
  const { kind, target, forMs, amountMs } = fault;
  switch (kind) {
    case "kill":
      await stack.kill(target);
      await sleep(forMs);
      return stack.start(target);
    case "restart":
      await stack.end(target);
      await sleep(forMs);
      return stack.start(target);
    case "pause":
      stack.signal(target, "SIGSTOP");
      await sleep(forMs);
      return stack.signal(target, "SIGCONT");
    case "flush":
      return flushRedis(stack);
    case "cut":
      return changeLink(stack, target, { kind: "cut" }, forMs);
    case "slow":
      return changeLink(stack, target, { kind: "slow", delayMs: amountMs }, forMs);
    case "black_hole":
      return changeLink(stack, target, { kind: "black_hole" }, forMs);
    case "carrier":
      await setCarrier(stack, CARRIER_MOODS[target] ?? {});
      await sleep(forMs);
      return setCarrier(stack, { reset: true });
    case "disk_full":
      return fillDisk(stack, target, forMs);
    case "clock":
      stack.stepClock(target, amountMs);
      await sleep(forMs);
      return stack.stepClock(target, 0);
  }
}

async function changeLink(
  { links }: ChaosStack,
  name: string,
  mode: LinkMode,
  forMs: number,
): Promise<void> {
  links.get(name)?.setMode(mode);
  await sleep(forMs);
  links.get(name)?.setMode({ kind: "open" });
}

async function flushRedis({ file }: ChaosStack): Promise<void> {
  const { Redis } = await import("ioredis");
  const redis = new Redis(file.redis_url, { maxRetriesPerRequest: 1, lazyConnect: true });
  redis.on("error", () => undefined);
  try {
    await redis.connect();
    await redis.flushall();
  } finally {
    redis.disconnect();
  }
}

async function setCarrier({ file }: ChaosStack, body: unknown): Promise<void> {
  const options = { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(`${file.smsc.control}/behaviour`, {
    ...options,
    signal: AbortSignal.timeout(30_000),
  });
  if (!response.ok) throw new Error(`the simulator refused ${JSON.stringify(body)}`);
}

/** A server that met a full disk is started anew, as its operator would. */
async function fillDisk(stack: ChaosStack, name: string, forMs: number): Promise<void> {
  if (stack.disks.reason !== undefined) return;
  await stack.disks.fill(name);
  await sleep(forMs);
  await stack.disks.empty(name);
  if (!SERVERS.includes(name as ServerName)) return;
  await stack.end(name);
  await stack.start(name);
}

/** Undoes everything that a fault may have left; names the processes that do not come back. */
export async function mend(stack: ChaosStack): Promise<string[]> {
  for (const { name } of LINKS) stack.links.get(name)?.setMode({ kind: "open" });
  if (stack.disks.reason === undefined) {
    for (const name of DISKS) await stack.disks.empty(name);
  }
  for (const name of [...SERVERS, "smsc-simulator", ...PROCESSES.map((process) => process.name)]) {
    stack.signal(name, "SIGCONT");
    await stack.start(name);
  }
  for (const { name } of PROCESSES) stack.stepClock(name, 0);
  await setCarrier(stack, { reset: true });
  return stack.waitUntilReady(READY_MS_MAX);
}
