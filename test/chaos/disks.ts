/**
 * Small file systems under the data folders, which a fault can fill and empty. They are mounted in the
 * run's own mount namespace, so they end with its processes.
 */
import { execFile, spawn, spawnSync } from "node:child_process";
import { mkdirSync, statfsSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Set for a run inside its own mount namespace. */
const INSIDE = "CHAOS_OWN_MOUNTS";
const SIZE_BYTES_MAX = 4 * 1024 ** 3;
/** The free bytes of a full disk: less than any write of a service. */
const ROOM_BYTES = 64 * 1024;

/** The run's disks, or the `reason` why there are none. */
export type Disks = {
  readonly reason: string | undefined;
  fill(name: string): Promise<void>;
  empty(name: string): Promise<void>;
};

/**
 * Runs this program again in its own mount namespace where the machine allows it, and returns its exit
 * code; undefined inside that run, or where namespaces are not allowed.
 */
export async function runWithOwnMounts(): Promise<number | undefined> {
  if (process.env[INSIDE] !== undefined) {
    endWithParent();
    return undefined;
  }
  const ways = [["--mount"], ["--user", "--map-root-user", "--mount"]];
  const way = ways.find((flags) => spawnSync("unshare", [...flags, "true"]).status === 0);
  if (way === undefined) return undefined;
  const child = spawn(
    "unshare",
    [...way, process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    { stdio: "inherit", env: { ...process.env, [INSIDE]: "1" } },
  );
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => void child.kill(signal));
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

/** Ends this run when its parent is killed; the guard then ends its processes. */
function endWithParent(): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, 1000).unref();
}

/** Mounts one small file system for each name under `dataDir`. */
export async function mountDisks(dataDir: string, names: readonly string[]): Promise<Disks> {
  if (process.env[INSIDE] === undefined) {
    return noDisks("this user may not have a mount namespace of its own (unshare --mount)");
  }
  const size = Math.min(SIZE_BYTES_MAX, Math.floor(freemem() / 4));
  for (const name of names) {
    const folder = join(dataDir, name);
    mkdirSync(folder, { recursive: true });
    try {
      await run("mount", ["-t", "tmpfs", "-o", `size=${size},mode=700`, "chaos", folder]);
    } catch (error) {
      return noDisks(`mount: ${String((error as { stderr?: string }).stderr ?? error).trim()}`);
    }
  }
  const resize = async (name: string, bytes: number) => {
    await run("mount", ["-o", `remount,size=${bytes}`, join(dataDir, name)]);
  };
  return {
    reason: undefined,
    async fill(name) {
      const { bsize, blocks, bfree } = statfsSync(join(dataDir, name));
      await resize(name, (blocks - bfree) * bsize + ROOM_BYTES);
    },
    empty: (name) => resize(name, size),
  };
}

/** Copies the data folders out of the run's mounts, after all writers have stopped. */
export async function keepData(dataDir: string, to: string): Promise<void> {
  try {
    await run("cp", ["-a", dataDir, to]);
    process.stdout.write(`data kept in ${to}\n`);
  } catch (error) {
    process.stdout.write(
      `data not kept: ${String((error as { stderr?: string }).stderr ?? error)}\n`,
    );
  }
}

function noDisks(reason: string): Disks {
  return { reason, fill: async () => undefined, empty: async () => undefined };
}
