import { AppError } from "../../services/shared/core/errors.ts";
import type { SecretEnd } from "./caller-cache.ts";

export const UNKNOWN_KEY =
  "The API key is unknown. Check that it is whole, and that it belongs to this service.";

/** Texts for ended keys. Only a caller that presents the whole secret gets one, so a stranger learns nothing. */
const ENDED: Readonly<Record<SecretEnd, string>> = {
  revoked: "The API key was revoked. Send another key of your account.",
  expired: "The API key has expired. Send another key of your account.",
};

const MISSING = "The request has no API key. Send one header Authorization: Bearer <API_KEY>.";

const NOT_BEARER =
  "The Authorization header is malformed. It must be the word Bearer, a space and the API key.";

const NO_KEY =
  "This is not an API key. One is sk_live_ or sk_test_ and 43 more characters; perhaps yours is cut off.";

const KEY_FORM = /^sk_(?:live|test)_[A-Za-z0-9_-]{43}$/;

/**
 * The refusal of an `Authorization` header, by its form and by the end of its key; `end` is undefined for an unknown
 * key.
 */
export function refusedKey(header: string | undefined, end?: SecretEnd): AppError {
  return new AppError("unauthenticated", end === undefined ? textOf(header) : ENDED[end]);
}

function textOf(header: string | undefined): string {
  if (header === undefined || header.trim() === "") return MISSING;
  const [scheme = "", key, ...more] = header.trim().split(/ +/);
  if (scheme.toLowerCase() !== "bearer" || key === undefined || more.length > 0) return NOT_BEARER;
  return KEY_FORM.test(key) ? UNKNOWN_KEY : NO_KEY;
}
