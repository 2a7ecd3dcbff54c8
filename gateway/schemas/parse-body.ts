import { asAppError, type FieldError } from "../../services/shared/core/errors.ts";
import { parseObject } from "../json/parse.ts";
import type { Validator } from "./validate.ts";

/** A parsed body, `undefined` when it is not a JSON object, and its faults. */
export type ParsedBody = {
  readonly body: Record<string, unknown> | undefined;
  readonly faults: readonly FieldError[];
};

/** Parses and validates a body. Returns its faults, so that the caller can report them with others. */
export function parseBody(bytes: Buffer, validate: Validator): ParsedBody {
  try {
    const { value, size } = parseObject(bytes);
    return { body: value, faults: validate(value, size) };
  } catch (error) {
    const { fields: faults } = asAppError(error);
    if (faults.length === 0) throw error;
    return { body: undefined, faults };
  }
}

/** Whether a request has a body. JSON `null` is none: some generated clients send it in place of nothing. */
export function hasBody(bytes: Buffer): boolean {
  if (bytes.length === 0) return false;
  return bytes.length > NULL_BYTES_MAX || !NULL.test(bytes.toString("latin1"));
}

/** `null` with the white space that a client may put around it. */
const NULL = /^[ \t\r\n]*null[ \t\r\n]*$/;
const NULL_BYTES_MAX = 16;

/** The fault of an empty file. The service that reads the file finds other faults. */
export function emptyFileFaults(bytes: Buffer): FieldError[] {
  if (bytes.length > 0) return [];
  return [{ field: "body", code: "required", message: "The file is empty." }];
}
