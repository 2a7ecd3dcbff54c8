/** The limits of the contract and of internal pages. */

import { AppError } from "./errors.ts";

/** Page size of lists unless the caller sets one (`docs/contract.md#lists`). */
export const PAGE_DEFAULT = 50;

/** The largest page of a list. */
export const PAGE_MAX = 100;

/** Recipient text, as submitted, in characters. */
export const RECIPIENT_CHARS_MAX = 256;

/** Segments of one body at most. */
export const SEGMENTS_MAX = 10;

/** Items of one batch request, and recipients of a bulk request unless the tenant's setting differs. */
export const BULK_DEFAULT = 1000;

/** The error for one invalid field of an internal request. */
export function invalidField(field: string, code: string, message: string): AppError {
  return new AppError("validation_error", "The request is not valid.", {
    fields: [{ field, code, message }],
  });
}

/** Throws when the list of an internal request is too short or too long. */
export function checkItems(field: string, count: number, least: number, most: number): void {
  if (count >= least && count <= most) return;
  throw invalidField(field, "out_of_range", `must have ${least} to ${most} items`);
}

/** Throws when the text of an internal request is empty, such as the tenant that owns the subject. */
export function checkGiven(field: string, text: string): void {
  if (text === "") throw invalidField(field, "required", "is required");
}

/** Throws for a malformed cursor. Starting the list again instead would show the same page for ever. */
export function checkCursor(isOurs: boolean): void {
  if (!isOurs) throw invalidField("cursor", "invalid_value", "is not a cursor");
}

/** Returns a value that was found in a table; throws `validation_error` when it was not. */
export function checkKnown<T>(field: string, value: T | undefined): T {
  if (value !== undefined) return value;
  throw unknownValue(field);
}

/** The error for a value outside its table. */
export function unknownValue(field: string): AppError {
  return new AppError("validation_error", `The field ${field} is not valid.`, {
    fields: [{ field, code: "invalid_value", message: "This value is not known." }],
  });
}

/** Page size of an internal list: the caller's wish up to `max`; 0 means the default. */
export function pageLimit(wanted: number, max = 1000): number {
  if (wanted < 0) throw invalidField("limit", "out_of_range", "must not be negative");
  return wanted === 0 ? PAGE_DEFAULT : Math.min(wanted, max);
}
