import { hash } from "node:crypto";
import { JSON_DEPTH_MAX } from "./canonical-json-depth.ts";

/**
 * The canonical JSON text of a value: no white space, members sorted by the UTF-16 code units of their names at
 * every level (order and number format of RFC 8785). Equal values have equal texts. Undefined members are left
 * out, as JSON.stringify does. A number beyond the range of a double, which parsers read as infinity, is
 * written 1e999. Throws TypeError for values that JSON cannot hold, and RangeError for a cycle or for nesting
 * deeper than JSON_DEPTH_MAX.
 */
export function canonicalJson(value: unknown): string {
  return textOf(value, 0);
}

/**
 * The form of webhook bodies: compact JSON with sorted keys. The same text as `canonicalJson`, for another use.
 */
export const compactSorted: (value: unknown) => string = canonicalJson;

/**
 * SHA-256 over the canonical texts of the values, one per line. Canonical texts hold no line breaks, so
 * different lists of values never give the same input.
 */
export function fingerprint(...values: unknown[]): Buffer {
  return hash("sha256", values.map(canonicalJson).join("\n"), "buffer");
}

function textOf(value: unknown, depth: number): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
      if (Number.isNaN(value)) break;
      if (Number.isFinite(value)) return String(value);
      return value > 0 ? "1e999" : "-1e999";
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      if (depth === JSON_DEPTH_MAX) throw new RangeError("the value is nested too deeply");
      return Array.isArray(value) ? arrayText(value, depth + 1) : objectText(value, depth + 1);
  }
  throw new TypeError(`a ${typeof value} has no canonical JSON text`);
}

function arrayText(items: unknown[], depth: number): string {
  let text = "[";
  for (let at = 0; at < items.length; at++) {
    if (at > 0) text += ",";
    text += textOf(items[at] ?? null, depth);
  }
  return `${text}]`;
}

function objectText(value: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError("only plain objects and arrays have a canonical JSON text");
  }
  let text = "";
  // Own members only: `__proto__` is a plain name here, and inherited members do not count.
  for (const name of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[name];
    if (member === undefined) continue;
    text += `${text === "" ? "{" : ","}${JSON.stringify(name)}:${textOf(member, depth)}`;
  }
  return text === "" ? "{}" : `${text}}`;
}
