/** What one pass over JSON text tells before it is parsed. */
export type JsonPrescan = {
  /** How deep objects and arrays nest. */
  readonly depth: number;
  /** Members of all objects, repeated names counted each time. */
  readonly members: number;
  /** Commas between members and between items: with `members` a bound of how much there is to check. */
  readonly commas: number;
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;

/**
 * Measures UTF-8 JSON text without parsing it: four mebibytes of opening brackets would cost a
 * parser seconds and hundreds of megabytes. Of text that is not JSON it only promises an answer.
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
    // The brackets and braces differ from one another in bit 0x20 only.
    else if ((byte | 0x20) === 0x7b) {
      if (++depth > deepest) deepest = depth;
    } else if ((byte | 0x20) === 0x7d) depth--;
  }
  return { depth: deepest, members, commas };
}

/** Members of all objects of a parsed value; fewer than its text had when a name came twice. */
export function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) members += countMembers(item);
    return members;
  }
  // A member named __proto__ is an own member here, like any other.
  for (const name of Object.keys(value)) {
    members += 1 + countMembers((value as Record<string, unknown>)[name]);
  }
  return members;
}
