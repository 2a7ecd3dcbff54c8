/** The measures of a JSON text, from one pass before it is parsed. */
export type JsonPrescan = {
  /** Maximum nesting of objects and arrays. */
  readonly depth: number;
  /** Members of all objects; a duplicate name counts each time. */
  readonly members: number;
  /** Commas between members and items. Together with `members` they bound the work of validation. */
  readonly commas: number;
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;

/**
 * Measures UTF-8 JSON text without parsing it: 4 MiB of opening brackets would cost a parser seconds and
 * hundreds of megabytes. It never fails; for text that is not JSON the numbers mean nothing.
 */
export function prescanJson(json: Uint8Array): JsonPrescan {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let commas = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number;
    if (byte === QUOTE) {
      for (at++; at < json.length && json[at] !== QUOTE; at++) if (json[at] === BACKSLASH) at++;
    } else if (byte === COLON) members++;
    else if (byte === COMMA) commas++;
    // Brackets and braces differ in bit 0x20 only.
    else if ((byte | 0x20) === 0x7b) {
      if (++depth > deepest) deepest = depth;
    } else if ((byte | 0x20) === 0x7d) depth--;
  }
  return { depth: deepest, members, commas };
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
