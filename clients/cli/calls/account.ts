/** Which address and key a command uses. */
import { AppError } from "../../../services/shared/core/errors.ts";
import type { Profile, ProfileFile } from "./profiles.ts";
import { profileOf } from "./profiles.ts";

/** The account settings of a command line and its environment. */
export type Given = {
  /** `--profile`. */
  readonly profile: string | undefined;
  /** `--base-url`. */
  readonly baseUrl: string | undefined;
  /** SMS_API_KEY and SMS_BASE_URL. */
  readonly env: { readonly apiKey: string | undefined; readonly baseUrl: string | undefined };
};

/** The account of a command: options win over the environment, and that over the current profile. */
export function chooseAccount(given: Given, file: ProfileFile): Profile {
  const { env, profile: name } = given;
  if (env.apiKey !== undefined && name !== undefined) {
    // Either choice could send from the wrong account.
    throw wrong("SMS_API_KEY is set and wins over profiles: unset it, or leave --profile out.");
  }
  const chosen = name ?? file.current;
  // A key of the environment needs a profile for the address at most.
  const profile =
    chosen === undefined || (env.apiKey !== undefined && env.baseUrl !== undefined)
      ? undefined
      : profileOf(file, chosen);
  const apiKey = env.apiKey ?? profile?.api_key;
  if (apiKey === undefined) {
    throw new AppError(
      "unauthenticated",
      "There is no API key: run sms login, or set SMS_API_KEY.",
    );
  }
  const baseUrl = given.baseUrl ?? env.baseUrl ?? profile?.base_url;
  if (baseUrl === undefined) throw wrong("There is no address: set SMS_BASE_URL, or --base-url.");
  return { api_key: checkKey(apiKey), base_url: checkBaseUrl(baseUrl) };
}

/** A key as the API issues them. */
export function checkKey(text: string): string {
  const key = text.trim();
  // The text may be a password that was pasted by mistake, so it is not shown.
  if (!/^sk_(live|test)_[\x21-\x7e]+$/.test(key)) {
    throw wrong("An API key begins with sk_live_ or sk_test_.");
  }
  return key;
}

/** An address without a trailing slash. */
export function checkBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== "") {
    throw wrong(`The base URL ${text} is no address such as https://api.example.com.`);
  }
  return text.replace(/\/+$/, "");
}

function wrong(text: string): AppError {
  return new AppError("validation_error", text);
}
