/** What is wrong with requests to the wallet, field by field. */
import { AppError, type FieldError } from "../../shared/core/errors.ts";
import { AMOUNT_MAX } from "../../shared/core/money.ts";
import type { Actor } from "../domain/command.ts";

/** Throws `validation_error` with the faults, if there are any. */
export function check(faults: readonly FieldError[]): void {
  if (faults.length > 0)
    throw new AppError("validation_error", "The request is not valid.", { fields: faults });
}

/** A fault of a field, when something is wrong with it. */
export function when(isWrong: boolean, field: string, message: string): FieldError[] {
  return isWrong ? [{ field, code: "invalid_value", message }] : [];
}

/** What is wrong with a text that must be there, in characters. */
export function text(field: string, value: string, max: number): FieldError[] {
  if (value === "") return [{ field, code: "required", message: "must not be empty" }];
  return atMost(field, value, max);
}

/** What is wrong with a text that may be empty. */
export function atMost(field: string, value: string, max: number): FieldError[] {
  if (value.length <= max) return [];
  return [{ field, code: "too_long", message: `must be at most ${max} characters` }];
}

/** What is wrong with an amount that must move something. */
export function positive(field: string, amount: bigint, max = AMOUNT_MAX): FieldError[] {
  if (amount > 0n && amount <= max) return [];
  return [{ field, code: "out_of_range", message: "must be more than zero and not too large" }];
}

/** What is wrong with an amount that must move something, in either direction. */
export function eitherWay(field: string, amount: bigint): FieldError[] {
  if (amount !== 0n && amount <= AMOUNT_MAX && amount >= -AMOUNT_MAX) return [];
  return [{ field, code: "out_of_range", message: "must not be zero, and not too large" }];
}

/** Throws `validation_error` for what is no instant that a date can hold. */
export function checkInstant(field: string, ms: number): void {
  check(instant(field, ms));
}

/** The largest instant that a date can hold (ECMA-262, section 21.4.1.1). */
const INSTANT_MAX_MS = 8.64e15;

/** What is wrong with an instant, in milliseconds since 1970. */
export function instant(field: string, ms: number): FieldError[] {
  if (ms >= 0 && ms <= INSTANT_MAX_MS) return [];
  return [{ field, code: "out_of_range", message: "must be an instant since 1970" }];
}

/** What is wrong with the name and address of who asks. */
export function actorFaults(actor: Actor): FieldError[] {
  return [...text("actor.name", actor.name, 128), ...atMost("actor.address", actor.address, 128)];
}
