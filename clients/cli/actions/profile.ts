import type { Options } from "../../../services/shared/cli/options.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { isSmsError } from "../../typescript/src/client.ts";
import { checkBaseUrl, checkKey } from "../calls/account.ts";
import { clientOf } from "../calls/connect.ts";
import {
  DEFAULT_PROFILE,
  type Profile,
  profileOf,
  readProfiles,
  writeProfiles,
} from "../calls/profiles.ts";
import { ask } from "../cli/ask.ts";
import type { Run } from "../cli/command.ts";

export const login: Run = async ({ options, output }) => {
  const name = readName(options);
  const before = readProfiles(process.env);
  const known = Object.hasOwn(before.profiles, name) ? before.profiles[name] : undefined;
  const profile = {
    base_url: checkBaseUrl(await readBaseUrl(options, known)),
    api_key: checkKey(await readKey(options)),
  };
  await checkWithApi(profile);
  // Read again: another login may have ended while this one waited for the key.
  const { profiles } = readProfiles(process.env);
  writeProfiles(process.env, { current: name, profiles: { ...profiles, [name]: profile } });
  await output.result({ ...shown(name, profile), current: true });
};

export const logout: Run = async ({ options, output }) => {
  const file = readProfiles(process.env);
  const name = options.named("profile") ?? file.current ?? DEFAULT_PROFILE;
  profileOf(file, name);
  const { [name]: _removed, ...profiles } = file.profiles;
  const current = file.current === name ? undefined : file.current;
  writeProfiles(process.env, { current, profiles });
  await output.result({ name, removed: true });
};

export const use: Run = async ({ options, output }) => {
  const name = options.word(0, "The profile's name");
  const file = readProfiles(process.env);
  const profile = profileOf(file, name);
  writeProfiles(process.env, { ...file, current: name });
  await output.result({ ...shown(name, profile), current: true });
};

export const list: Run = async ({ output }) => {
  const { current, profiles } = readProfiles(process.env);
  const rows = Object.entries(profiles).map(([name, profile]) => ({
    ...shown(name, profile),
    current: name === current,
  }));
  await output.list(rows, { columns: ["name", "current", "mode", "key", "base_url"] });
  if (process.env.SMS_API_KEY) output.note("SMS_API_KEY is set and wins over the profiles.");
};

/** A profile as it is shown: of the key no more than tells keys apart. */
function shown(name: string, { api_key, base_url }: Profile) {
  const mode = api_key.startsWith("sk_live_") ? "live" : "test";
  return { name, mode, key: `…${api_key.slice(-4)}`, base_url };
}

function readName(options: Options): string {
  const name = options.named("profile") ?? DEFAULT_PROFILE;
  if (/^[\w.-]{1,64}$/.test(name)) return name;
  throw new AppError("validation_error", "A profile's name has letters, digits, dots and hyphens.");
}

/** The address of the option, the environment, the profile that is replaced, or the answer to a question. */
async function readBaseUrl(options: Options, known: Profile | undefined): Promise<string> {
  const given = options.named("base-url") ?? (process.env.SMS_BASE_URL || known?.base_url);
  if (given !== undefined) return given;
  if (process.stdin.isTTY !== true) {
    throw new AppError("validation_error", "--base-url is required, or SMS_BASE_URL.");
  }
  return ask("Address of the API: ", { isHidden: false });
}

async function readKey(options: Options): Promise<string> {
  const given = options.secret("api-key") ?? process.env.SMS_API_KEY;
  if (given) return given;
  if (process.stdin.isTTY === true) return ask("API key: ", { isHidden: true });
  const { readFileSync } = await import("node:fs");
  const text = readFileSync(0, "utf8").trim();
  if (text !== "") return text;
  throw new AppError("validation_error", "No key was given: --api-key-file, or standard input.");
}

/** A key without the scope for this call is still a key. */
async function checkWithApi(profile: Profile): Promise<void> {
  try {
    await clientOf(profile).balance.get();
  } catch (error) {
    if (!isSmsError(error) || error.code !== "insufficient_scope") throw error;
  }
}
