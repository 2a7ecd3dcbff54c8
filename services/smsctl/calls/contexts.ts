/**
 * Contexts: named sets of the settings that the environment could hold, in one file of the user's configuration. The
 * file holds tokens, so only its owner may read it.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { AppError } from "../../shared/core/errors.ts";

/** A context: `TENANT_GRPC`, `RPC_TOKEN` and so on, by name. */
export type ContextSettings = Readonly<Record<string, string>>;

/** The contents of the file. */
export type ContextFile = {
  readonly current: string | undefined;
  readonly contexts: Readonly<Record<string, ContextSettings>>;
};

/** The file: `smsctl/contexts.json` in XDG_CONFIG_HOME, by default `~/.config`. */
export function contextPath(env: NodeJS.ProcessEnv): string {
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return join(folder, "smsctl", "contexts.json");
}

/** Reads the file; no contexts when there is none. */
export function readContexts(env: NodeJS.ProcessEnv): ContextFile {
  const path = contextPath(env);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return { current: undefined, contexts: {} };
    }
    throw new AppError("validation_error", `${path} cannot be read: ${(error as Error).message}`);
  }
  try {
    const { current, contexts = {} } = JSON.parse(text) as Partial<ContextFile>;
    return { current, contexts };
  } catch (error) {
    throw new AppError("validation_error", `${path} is no JSON: ${(error as Error).message}`);
  }
}

/** Replaces the file in one step: an interrupted write leaves the old one. */
export function writeContexts(env: NodeJS.ProcessEnv, file: ContextFile): void {
  const path = contextPath(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
    // The mode of a new file depends on the umask.
    chmodSync(draft, 0o600);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw new AppError(
      "validation_error",
      `${path} cannot be written: ${(error as Error).message}`,
    );
  }
}

/** The name of the current context, if there is one. */
export function currentContext(env: NodeJS.ProcessEnv): string | undefined {
  return readContexts(env).current;
}

/** The settings of a context; throws `not_found` for an unknown one. */
export function contextSettings(env: NodeJS.ProcessEnv, name: string): ContextSettings {
  const { contexts } = readContexts(env);
  const settings = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (settings !== undefined) return settings;
  const known = Object.keys(contexts).join(", ") || "none";
  throw new AppError("not_found", `There is no context ${name}; there are: ${known}.`);
}
