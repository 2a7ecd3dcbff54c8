import { randomFillSync } from "node:crypto";
import { decodeTime, encodeTime, monotonicFactory } from "ulid";

/** The prefix of each kind of identifier (`docs/contract.md#requests`). */
export const ID_PREFIXES = {
  tenant: "ten_",
  apiKey: "key_",
  person: "usr_",
  session: "ses_",
  message: "msg_",
  send: "snd_",
  reservation: "rsv_",
  senderId: "sid_",
  campaign: "cmp_",
  inboundMessage: "inb_",
  inboundNumber: "inn_",
  event: "evt_",
  webhookEndpoint: "whe_",
  webhookDelivery: "whd_",
  entry: "led_",
  funding: "fnd_",
  route: "rte_",
  request: "req_",
  audit: "aud_",
  check: "chk_",
} as const;

/** A kind of resource with identifiers. */
export type IdKind = keyof typeof ID_PREFIXES;

/** Random bytes fetched at once: a system call for each byte costs more than the id itself. */
const pool = new Uint8Array(4096);
let used = pool.length;

/** A random number in [0, 1) in steps of 1/256; a character of an id uses 5 of its 8 bits. */
function randomFraction(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const fraction = (pool[used] as number) / 256;
  used += 1;
  return fraction;
}

const nextUlid = monotonicFactory(randomFraction);

/**
 * Creates an identifier: prefix and ULID, strictly increasing within this process even when the clock stops or
 * steps back (the factory keeps the highest time it has seen).
 */
export function newId(kind: IdKind, nowMs?: number): string {
  return ID_PREFIXES[kind] + nextUlid(nowMs);
}

const ULID_TEXT = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** True for a ULID, the part of an identifier after its prefix. */
export function isUlid(text: string): boolean {
  return ULID_TEXT.test(text);
}

/** True for a well-formed identifier of that kind. */
export function isId(kind: IdKind, text: string): boolean {
  const prefix = ID_PREFIXES[kind];
  return (
    text.length === prefix.length + 26 &&
    text.startsWith(prefix) &&
    isUlid(text.slice(prefix.length))
  );
}

/** The instant inside an identifier, in milliseconds since the Unix epoch. */
export function idTimeMs(id: string): number {
  return decodeTime(id.slice(-26));
}

/** The last instant that an identifier can hold, in milliseconds: a ULID has 48 bits for it. */
export const ID_TIME_MAX_MS = 2 ** 48 - 1;

/** The lowest identifier of a kind at an instant, clamped to the range of a ULID; for range queries. */
export function lowestIdAt(kind: IdKind, atMs: number): string {
  // Not `ulid(atMs)`, which takes the instant 0 as the present.
  const time = encodeTime(Math.min(ID_TIME_MAX_MS, Math.max(0, Math.trunc(atMs))), 10);
  return `${ID_PREFIXES[kind]}${time}0000000000000000`;
}
