import { isUtf8 } from "node:buffer";
import { JSON_DEPTH_MAX } from "../../services/shared/core/canonical-json-depth.ts";
import { AppError } from "../../services/shared/core/errors.ts";
import { countMembers, type JsonBounds, type JsonPrescan, prescanJson } from "./prescan.ts";
import { jsonSyntaxText } from "./syntax-text.ts";

/** A parsed body and its size: the number of object members and commas. */
export type JsonBody = {
  readonly value: Record<string, unknown>;
  readonly size: number;
};

/**
 * Bounds of a body, above every valid one. A batch of 1,000 items has 1,002 containers and 3,002 members; 1,000 rows
 * of a campaign with 64 variables each have 2,002 containers and 67,001 members. A bulk send of 10,000 recipients, the
 * highest limit of a tenant, has 10,002 commas; longer lists still reach the check that names their field (`too_many`).
 * One object with many names costs more than many objects with few. Parsing within these bounds takes at most 40 ms.
 */
export const JSON_BOUNDS: JsonBounds = {
  depth: JSON_DEPTH_MAX,
  containers: 16_384,
  members: 70_000,
  objectMembers: 4096,
  commas: 150_000,
};

/**
 * Parses a body that must be a JSON object (RFC 8259); throws `validation_error` with `invalid_json` otherwise.
 * Also refuses input that parsers interpret differently, a byte order mark and duplicate member names: the body
 * that is validated must be the body that the client meant.
 */
export function parseObject(bytes: Buffer): JsonBody {
  const prescan = prescanJson(bytes, JSON_BOUNDS);
  if (prescan.isOver) throw invalidJson(exceededBound(prescan));
  if (!isUtf8(bytes)) throw invalidJson("The body is not valid UTF-8.");
  let value: unknown;
  const text = bytes.toString("utf8");
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidJson(jsonSyntaxText(text, error), error);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const found = value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`;
    throw invalidJson(`The body must be a JSON object, not ${found}.`);
  }
  const { members, commas } = prescan;
  if (countMembers(value) !== members) {
    throw invalidJson("An object in the body has the same name twice.");
  }
  return { value: value as Record<string, unknown>, size: members + commas };
}

function exceededBound({ depth, containers, members, objectMembers }: JsonPrescan): string {
  if (depth > JSON_BOUNDS.depth) return "The body is nested too deeply.";
  if (containers > JSON_BOUNDS.containers) {
    return `The body has more than ${JSON_BOUNDS.containers} objects and arrays.`;
  }
  if (members > JSON_BOUNDS.members) {
    return `The body has more than ${JSON_BOUNDS.members} members.`;
  }
  if (objectMembers > JSON_BOUNDS.objectMembers) {
    return `An object in the body has more than ${JSON_BOUNDS.objectMembers} members.`;
  }
  return `The body has more than ${JSON_BOUNDS.commas} values.`;
}

function invalidJson(message: string, cause?: unknown): AppError {
  return new AppError("validation_error", message, {
    cause,
    fields: [{ field: "", code: "invalid_json", message }],
  });
}
