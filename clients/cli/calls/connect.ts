import type { Options } from "../../../services/shared/cli/options.ts";
import { createSmsClient, type SmsClient } from "../../typescript/src/client.ts";
import { chooseAccount } from "./account.ts";
import { type Profile, readProfiles } from "./profiles.ts";

/** The user waits for the answer: the error comes after 3 s of retries. */
const RETRIES = 2;

/** A client of the API under the key that the options, the environment or a profile give. */
export function connect(options: Options, env: NodeJS.ProcessEnv): SmsClient {
  return clientOf(accountOf(options, env));
}

/** The address and key that a command uses. */
export function accountOf(options: Options, env: NodeJS.ProcessEnv): Profile {
  const given = {
    profile: options.named("profile"),
    baseUrl: options.named("base-url"),
    // An empty variable is an unset one, as in most programs.
    env: { apiKey: env.SMS_API_KEY || undefined, baseUrl: env.SMS_BASE_URL || undefined },
  };
  return chooseAccount(given, readProfiles(env));
}

export function clientOf({ api_key, base_url }: Profile): SmsClient {
  return createSmsClient({ apiKey: api_key, baseUrl: base_url, maxRetries: RETRIES });
}
