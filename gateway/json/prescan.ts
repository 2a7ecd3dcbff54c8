import { JSON_DEPTH_MAX } from "../../services/shared/core/canonical-json-depth.ts";

/** The measures of a JSON text, from one pass before it is parsed. */
export type JsonPrescan = {
  /** Maximum nesting of objects and arrays. */
  readonly depth: number;
  /** Objects and arrays. */
  readonly containers: number;
  /** Members of all objects; a duplicate name counts each time. */
  readonly members: number;
  /** Members of the largest object. */
  readonly objectMembers: number;
  /** Commas between members and items. Together with `members` they bound the work of validation. */
  readonly commas: number;
  /** Whether a bound was exceeded: the pass ended there, and the other measures are of the text so far. */
  readonly isOver: boolean;
};

/** Upper bounds of the measures. */
export type JsonBounds = Readonly<
  Record<"depth" | "containers" | "members" | "objectMembers" | "commas", number>
>;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;

/**
 * Members of the open objects, by depth. Each object resets its count, so one array serves all scans. Index 0
 * counts colons outside of objects, which no JSON has.
 */
const openMembers = new Uint32Array(JSON_DEPTH_MAX + 2);

/** Characters of a string that are scanned in JavaScript, which is faster for short ones than a native search. */
const SHORT_CHARS = 64;

/**
 * Measures UTF-8 JSON text without parsing it, up to the first exceeded bound: 4 MiB of brackets or of names would
 * cost a parser half a second and hundreds of megabytes. It never fails; for text that is not JSON the numbers
 * mean nothing.
 */
export function prescanJson(json: Buffer, bounds: JsonBounds): JsonPrescan {
  let depth = 0;
  let deepest = 0;
  let containers = 0;
  let members = 0;
  let objectMembers = 0;
  let commas = 0;
  let isOver = false;
  openMembers[0] = 0;
  for (let at = 0; at < json.length && !isOver; at++) {
    const byte = json[at] as number;
    if (byte === QUOTE) at = endOfString(json, at + 1);
    else if (byte === COLON) {
      const own = (openMembers[depth] ?? 0) + 1;
      openMembers[depth] = own;
      if (own > objectMembers) objectMembers = own;
      isOver = ++members > bounds.members || own > bounds.objectMembers;
    } else if (byte === COMMA) isOver = ++commas > bounds.commas;
    // Brackets and braces differ in bit 0x20 only.
    else if ((byte | 0x20) === 0x7b) {
      if (++depth > deepest) deepest = depth;
      openMembers[depth] = 0;
      isOver = ++containers > bounds.containers || depth > bounds.depth;
    } else if ((byte | 0x20) === 0x7d && depth > 0) depth--;
  }
  return { depth: deepest, containers, members, objectMembers, commas, isOver };
}

/** The position of the quote that ends the string, or the end of the text. */
function endOfString(json: Buffer, start: number): number {
  let at = start;
  for (;;) {
    for (const shortEnd = at + SHORT_CHARS; at < shortEnd; at++) {
      if (at >= json.length || json[at] === QUOTE) return at;
      if (json[at] === BACKSLASH) at++;
    }
    const quote = json.indexOf(QUOTE, at);
    if (quote < 0) return json.length;
    // An odd number of backslashes escapes the quote. Each run of them is counted once, so the scan stays linear.
    let backslash = quote - 1;
    while (backslash >= at && json[backslash] === BACKSLASH) backslash--;
    if ((quote - 1 - backslash) % 2 === 0) return quote;
    at = quote + 1;
  }
}

/** Counts the members of all objects of a parsed value. Fewer than in its text means a duplicate name. */
export function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) members += countMembers(item);
    return members;
  }
  // JSON.parse makes `__proto__` an own member like any other.
  for (const name of Object.keys(value)) {
    members += 1 + countMembers((value as Record<string, unknown>)[name]);
  }
  return members;
}
