/** The control port of a stack's SMSC simulator. */
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import type { CountersSnapshot } from "../../services/smsc-simulator/app/counters.ts";
import { eventually } from "./poll.ts";

/** The counters of a simulator. */
export type SimulatorCounts = Readonly<CountersSnapshot>;

/** The calls of a simulator's control port; each throws when the simulator refuses it. */
export type SimulatorControl = {
  counts(): Promise<SimulatorCounts>;
  behave(behaviour: object): Promise<void>;
};

/** Reads the counters at the address of a control port. */
export function readCounters(control: string): Promise<SimulatorCounts> {
  return callControl(control, "/counters");
}

/** Opens the control of a stack's simulator, and waits until a carrier has bound to it. */
export async function openSimulatorControl({
  smsc,
}: Pick<StackFile, "smsc">): Promise<SimulatorControl> {
  const counts = () => readCounters(smsc.control);
  await eventually(async () => (await counts()).binds > 0, {
    what: "the first bind",
    timeoutMs: 20_000,
  });
  return {
    counts,
    behave: async (behaviour) => void (await callControl(smsc.control, "/behaviour", behaviour)),
  };
}

async function callControl<T>(control: string, path: string, body?: object): Promise<T> {
  const response = await fetch(new URL(path, control), {
    method: body === undefined ? "GET" : "POST",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}
