/** The control port of a stack's SMSC simulator. */
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { eventually } from "./poll.ts";

/** What the simulator has counted. */
export type SimulatorCounts = {
  readonly submits: Readonly<
    Record<string, { total: number; refused: number; duplicates: number }>
  >;
  readonly peak_per_second: number;
  readonly binds: number;
  readonly total: number;
  readonly refused: number;
  readonly duplicates: number;
  readonly receipts: Readonly<Record<"sent" | "acknowledged" | "resent" | "dropped", number>>;
  /** Receipts and handsets' messages that are not acknowledged yet. */
  readonly waiting: number;
};

/** The calls of a simulator's control port; each throws when the simulator refuses it. */
export type SimulatorControl = {
  counts(): Promise<SimulatorCounts>;
  behave(behaviour: object): Promise<void>;
};

/** Opens the control of a stack's simulator, and waits until a carrier has bound to it. */
export async function openSimulatorControl({
  smsc,
}: Pick<StackFile, "smsc">): Promise<SimulatorControl> {
  async function call<T>(path: string, body?: object): Promise<T> {
    const response = await fetch(new URL(path, smsc.control), {
      method: body === undefined ? "GET" : "POST",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }
  const counts = () => call<SimulatorCounts>("/counters");
  await eventually(async () => (await counts()).binds > 0, {
    what: "the first bind",
    timeoutMs: 20_000,
  });
  return {
    counts,
    behave: async (behaviour) => void (await call("/behaviour", behaviour)),
  };
}
