import { isUtf8 } from "node:buffer";
import { JSON_DEPTH_MAX } from "../../services/shared/core/canonical-json-depth.ts";
import { AppError } from "../../services/shared/core/errors.ts";
import { countMembers, prescanJson } from "./prescan.ts";

/** A parsed body and its size: the number of object members and commas. */
export type JsonBody = {
  readonly value: Record<string, unknown>;
  readonly size: number;
};

/**
 * Parses a body that must be a JSON object (RFC 8259); throws `validation_error` with `invalid_json` otherwise.
 * Also refuses input that parsers interpret differently, a byte order mark and duplicate member names: the body
 * that is validated must be the body that the client meant.
 */
export function parseObject(bytes: Buffer): JsonBody {
  if (!isUtf8(bytes)) throw invalidJson("The body is not valid UTF-8.");
  const { depth, members, commas } = prescanJson(bytes);
  if (depth > JSON_DEPTH_MAX) throw invalidJson("The body is nested too deeply.");
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw invalidJson("The body is not valid JSON.", error);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidJson("The body must be a JSON object.");
  }
  if (countMembers(value) !== members) {
    throw invalidJson("An object in the body has the same name twice.");
  }
  return { value: value as Record<string, unknown>, size: members + commas };
}

function invalidJson(message: string, cause?: unknown): AppError {
  return new AppError("validation_error", message, {
    cause,
    fields: [{ field: "", code: "invalid_json", message }],
  });
}
