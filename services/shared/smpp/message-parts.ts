import { type Charset, DATA_CODING, encodeText, unitsOf } from "./charset.ts";
import { EncodeError } from "./errors.ts";
import type { Tlvs } from "./tlvs.ts";
import { concatenationHeader } from "./user-data-header.ts";

/** How a message of several segments is told to the SMSC. */
export type Concatenator = "udh8" | "udh16" | "sar" | "payload";

/** What one submit_sm carries of a message. */
export interface MessagePart {
  esmClass: number;
  dataCoding: number;
  shortMessage: Buffer;
  tlvs: Tlvs | undefined;
}

/** A message to put on the wire, with the settings of the connector. */
export interface MessageToSplit {
  /** The segment texts in order; joined they are the body. */
  segments: readonly string[];
  encoding: "gsm7" | "ucs2";
  /** How the SMSC wants text whose encoding is `gsm7`; `gsm7` by default. */
  charset?: Exclude<Charset, "ucs2">;
  /** data_coding for that text where the SMSC expects another than usual. */
  dataCoding?: number;
  /** `udh8` by default. */
  concatenator?: Concatenator;
  /** The number that ties segments together; taken modulo 256 or 65536. */
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
 * Turns a message into what goes into its submits, one per part. Characters are never changed: text
 * that the connector's charset lacks goes as UCS-2, then cut anew, and so does text whose segments have
 * no room for the seven octets of a 16-bit reference; the number of parts may then differ from the
 * number of segments. Throws EncodeError when the message needs more than 255 parts, or 65,535 octets
 * as one payload.
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
    return { esmClass: 0x40, dataCoding, shortMessage, tlvs: undefined };
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

/** Whether a text needs no second part; one segment of another alphabet may need two of this one. */
function fitsAlone(text: string, charset: Charset): boolean {
  return unitsIn(text, charset) <= ROOM_SINGLE[charset === "ucs2" ? "ucs2" : "gsm7"];
}

function unitsIn(text: string, charset: Charset): number {
  if (charset === "ucs2") return text.length;
  let units = 0;
  for (let i = 0; i < text.length; i++) units += unitsOf(text.charCodeAt(i), charset);
  return units;
}

/** Cuts text into pieces of at most `room` units; no escape and no surrogate pair is cut through. */
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
