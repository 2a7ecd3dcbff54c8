import { asAppError, type FieldError } from "../../services/shared/core/errors.ts";
import { parseObject } from "../json/parse.ts";
import type { Validator } from "./validate.ts";

/** A body, `undefined` when it cannot be read, and what is wrong with it. */
export type ReadBody = {
  readonly body: Record<string, unknown> | undefined;
  readonly faults: readonly FieldError[];
};

/** Reads a body whose faults are told later, with others; only what is no fault of the body is thrown. */
export function readBody(bytes: Buffer, validate: Validator): ReadBody {
  try {
    const { value, size } = parseObject(bytes);
    return { body: value, faults: validate(value, size) };
  } catch (error) {
    const { fields: faults } = asAppError(error);
    if (faults.length === 0) throw error;
    return { body: undefined, faults };
  }
}
