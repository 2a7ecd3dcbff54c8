import { evictOldest } from "../../shared/flow/lru.ts";

/** message_state of query_sm_resp, SMPP 3.4 section 5.2.28. */
const STATES = { enroute: 1, delivered: 2, expired: 3, undelivered: 5 } as const;

interface Stored {
  /** What becomes of the message and when, in order. */
  ends: { state: keyof typeof STATES; atMs: number }[];
}

/** The lowest id; its hexadecimal form begins with a letter, so it never reads as a decimal. */
const FIRST_ID = 0xf0000000000;
const SPREAD = 0x10000000000;

/** Remembers the latest messages for query_sm and gives out message ids. Bounded by `messagesMax`. */
export class MessageStore {
  readonly #messagesMax: number;
  readonly #messages = new Map<string, Stored>();
  /** Begins where the clock is, so that ids of an earlier run do not come again soon. */
  #next = (Date.now() * 100) % SPREAD;

  constructor(messagesMax = 100_000) {
    this.#messagesMax = messagesMax;
  }

  /** Returns a new id: eleven lower-case hexadecimal digits, the first of them a letter. */
  nextId(): string {
    this.#next = (this.#next + 1) % SPREAD;
    return (FIRST_ID + this.#next).toString(16);
  }

  add(messageId: string): void {
    this.#messages.set(messageId, { ends: [] });
    evictOldest(this.#messages, this.#messagesMax);
  }

  /** Notes what will become of a message. */
  note(messageId: string, state: "delivered" | "undelivered" | "expired", atMs: number): void {
    this.#messages.get(messageId)?.ends.push({ state, atMs });
  }

  /** Returns the state of a message as query_sm_resp tells it, or undefined when it is not known. */
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
