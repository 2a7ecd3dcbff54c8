/** Validation of requests to the wallet. Each function returns the errors of one field. */
import { AppError, type FieldError } from "../../shared/core/errors.ts";
import { AMOUNT_MAX } from "../../shared/core/money.ts";
import type { Actor } from "../domain/command.ts";

/** Throws `validation_error` when there is an error. */
export function check(fields: readonly FieldError[]): void {
  if (fields.length === 0) return;
  throw new AppError("validation_error", "The request is not valid.", { fields });
}

/** An error of the field when `isWrong`. */
export function when(isWrong: boolean, field: string, message: string): FieldError[] {
  return isWrong ? [{ field, code: "invalid_value", message }] : [];
}

/** A required text of at most `max` characters. */
export function text(field: string, value: string, max: number): FieldError[] {
  if (value === "") return [{ field, code: "required", message: "must not be empty" }];
  return atMost(field, value, max);
}

/** An optional text of at most `max` characters. */
export function atMost(field: string, value: string, max: number): FieldError[] {
  if (value.length <= max) return [];
  return [{ field, code: "too_long", message: `must be at most ${max} characters` }];
}

/** An amount above zero. */
export function positive(field: string, amount: bigint, max = AMOUNT_MAX): FieldError[] {
  if (amount > 0n && amount <= max) return [];
  return [{ field, code: "out_of_range", message: "must be more than zero and not too large" }];
}

/** An amount of either sign that is not zero. */
export function eitherWay(field: string, amount: bigint): FieldError[] {
  if (amount !== 0n && amount <= AMOUNT_MAX && amount >= -AMOUNT_MAX) return [];
  return [{ field, code: "out_of_range", message: "must not be zero, and not too large" }];
}

/** Throws `validation_error` unless a `Date` can hold the instant. */
export function checkInstant(field: string, ms: number): void {
  check(instant(field, ms));
}

/** The largest instant of a `Date` (ECMA-262, section 21.4.1.1). */
const INSTANT_MAX_MS = 8.64e15;

/** An instant in milliseconds since 1970. */
export function instant(field: string, ms: number): FieldError[] {
  if (ms >= 0 && ms <= INSTANT_MAX_MS) return [];
  return [{ field, code: "out_of_range", message: "must be an instant since 1970" }];
}

/** The name and address of the operator. */
export function actorErrors(actor: Actor): FieldError[] {
  return [...text("actor.name", actor.name, 128), ...atMost("actor.address", actor.address, 128)];
}
