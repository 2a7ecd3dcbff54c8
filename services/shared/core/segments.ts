import { GSM7_SEPTETS } from "./gsm7.ts";

/** The encoding of a body: GSM 7-bit, or UCS-2 when a character is outside that alphabet. */
export type Encoding = "gsm7" | "ucs2";

/** The encoding and the number of segments of a body. */
export interface TextDescription {
  encoding: Encoding;
  segments: number;
}

/** A body cut into segments; joined they are the body. */
export interface TextSegments {
  encoding: Encoding;
  segments: string[];
}

/**
 * The capacity of a message, in septets or UTF-16 code units. The 140 bytes of a short message (3GPP TS 23.040
 * section 9.2.3.24) hold 160 septets or 70 code units; the six bytes of a concatenation header (section
 * 9.2.3.24.1) leave 153 or 67 to each segment of a longer one.
 */
const SEGMENT_ROOM = {
  gsm7: { single: 160, concatenated: 153 },
  ucs2: { single: 70, concatenated: 67 },
} as const;

const GSM7_SINGLE = SEGMENT_ROOM.gsm7.single;
const GSM7_CONCATENATED = SEGMENT_ROOM.gsm7.concatenated;
const UCS2_SINGLE = SEGMENT_ROOM.ucs2.single;
const UCS2_CONCATENATED = SEGMENT_ROOM.ucs2.concatenated;

// A body of default-alphabet characters is tested by the regular expression engine alone, which reads a string
// twice as fast as a loop over its code units.
const OUTSIDE_DEFAULT_ALPHABET = new RegExp(
  `[^${[...GSM7_SEPTETS.keys()]
    .filter((codeUnit) => GSM7_SEPTETS[codeUnit] === 1)
    .map((codeUnit) => `\\u${codeUnit.toString(16).padStart(4, "0")}`)
    .join("")}]`,
);

/**
 * The encoding of a body and its number of segments, exactly as `splitText` cuts it. Every message passes here,
 * so it reads the body at most twice and allocates no string. The empty body, which callers refuse earlier,
 * counts as one segment.
 */
export function describeText(body: string): TextDescription {
  if (!OUTSIDE_DEFAULT_ALPHABET.test(body)) {
    const isSingle = body.length <= GSM7_SINGLE;
    return {
      encoding: "gsm7",
      segments: isSingle ? 1 : Math.ceil(body.length / GSM7_CONCATENATED),
    };
  }
  const segments = countGsm7Segments(body);
  if (segments > 0) return { encoding: "gsm7", segments };
  return { encoding: "ucs2", segments: countUcs2Segments(body) };
}

/**
 * The body cut into full segments. An escape pair of an extension character and a surrogate pair stay together:
 * that segment is one septet or code unit shorter.
 */
export function splitText(body: string): TextSegments {
  const { encoding, segments: count } = describeText(body);
  if (count === 1) return { encoding, segments: [body] };
  const segmentEnd = encoding === "gsm7" ? gsm7SegmentEnd : ucs2SegmentEnd;
  const segments: string[] = [];
  for (let start = 0; start < body.length; ) {
    const end = segmentEnd(body, start);
    segments.push(body.slice(start, end));
    start = end;
  }
  return { encoding, segments };
}

/** The used and the free room in the last segment of a body, in septets or UTF-16 code units. */
export function lastSegmentRoom(body: string): { readonly used: number; readonly free: number } {
  const { encoding, segments } = splitText(body);
  const last = segments.at(-1) ?? "";
  const room = SEGMENT_ROOM[encoding][segments.length === 1 ? "single" : "concatenated"];
  const septets = () =>
    Array.from({ length: last.length }, (_, at) => GSM7_SEPTETS[last.charCodeAt(at)] ?? 0);
  const used = encoding === "ucs2" ? last.length : septets().reduce((sum, count) => sum + count, 0);
  return { used, free: room - used };
}

/** The characters of a body that are outside GSM 7-bit, in order of their first place, with all of their places. */
export function charactersOutsideGsm7(body: string): Map<string, number[]> {
  const found = new Map<string, number[]>();
  let place = 0;
  for (const character of body) {
    const isInside = character.length === 1 && GSM7_SEPTETS[character.charCodeAt(0)] !== 0;
    if (!isInside) found.set(character, [...(found.get(character) ?? []), place]);
    place += 1;
  }
  return found;
}

/** True when a UTF-16 surrogate has no partner: such a body is not valid text and cannot be sent. */
export function hasLoneSurrogate(body: string): boolean {
  return !body.isWellFormed();
}

/** Segments of a body in GSM 7-bit, or 0 when a character is outside it. */
function countGsm7Segments(body: string): number {
  let septets = 0;
  let used = 0;
  let segments = 1;
  for (let at = 0; at < body.length; at++) {
    const cost = GSM7_SEPTETS[body.charCodeAt(at)] as number;
    if (cost === 0) return 0;
    septets += cost;
    used += cost;
    if (used > GSM7_CONCATENATED) {
      segments++;
      used = cost;
    }
  }
  return septets <= GSM7_SINGLE ? 1 : segments;
}

function gsm7SegmentEnd(body: string, start: number): number {
  let used = 0;
  let at = start;
  while (at < body.length) {
    used += GSM7_SEPTETS[body.charCodeAt(at)] as number;
    if (used > GSM7_CONCATENATED) return at;
    at++;
  }
  return at;
}

function countUcs2Segments(body: string): number {
  if (body.length <= UCS2_SINGLE) return 1;
  let segments = 0;
  for (let at = 0; at < body.length; at = ucs2SegmentEnd(body, at)) segments++;
  return segments;
}

function ucs2SegmentEnd(body: string, start: number): number {
  const end = start + UCS2_CONCATENATED;
  if (end >= body.length) return body.length;
  const dividesPair =
    (body.charCodeAt(end - 1) & 0xfc00) === 0xd800 && (body.charCodeAt(end) & 0xfc00) === 0xdc00;
  return dividesPair ? end - 1 : end;
}
