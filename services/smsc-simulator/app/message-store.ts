import { evictOldest, setRecent } from "../../shared/flow/lru.ts";

/** message_state of query_sm_resp, SMPP 3.4 section 5.2.28. */
const STATES = { enroute: 1, delivered: 2, expired: 3, undelivered: 5 } as const;

interface Stored {
  /** The states of the message and their times, in order. */
  ends: { state: keyof typeof STATES; atMs: number }[];
}

/** The lowest id; its hexadecimal form begins with a letter, so it never reads as a decimal. */
const FIRST_ID = 0xf0000000000;
const SPREAD = 0x10000000000;
/** The id of every submit, for a carrier that uses one id only. */
export const CONSTANT_ID = FIRST_ID.toString(16);
/** Long messages whose id is kept for their other parts. */
const SHARED_MAX = 10_000;

/** Creates message ids and keeps the latest `messagesMax` messages for query_sm. */
export class MessageStore {
  readonly #messagesMax: number;
  readonly #messages = new Map<string, Stored>();
  readonly #shared = new Map<string, string>();
  /** Starts at the time of day, so that ids of an earlier run do not repeat soon. */
  #next = (Date.now() * 100) % SPREAD;

  constructor(messagesMax = 100_000) {
    this.#messagesMax = messagesMax;
  }

  /** Returns a new id: eleven lower-case hexadecimal digits, the first of them a letter. */
  nextId(): string {
    this.#next = (this.#next + 1) % SPREAD;
    return (FIRST_ID + this.#next).toString(16);
  }

  /** The id that all parts of a message share; `message` names it and its sender. */
  sharedId(message: string): string {
    const messageId = this.#shared.get(message) ?? this.nextId();
    setRecent(this.#shared, message, messageId, SHARED_MAX);
    return messageId;
  }

  add(messageId: string): void {
    this.#messages.set(messageId, { ends: [] });
    evictOldest(this.#messages, this.#messagesMax);
  }

  /** Records a later state of a message. */
  note(messageId: string, state: "delivered" | "undelivered" | "expired", atMs: number): void {
    this.#messages.get(messageId)?.ends.push({ state, atMs });
  }

  /** The state of a message for query_sm_resp; undefined when the message is unknown. */
  query(
    messageId: string,
    nowMs: number,
  ): { state: number; finalAt: Date | undefined } | undefined {
    const stored = this.#messages.get(messageId.toLowerCase());
    if (stored === undefined) return undefined;
    const end = stored.ends.findLast(({ atMs }) => atMs <= nowMs);
    if (end === undefined) return { state: STATES.enroute, finalAt: undefined };
    return { state: STATES[end.state], finalAt: new Date(end.atMs) };
  }
}
