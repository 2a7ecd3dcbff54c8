/** Maps a carrier's receipt to our verdict and error code. */
import type { ReceiptVerdict } from "./message.ts";

/** The message states of SMPP 3.4 section 5.2.28. */
export type CarrierState =
  | "enroute"
  | "delivered"
  | "expired"
  | "deleted"
  | "undeliverable"
  | "accepted"
  | "unknown"
  | "rejected";

/** The verdict and, for an undelivered message, the error code. */
export type Reading = { readonly verdict: ReceiptVerdict; readonly errorCode: string };

/**
 * Codes of the `err` field: the MAP user errors of 3GPP TS 29.002 section 17.6.6 in decimal, which most SMSCs pass on.
 * A connector's own table has priority.
 */
const ERROR_CODES: Readonly<Record<string, string>> = {
  1: "unknown_subscriber",
  5: "unknown_subscriber",
  6: "absent_subscriber",
  8: "network_error",
  9: "subscriber_barred",
  10: "subscriber_barred",
  11: "network_error",
  13: "subscriber_barred",
  21: "network_error",
  27: "absent_subscriber",
  31: "handset_error",
  32: "handset_error",
  34: "network_error",
  36: "network_error",
};

const STATE_CODES: Readonly<Partial<Record<CarrierState, string>>> = {
  expired: "validity_expired",
  rejected: "carrier_rejected",
  undeliverable: "unknown",
  deleted: "unknown",
};

/**
 * Maps a receipt's state and error code. A specific state (EXPIRED, REJECTD) has priority over a generic code, unless
 * the connector's table has that code.
 */
export function readReceipt(
  state: CarrierState,
  errorCode: string | undefined,
  table: Readonly<Record<string, string>>,
): Reading {
  if (state === "delivered") return { verdict: "delivered", errorCode: "" };
  const own = STATE_CODES[state];
  // UNKNOWN means that the SMSC does not know; it does not prove that delivery failed.
  if (own === undefined) return { verdict: "acknowledged", errorCode: "" };
  const bare = errorCode?.replace(/^0+(?=.)/, "") ?? "";
  const tabled = codeIn(table, errorCode ?? "") ?? codeIn(table, bare);
  if (tabled !== undefined) return { verdict: "undelivered", errorCode: tabled };
  if (own !== "unknown") return { verdict: "undelivered", errorCode: own };
  return { verdict: "undelivered", errorCode: codeIn(ERROR_CODES, bare) ?? "unknown" };
}

/** Ignores inherited members: a carrier's code may be `constructor`. */
function codeIn(table: Readonly<Record<string, string>>, code: string): string | undefined {
  return Object.hasOwn(table, code) ? table[code] : undefined;
}

/** An address in comparable form: a number without plus, a sender ID in lower case. */
export function normalizeAddress(party: string): string {
  return party.replace(/^\+/, "").toLowerCase();
}
