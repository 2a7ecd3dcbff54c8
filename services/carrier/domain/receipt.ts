/** What a carrier's receipt means in our words. */
import type { ReceiptVerdict } from "./message.ts";

/** A state as SMPP 3.4 section 5.2.28 names them. */
export type CarrierState =
  | "enroute"
  | "delivered"
  | "expired"
  | "deleted"
  | "undeliverable"
  | "accepted"
  | "unknown"
  | "rejected";

/** The verdict and, for an undelivered message, why. */
export type Reading = { readonly verdict: ReceiptVerdict; readonly errorCode: string };

/**
 * Codes of the `err` field that carriers share: the error codes of 3GPP TS 29.002 section 17.6.6
 * (MAP user errors) in decimal, which most SMSCs pass on. A connector's own table goes first.
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
 * Reads a receipt's state and error code. A state of its own (EXPIRED, REJECTD) says more than a
 * generic code, unless the connector's table names that code.
 */
export function readReceipt(
  state: CarrierState,
  errorCode: string | undefined,
  table: Readonly<Record<string, string>>,
): Reading {
  if (state === "delivered") return { verdict: "delivered", errorCode: "" };
  const own = STATE_CODES[state];
  // SMPP's UNKNOWN says that the SMSC does not know; that is no proof that delivery failed.
  if (own === undefined) return { verdict: "acknowledged", errorCode: "" };
  const bare = errorCode?.replace(/^0+(?=.)/, "") ?? "";
  const tabled = codeIn(table, errorCode ?? "") ?? codeIn(table, bare);
  if (tabled !== undefined) return { verdict: "undelivered", errorCode: tabled };
  if (own !== "unknown") return { verdict: "undelivered", errorCode: own };
  return { verdict: "undelivered", errorCode: codeIn(ERROR_CODES, bare) ?? "unknown" };
}

/** Carriers write what they like: a code such as `constructor` is none that every object has. */
function codeIn(table: Readonly<Record<string, string>>, code: string): string | undefined {
  return Object.hasOwn(table, code) ? table[code] : undefined;
}

/** A party of a message as receipts and submits are compared: digits without plus, or lower case. */
export function normalizeAddress(party: string): string {
  return party.replace(/^\+/, "").toLowerCase();
}
