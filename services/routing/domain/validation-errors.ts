import { AppError, type FieldError } from "../../shared/core/errors.ts";

/** Gathers what is wrong with a request, so that a caller mends everything in one go. */
export type Faults = {
  add(field: string, code: string, message: string): void;
  /** Throws `validation_error` with every fault when there is one. */
  throwIfAny(): void;
};

/** Most faults listed in one answer; an import of a wrong file would otherwise list them all. */
const FAULTS_MAX = 50;

/** Makes an empty list of faults. */
export function createFaults(): Faults {
  const fields: FieldError[] = [];
  return {
    add(field, code, message) {
      if (fields.length < FAULTS_MAX) fields.push({ field, code, message });
    },
    throwIfAny() {
      if (fields.length === 0) return;
      throw new AppError("validation_error", "Some fields are not right.", { fields });
    },
  };
}

/** Checks that a number is whole and within bounds. */
export function checkWhole(
  faults: Faults,
  field: string,
  value: number,
  min: number,
  max: number,
): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  faults.add(field, "out_of_range", `must be a whole number from ${min} to ${max}`);
}

/** Checks that a text is one of a few words. */
export function checkOneOf(
  faults: Faults,
  field: string,
  value: string,
  words: readonly string[],
): void {
  if (words.includes(value)) return;
  faults.add(field, "invalid_value", `must be one of ${words.join(", ")}`);
}

/** Checks a text's length, in characters. */
export function checkLength(
  faults: Faults,
  field: string,
  value: string,
  min: number,
  max: number,
): void {
  if (value.length < min) {
    const code = value.length === 0 ? "required" : "too_short";
    faults.add(field, code, min === 1 ? "is required" : `must have at least ${min} characters`);
  } else if (value.length > max) {
    faults.add(field, "too_long", `must have at most ${max} characters`);
  }
}
