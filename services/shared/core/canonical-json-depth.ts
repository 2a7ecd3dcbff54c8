/** How deep objects and arrays may nest; no request of the contract needs more than three. */
export const JSON_DEPTH_MAX = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * True when UTF-8 JSON text nests deeper than so many objects and arrays. To be asked before
 * parsing: four mebibytes of opening brackets cost a parser seconds and hundreds of megabytes,
 * and this scan milliseconds and nothing. Of text that is not JSON it only promises an answer.
 */
export function exceedsJsonDepth(json: Uint8Array, depthMax: number = JSON_DEPTH_MAX): boolean {
  // Each level takes two brackets, so a short text needs no scan unless it is broken.
  if (json.length < 2 * depthMax) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number;
    if (byte === QUOTE) {
      for (at++; at < json.length && json[at] !== QUOTE; at++) if (json[at] === BACKSLASH) at++;
      // The brackets and braces differ from one another in bit 0x20 only.
    } else if ((byte | 0x20) === 0x7b) {
      if (++depth > depthMax) return true;
    } else if ((byte | 0x20) === 0x7d) depth--;
  }
  return false;
}
