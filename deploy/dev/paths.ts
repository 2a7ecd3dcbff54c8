import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** The folder of unpacked server programs; stacks and tests share it. */
export const SERVERS_DIR = join(ROOT, ".local", "servers");

/** The code of the services without its types (`services/strip-types-cache.mjs`). */
export const STRIPPED_DIR = join(ROOT, ".local", "stripped");

/** The paths of one stack; it writes nothing outside `dir`. */
export type Layout = ReturnType<typeof layoutOf>;

/**
 * The paths of the stack in `named`; by default STACK_DIR, else `.local` of the repository.
 */
export function layoutOf(named = process.env.STACK_DIR || join(ROOT, ".local")) {
  // Servers start in their own folders, where a relative path would point elsewhere.
  const dir = resolve(named);
  return {
    dir,
    stackFile: join(dir, "stack.json"),
    runDir: join(dir, "run"),
    stateFile: join(dir, "run", "state.json"),
    logDir: join(dir, "log"),
    dataDir: join(dir, "data"),
    tlsDir: join(dir, "tls"),
    secretsFile: join(dir, "secrets.json"),
    seedFile: join(dir, "seed.json"),
    receiverSecretsFile: join(dir, "receiver-secrets.json"),
  } as const;
}

/** The log file of a process. */
export function logFileOf(layout: Layout, name: string): string {
  return join(layout.logDir, `${name}.log`);
}
