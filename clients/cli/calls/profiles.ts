/**
 * Profiles: an address and an API key under a name, in one file of the user's configuration. The file holds keys, so
 * only its owner may read it.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { AppError } from "../../../services/shared/core/errors.ts";

export type Profile = { readonly base_url: string; readonly api_key: string };

/** The contents of the file. */
export type ProfileFile = {
  readonly current: string | undefined;
  readonly profiles: Readonly<Record<string, Profile>>;
};

/** The name of the first profile. */
export const DEFAULT_PROFILE = "default";

/** The file: `sms/profiles.json` in XDG_CONFIG_HOME, by default `~/.config`. */
export function profilePath(env: NodeJS.ProcessEnv): string {
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return join(folder, "sms", "profiles.json");
}

/** Reads the file; no profiles when there is none. */
export function readProfiles(env: NodeJS.ProcessEnv): ProfileFile {
  const path = profilePath(env);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return { current: undefined, profiles: {} };
    }
    throw wrong(`${path} cannot be read: ${(error as Error).message}`);
  }
  try {
    const { current, profiles = {} } = JSON.parse(text) as Partial<ProfileFile>;
    return { current, profiles };
  } catch {
    // The parser's own message would quote the file, which holds keys.
    throw wrong(`${path} is no JSON: correct it, or remove it and run sms login.`);
  }
}

/** Replaces the file in one step: an interrupted write leaves the old one. */
export function writeProfiles(env: NodeJS.ProcessEnv, file: ProfileFile): void {
  const path = profilePath(env);
  const draft = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
    // The mode of a new file depends on the umask.
    chmodSync(draft, 0o600);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw wrong(`${path} cannot be written: ${(error as Error).message}`);
  }
}

/** A profile by its name; throws `not_found` for an unknown one. */
export function profileOf({ profiles }: ProfileFile, name: string): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) return profile;
  const known = Object.keys(profiles).join(", ") || "none";
  throw new AppError("not_found", `There is no profile ${name}; there are: ${known}.`);
}

function wrong(text: string): AppError {
  return new AppError("validation_error", text);
}
