/** Applies the plan's faults to the stack, repairs them, and records the times. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerName } from "../../deploy/dev/server-table.ts";
import type { LinkMode } from "../support/tcp-proxy.ts";
import type { ChaosStack } from "./chaos-stack.ts";
import { CARRIER_MOODS, DISKS, describeFault, type Fault } from "./plan.ts";
import { LINKS, PROCESSES, SERVERS } from "./topology.ts";

/** The time limit for all processes to be ready again. */
const READY_MS_MAX = 60_000;

/** A fault that was applied, in wall clock time; `struck` is false when it hit nothing. */
export type Done = {
  readonly fault: Fault;
  readonly fromMs: number;
  readonly toMs: number;
  readonly struck: boolean;
};

/** Applies the plan of this seed; returns when the last fault is repaired. */
export async function blow(
  stack: ChaosStack,
  plan: readonly Fault[],
  seed: number,
  say: (line: string) => void,
): Promise<Done[]> {
  const startMs = Date.now();
  const done: Done[] = [];
  await Promise.all(
    plan.map(async (fault) => {
      await sleep(fault.atMs);
      say(describeFault(fault));
      const fromMs = Date.now();
      let struck = false;
      try {
        struck = await strike(stack, fault, seed);
        await sleep(fault.forMs);
        await heal(stack, fault);
      } catch (error) {
        say(`  ${fault.kind} ${fault.target} went wrong: ${String(error)}`);
      }
      done.push({ fault, fromMs, toMs: Date.now(), struck });
    }),
  );
  say(`the storm is over after ${((Date.now() - startMs) / 1000).toFixed(1)} s`);
  return done;
}

/** Applies a fault; returns whether it hit anything. */
async function strike(stack: ChaosStack, fault: Fault, seed: number): Promise<boolean> {
  const { kind, target, amountMs } = fault;
  switch (kind) {
    case "kill":
      return stack.kill(target);
    case "restart":
      return stack.end(target);
    case "pause":
      return stack.signal(target, "SIGSTOP");
    case "flush":
      await flushRedis(stack);
      return true;
    case "cut":
    case "black_hole":
      return changeLink(stack, target, { kind });
    case "slow":
      return changeLink(stack, target, { kind, delayMs: amountMs });
    case "carrier":
      await setCarrier(stack, { ...CARRIER_MOODS[target], seed: moodSeed(seed, fault) });
      return true;
    case "disk_full":
      if (stack.disks.reason !== undefined) return false;
      await stack.disks.fill(target);
      return true;
    case "clock":
      stack.stepClock(target, amountMs);
      return true;
  }
}

async function heal(stack: ChaosStack, { kind, target }: Fault): Promise<void> {
  switch (kind) {
    case "kill":
    case "restart":
      return stack.start(target);
    case "pause":
      stack.signal(target, "SIGCONT");
      return;
    case "flush":
      return;
    case "cut":
    case "black_hole":
    case "slow":
      changeLink(stack, target, { kind: "open" });
      return;
    case "carrier":
      return setCarrier(stack, { reset: true });
    case "disk_full":
      return emptyDisk(stack, target);
    case "clock":
      return stack.stepClock(target, 0);
  }
}

/** Each mood draws from numbers of its own, so that a fault left out does not change the others. */
export function moodSeed(seed: number, { atMs }: Fault): number {
  return (seed + atMs) >>> 0;
}

function changeLink({ links }: ChaosStack, name: string, mode: LinkMode): boolean {
  const link = links.get(name);
  link?.setMode(mode);
  return link !== undefined;
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

/** Restarts a server whose disk was full, as an operator would. */
async function emptyDisk(stack: ChaosStack, name: string): Promise<void> {
  if (stack.disks.reason !== undefined) return;
  await stack.disks.empty(name);
  if (!SERVERS.includes(name as ServerName)) return;
  await stack.end(name);
  await stack.start(name);
}

/** Undoes all faults; returns the names of processes that do not become ready. */
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
