import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** Where unpacked server programs are kept; stacks and tests share them. */
export const SERVERS_DIR = join(ROOT, ".local", "servers");

/** The code of the services without its types (`services/strip-types-cache.mjs`). */
export const STRIPPED_DIR = join(ROOT, ".local", "stripped");

/** Where one stack keeps everything it makes; nothing is written outside `dir`. */
export type Layout = ReturnType<typeof layoutOf>;

/**
 * The files of the stack that lives in `named`; unless a test says otherwise that is STACK_DIR, or
 * `.local` of the repository.
 */
export function layoutOf(named = process.env.STACK_DIR || join(ROOT, ".local")) {
  // Servers are started in folders of their own, from which a relative one would lead elsewhere.
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
