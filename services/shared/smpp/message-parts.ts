import { type Charset, DATA_CODING, encodeText, unitsOf } from "./charset.ts";
import { EncodeError } from "./errors.ts";
import type { Tlvs } from "./tlvs.ts";
import { concatenationHeader, HAS_HEADER } from "./user-data-header.ts";

/** How a message of several segments is sent. */
export type Concatenator = "udh8" | "udh16" | "sar" | "payload";

/** The content of one submit_sm. */
export interface MessagePart {
  esmClass: number;
  dataCoding: number;
  shortMessage: Buffer;
  tlvs: Tlvs | undefined;
}

/** A message with the settings of the connector. */
export interface MessageToSplit {
  /** The segment texts in order; joined they are the body. */
  segments: readonly string[];
  encoding: "gsm7" | "ucs2";
  /** The character set of the SMSC for `gsm7` text; `gsm7` by default. */
  charset?: Exclude<Charset, "ucs2">;
  /** The data_coding of that text, when the SMSC expects an unusual one. */
  dataCoding?: number;
  /** `udh8` by default. */
  concatenator?: Concatenator;
  /** The concatenation reference; taken modulo 256 or 65536. */
  reference: number;
}

/** Room for text beside a concatenation header, in units of each alphabet. */
const ROOM = {
  gsm7: { udh8: 153, udh16: 152 },
  ucs2: { udh8: 67, udh16: 66 },
} as const;
const ROOM_SINGLE = { gsm7: 160, ucs2: 70 } as const;
const PARTS_MAX = 255;

/**
 * Splits a message into parts, one per submit. Characters never change: text outside the connector's charset is sent as
 * UCS-2. Such text, and segments without room for the seven octets of a 16-bit reference, are split again, so the
 * number of parts may differ from the number of segments. Throws EncodeError when the message needs more than 255
 * parts, or 65,535 octets as one payload.
 */
export function splitMessage(message: MessageToSplit): MessagePart[] {
  const concatenator = message.concatenator ?? "udh8";
  const body = message.segments.join("");
  const preferred = message.encoding === "ucs2" ? "ucs2" : (message.charset ?? "gsm7");
  const isFit = preferred === "ucs2" || encodeText(body, preferred) !== undefined;
  const charset = isFit ? preferred : "ucs2";
  const dataCoding =
    charset === "ucs2" ? DATA_CODING.ucs2 : (message.dataCoding ?? DATA_CODING[charset]);
  if (concatenator === "payload") {
    return [payloadPart(body, charset, dataCoding)];
  }
  const texts = isFit
    ? fitSegments(message.segments, charset, concatenator)
    : cut(body, "ucs2", ROOM.ucs2[concatenator === "udh16" ? "udh16" : "udh8"]);
  if (texts.length > PARTS_MAX) throw new EncodeError("segments", "are more than 255");
  return texts.map((text, index) => {
    const octets = encode(text, charset);
    if (texts.length === 1) {
      return { esmClass: 0, dataCoding, shortMessage: octets, tlvs: undefined };
    }
    const place = { reference: message.reference, total: texts.length, sequence: index + 1 };
    if (concatenator === "sar") {
      const tlvs: Tlvs = {
        sarMsgRefNum: place.reference & 0xffff,
        sarTotalSegments: place.total,
        sarSegmentSeqnum: place.sequence,
      };
      return { esmClass: 0, dataCoding, shortMessage: octets, tlvs };
    }
    const header = concatenationHeader(place, concatenator === "udh8" ? 8 : 16);
    const shortMessage = Buffer.concat([header, octets]);
    return { esmClass: HAS_HEADER, dataCoding, shortMessage, tlvs: undefined };
  });
}

function payloadPart(body: string, charset: Charset, dataCoding: number): MessagePart {
  const octets = encode(body, charset);
  if (fitsAlone(body, charset)) {
    return { esmClass: 0, dataCoding, shortMessage: octets, tlvs: undefined };
  }
  if (octets.length > 65535) throw new EncodeError("messagePayload", "is longer than 65535 octets");
  return {
    esmClass: 0,
    dataCoding,
    shortMessage: Buffer.alloc(0),
    tlvs: { messagePayload: octets },
  };
}

function fitSegments(
  segments: readonly string[],
  charset: Charset,
  concatenator: "udh8" | "udh16" | "sar",
): readonly string[] {
  const alphabet = charset === "ucs2" ? "ucs2" : "gsm7";
  if (segments.length === 1 && fitsAlone(segments[0] as string, charset)) return segments;
  const room = ROOM[alphabet][concatenator === "udh16" ? "udh16" : "udh8"];
  if (segments.every((text) => unitsIn(text, charset) <= room)) return segments;
  return cut(segments.join(""), charset, room);
}

/** Whether a text fits in one part; one segment of another alphabet may need two parts in this one. */
function fitsAlone(text: string, charset: Charset): boolean {
  return unitsIn(text, charset) <= ROOM_SINGLE[charset === "ucs2" ? "ucs2" : "gsm7"];
}

function unitsIn(text: string, charset: Charset): number {
  if (charset === "ucs2") return text.length;
  let units = 0;
  for (let i = 0; i < text.length; i++) units += unitsOf(text.charCodeAt(i), charset);
  return units;
}

/** Splits text into pieces of at most `room` units, never inside an escape sequence or a surrogate pair. */
function cut(text: string, charset: Charset, room: number): string[] {
  if (fitsAlone(text, charset)) return [text];
  const pieces: string[] = [];
  let start = 0;
  let units = 0;
  let at = 0;
  while (at < text.length) {
    const isPair =
      (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
    const width = isPair ? 2 : 1;
    const cost = isPair ? 2 : unitsOf(text.charCodeAt(at), charset);
    if (units + cost > room) {
      pieces.push(text.slice(start, at));
      start = at;
      units = 0;
    }
    units += cost;
    at += width;
  }
  pieces.push(text.slice(start));
  return pieces;
}

function encode(text: string, charset: Charset): Buffer {
  const octets = encodeText(text, charset);
  if (octets === undefined) throw new EncodeError("text", `is not ${charset}`);
  return octets;
}
