/** Opt-outs and opt-ins of numbers. The newest one counts, by the time at which it was received. */
import { SENDER_NAME } from "../../shared/core/text-forms.ts";

/** Where a suppression comes from. */
export type SuppressionSource = "keyword" | "api" | "import" | "operator";

/** An opt-out (`isOut`) or opt-in of a number, by its owner or by the tenant. */
export type Consent = {
  readonly tenantId: string;
  /** E.164. */
  readonly number: string;
  /** The sender ID in lower case; empty: every one. */
  readonly sender: string;
  readonly isOut: boolean;
  readonly source: SuppressionSource;
  readonly reason: string;
  readonly atMs: number;
};

/** True when the new one replaces the stored one. */
export function isNewer(stored: Pick<Consent, "atMs"> | undefined, atMs: number): boolean {
  return stored === undefined || atMs >= stored.atMs;
}

/** True when a number becomes suppressed, or stops being suppressed: then there is an event. */
export function changesState(stored: Pick<Consent, "isOut"> | undefined, isOut: boolean): boolean {
  return (stored?.isOut ?? false) !== isOut;
}

const REASON_CHARS_MAX = 256;

/** The first fault of a suppression's sender and reason. */
export function suppressionFault(given: {
  readonly sender: string;
  readonly reason: string;
}): { readonly field: string; readonly code: string; readonly message: string } | undefined {
  if (given.sender !== "" && !SENDER_NAME.test(given.sender)) {
    const message = "A sender ID has 3 to 11 letters, digits, spaces, dots or dashes.";
    return { field: "sender", code: "invalid_format", message };
  }
  if (given.reason.length > REASON_CHARS_MAX || !given.reason.isWellFormed()) {
    const message = `A reason has at most ${REASON_CHARS_MAX} characters.`;
    return { field: "reason", code: "too_long", message };
  }
  return undefined;
}
