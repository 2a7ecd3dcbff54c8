import { checkOneOf, type FieldErrors } from "./validation-errors.ts";

/** Our error codes that a refused submit can map to. They end the message at once: no other route is tried. */
const SUBMIT_CODES = ["dnd_blocked"] as const;
const ENTRIES_MAX = 100;

/** Validates the map from a carrier's refusals to our codes, in a connector's SMPP or HTTP settings. */
export function checkSubmitErrorCodes(
  errors: FieldErrors,
  part: "smpp" | "http",
  codes: Readonly<Record<string, string>>,
): void {
  const field = `${part}.submit_error_codes`;
  const entries = Object.entries(codes);
  if (entries.length > ENTRIES_MAX) {
    errors.add(field, "too_many", `must have at most ${ENTRIES_MAX} entries`);
  }
  for (const [theirs, ours] of entries) {
    if (!NOTATIONS[part].pattern.test(theirs)) {
      errors.add(field, "invalid_format", NOTATIONS[part].text);
    }
    checkOneOf(errors, `${field}.${theirs}`, ours, SUBMIT_CODES);
  }
}

/** The forms of a refusal. An HTTP carrier's own codes are in the body of its answer, at `error_pointer`. */
const NOTATIONS = {
  smpp: {
    pattern: /^0x(?!0+$)[0-9a-fA-F]{1,8}$/,
    text: "a refusal is a hexadecimal command_status other than 0, such as 0x420",
  },
  http: {
    pattern: /^[\x21-\x7e]{1,64}$/,
    text: "a refusal is a status from 400 to 499, or a code of 1 to 64 printable characters",
  },
} as const;
