import { AppError, type FieldError } from "../../shared/core/errors.ts";

/** Collects the errors of a request, so that one answer names all of them. */
export type FieldErrors = {
  add(field: string, code: string, message: string): void;
  /** Throws `validation_error` with the collected errors, if there are any. */
  throwIfAny(): void;
};

/** Most errors in one answer: a wrong import file may have one per line. */
const FIELD_ERRORS_MAX = 50;

export function createFieldErrors(): FieldErrors {
  const fields: FieldError[] = [];
  return {
    add(field, code, message) {
      if (fields.length < FIELD_ERRORS_MAX) fields.push({ field, code, message });
    },
    throwIfAny() {
      if (fields.length === 0) return;
      throw new AppError("validation_error", "Some fields are not right.", { fields });
    },
  };
}

/** Checks that a number is an integer within bounds. */
export function checkWhole(
  errors: FieldErrors,
  field: string,
  value: number,
  min: number,
  max: number,
): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  errors.add(field, "out_of_range", `must be a whole number from ${min} to ${max}`);
}

/** Checks that a text is one of the given words. */
export function checkOneOf(
  errors: FieldErrors,
  field: string,
  value: string,
  words: readonly string[],
): void {
  if (words.includes(value)) return;
  errors.add(field, "invalid_value", `must be one of ${words.join(", ")}`);
}

/** Checks a text's length, in characters. */
export function checkLength(
  errors: FieldErrors,
  field: string,
  value: string,
  min: number,
  max: number,
): void {
  if (value.length < min) {
    const code = value.length === 0 ? "required" : "too_short";
    errors.add(field, code, min === 1 ? "is required" : `must have at least ${min} characters`);
  } else if (value.length > max) {
    errors.add(field, "too_long", `must have at most ${max} characters`);
  }
}
