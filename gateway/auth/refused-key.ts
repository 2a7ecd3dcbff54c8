import { AppError } from "../../services/shared/core/errors.ts";

/**
 * The same text for an unknown and for a revoked key: only the tenant service knows which, and a stranger must not
 * learn it.
 */
export const UNKNOWN_KEY =
  "The API key is unknown or revoked. Check that it is whole, and that it belongs to this service.";

const MISSING = "The request has no API key. Send one header Authorization: Bearer <API_KEY>.";

const NOT_BEARER =
  "The Authorization header is malformed. It must be the word Bearer, a space and the API key.";

const NO_KEY =
  "This is not an API key. One is sk_live_ or sk_test_ and 43 more characters; perhaps yours is cut off.";

const KEY_FORM = /^sk_(?:live|test)_[A-Za-z0-9_-]{43}$/;

/** The refusal of an `Authorization` header. It depends on the header's form only, which the sender knows. */
export function refusedKey(header: string | undefined): AppError {
  return new AppError("unauthenticated", textOf(header));
}

function textOf(header: string | undefined): string {
  if (header === undefined || header.trim() === "") return MISSING;
  const [scheme = "", key, ...more] = header.trim().split(/ +/);
  if (scheme.toLowerCase() !== "bearer" || key === undefined || more.length > 0) return NOT_BEARER;
  return KEY_FORM.test(key) ? UNKNOWN_KEY : NO_KEY;
}
