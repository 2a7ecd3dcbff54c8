import { type Charset, encodeText } from "../../shared/smpp/charset.ts";
import type { Concatenator } from "../../shared/smpp/message-parts.ts";
import { ControlError, number, objectOf, oneOf } from "./parse-behaviour.ts";

/** A message from a handset, or a burst of them: the body of `POST /mo`. */
export interface HandsetMessage {
  source: string;
  destination: string;
  /** `{n}` stands for the number of the message in its burst, from 0. */
  text: string;
  /** The ESME that gets it; when absent every bound ESME that receives. */
  systemId: string | undefined;
  /** The alphabet; when absent GSM 7-bit, or UCS-2 for other characters. */
  encoding: Charset | undefined;
  concatenation: Concatenator;
  /** Which parts arrive, in this order, from 1; all of them when absent. */
  parts: readonly number[] | undefined;
  /** How many messages the burst has; they come from `handsets` consecutive numbers. */
  count: number;
  handsets: number;
  /** Messages a second in a burst; 0 sends all at once. */
  ratePerSecond: number;
  /** The URL to which an HTTP carrier posts the message; sent over SMPP when absent. */
  url: string | undefined;
}

const TEXT_MAX = 1600;
const BURST_MAX = 50_000;
const PARTS_MAX = 255;
const ENCODINGS = ["gsm7", "latin1", "ucs2"] as const;
const CONCATENATIONS = ["udh8", "udh16", "sar", "payload"] as const;
const MEMBERS: ReadonlySet<string> = new Set([
  ...["source", "destination", "text", "system_id", "encoding", "concatenation", "parts"],
  ...["count", "handsets", "rate_per_second", "url"],
]);

/** Reads the body of `POST /mo`. Throws ControlError. */
export function parseHandsetMessage(input: unknown): HandsetMessage {
  const json = objectOf(input, "body");
  for (const name of Object.keys(json)) {
    if (!MEMBERS.has(name)) throw new ControlError(`${name} is not known`);
  }
  const { source, destination, text } = json;
  if (typeof source !== "string" || !/^\+?[0-9]{3,20}$/.test(source)) {
    throw new ControlError("source must be a number");
  }
  if (typeof destination !== "string" || !/^[\x21-\x7e]{1,20}$/.test(destination)) {
    throw new ControlError("destination must be 1 to 20 printable characters");
  }
  if (typeof text !== "string" || text.length === 0 || text.length > TEXT_MAX) {
    throw new ControlError(`text must be 1 to ${TEXT_MAX} characters`);
  }
  const encoding =
    json.encoding === undefined ? undefined : oneOf(json.encoding, "encoding", ENCODINGS);
  if (encoding !== undefined && encodeText(text, encoding) === undefined) {
    throw new ControlError(`text has characters outside of ${encoding}`);
  }
  const count = optionalNumber(json.count, "count", 1, BURST_MAX) ?? 1;
  return {
    ...{ source, destination, text, encoding, count },
    systemId: optionalText(json.system_id, "system_id"),
    concatenation: oneOf(json.concatenation ?? "udh8", "concatenation", CONCATENATIONS),
    parts: json.parts === undefined ? undefined : parseParts(json.parts),
    handsets: optionalNumber(json.handsets, "handsets", 1, BURST_MAX) ?? count,
    ratePerSecond: number(json.rate_per_second ?? 0, "rate_per_second", 0, 10_000),
    url: parseUrl(json.url),
  };
}

/** The messages of a burst, with their numbers and the time of each after the first. */
export function* messagesOf(burst: HandsetMessage) {
  const { source, text, handsets, ratePerSecond } = burst;
  const plus = source.startsWith("+") ? "+" : "";
  const digits = source.slice(plus.length);
  for (let at = 0; at < burst.count; at += 1) {
    const next = String(BigInt(digits) + BigInt(at % handsets)).padStart(digits.length, "0");
    yield {
      source: `${plus}${next}`,
      text: text.replaceAll("{n}", String(at)),
      afterMs: ratePerSecond === 0 ? 0 : (1000 * at) / ratePerSecond,
    };
  }
}

/** The parts that arrive, in their order. */
export function arriving<Part>(parts: readonly Part[], wanted: HandsetMessage["parts"]): Part[] {
  return wanted === undefined ? [...parts] : wanted.flatMap((place) => parts[place - 1] ?? []);
}

function optionalText(value: unknown, name: string): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw new ControlError(`${name} must be text`);
}

function optionalNumber(value: unknown, name: string, min: number, max: number) {
  if (value === undefined) return undefined;
  if (!Number.isInteger(value)) throw new ControlError(`${name} must be a whole number`);
  return number(value, name, min, max);
}

function parseParts(value: unknown): number[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > PARTS_MAX) {
    throw new ControlError(`parts must be a list of 1 to ${PARTS_MAX} numbers`);
  }
  return value.map((place, at) => optionalNumber(place, `parts[${at}]`, 1, PARTS_MAX) ?? 1);
}

function parseUrl(value: unknown): string | undefined {
  const text = optionalText(value, "url");
  if (text === undefined) return undefined;
  if (URL.parse(text)?.protocol === "http:") return text;
  throw new ControlError("url must be an http URL");
}
