/**
 * CPU profiles of running Node processes, taken through V8's inspector. A process opens it when it is
 * sent SIGUSR1, and tells its address on standard error.
 */
import { readFileSync } from "node:fs";

/** One node of a CPU profile and its callees. */
export type ProfileNode = {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
};

/** A sampled profile: the node seen by each sample, and the microseconds since the sample before. */
export type CpuProfile = {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

/** Lets processes that are started from here be profiled at the same time: each at a port of its own. */
export function allowProfiles(): void {
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --inspect-port=127.0.0.1:0`;
}

const SAMPLE_US = 500;
const OPEN_MS = 5000;

/** Starts sampling; `stop` returns the profile and closes the inspector. */
export async function startProfile(pid: number): Promise<{ stop(): Promise<CpuProfile> }> {
  const inspector = await connect(await openInspector(pid));
  await inspector.call("Profiler.enable");
  await inspector.call("Profiler.setSamplingInterval", { interval: SAMPLE_US });
  await inspector.call("Profiler.start");
  return {
    async stop() {
      const { profile } = (await inspector.call("Profiler.stop")) as { profile: CpuProfile };
      inspector.close();
      return profile;
    },
  };
}

/** Opens the count of bytes that the process has allocated on V8's heap since its start. */
export async function openHeapCounter(
  pid: number,
): Promise<{ allocatedBytes(): Promise<number>; close(): void }> {
  const inspector = await connect(await openInspector(pid));
  const expression =
    'process.getBuiltinModule("node:v8").getHeapStatistics().total_allocated_bytes';
  return {
    async allocatedBytes() {
      const answer = await inspector.call("Runtime.evaluate", { expression });
      return (answer as { result: { value: number } }).result.value;
    },
    close: inspector.close,
  };
}

/** The inspector address in a process's log. */
async function openInspector(pid: number): Promise<string> {
  process.kill(pid, "SIGUSR1");
  for (const untilMs = Date.now() + OPEN_MS; Date.now() < untilMs; ) {
    const reported = readFileSync(`/proc/${pid}/fd/2`, "utf8").matchAll(/listening on (ws:\S+)/g);
    const address = [...reported].at(-1)?.[1];
    if (address !== undefined) return address;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`process ${pid} tells no inspector's address in its log`);
}

/** The inspector's protocol: JSON requests and responses, matched by id. */
async function connect(address: string) {
  const socket = new WebSocket(address);
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = () => reject(new Error(`no inspector at ${address}`));
  });
  const waiting = new Map<number, (result: unknown) => void>();
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result: unknown };
    if (id === undefined) return;
    waiting.get(id)?.(result);
    waiting.delete(id);
  };
  let lastId = 0;
  return {
    call(method: string, params: object = {}): Promise<unknown> {
      lastId += 1;
      const id = lastId;
      socket.send(JSON.stringify({ id, method, params }));
      return new Promise((resolve) => waiting.set(id, resolve));
    },
    close: () => socket.close(),
  };
}
