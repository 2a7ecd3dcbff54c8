import { checkOneOf, type FieldErrors } from "./validation-errors.ts";

/**
 * Throttling statuses of a carrier, each with its presumed scope: `bind`, the whole link or account, or `number`, one
 * recipient or sender. A connector's settings add the carrier's own statuses and correct the defaults.
 */
export type ThrottleScopes = Readonly<Record<string, string>>;

const SCOPES = ["bind", "number"] as const;
const STATUSES_MAX = 50;

/** Validates the scopes of a connector's SMPP or HTTP settings. */
export function checkThrottleScopes(
  errors: FieldErrors,
  part: "smpp" | "http",
  scopes: ThrottleScopes,
): void {
  const field = `${part}.throttle_scopes`;
  const entries = Object.entries(scopes);
  if (entries.length > STATUSES_MAX) {
    errors.add(field, "too_many", `must have at most ${STATUSES_MAX} entries`);
  }
  for (const [status, scope] of entries) {
    if (!NOTATIONS[part].pattern.test(status)) {
      errors.add(field, "invalid_format", NOTATIONS[part].text);
    }
    checkOneOf(errors, `${field}.${status}`, scope, SCOPES);
  }
}

/** The forms of a status. After a 5xx other than 503 the carrier may have the message: that is no throttling. */
const NOTATIONS = {
  smpp: {
    pattern: /^0x(?!0+$)[0-9a-fA-F]{1,8}$/,
    text: "a status is a hexadecimal command_status other than 0, such as 0x58",
  },
  http: { pattern: /^(?:4[0-9]{2}|503)$/, text: "a status is 400 to 499, or 503" },
} as const;
