import { invalidField } from "../../shared/core/limits.ts";

/** RFC 5321 section 4.5.3.1: an address has at most 254 characters, its local part at most 64. */
const CHARS_MAX = 254;
const FORM =
  /^[^\s@<>"(),:;[\]\\]{1,64}@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/;

/**
 * An e-mail address in the form that identifies a person: trimmed and in lower case. Providers treat the local part
 * as such, and two people whose addresses differ in case alone would be confused anyway. Throws `validation_error`.
 */
export function canonicalEmail(text: string): string {
  const email = text.trim().toLowerCase();
  if (email.length <= CHARS_MAX && FORM.test(email)) return email;
  throw invalidField("email", "invalid_format", "is not an e-mail address");
}
