/** The words by which a handset opts out, opts in or asks for help. */
import type { FieldError } from "../../shared/core/errors.ts";
import { hasLoneSurrogate } from "../../shared/core/segments.ts";
import type { InboundAction } from "./inbound.ts";

/** A tenant's own words and replies, in addition to the common ones. */
export type Keywords = {
  readonly optOut: readonly string[];
  readonly optIn: readonly string[];
  readonly help: readonly string[];
  /** The reply to each action; empty sends nothing. A number gets at most one reply in 24 hours. */
  readonly replies: Readonly<Record<InboundAction, string>>;
};

/** No words and replies of its own. */
export const NO_KEYWORDS: Keywords = Object.freeze({
  optOut: [],
  optIn: [],
  help: [],
  replies: { opt_out: "", opt_in: "", help: "" },
});

/** The word that opts out of every sender ID of the tenant. */
const STOP_ALL = "STOPALL";

/** The words that every tenant has (CTIA Messaging Principles and Best Practices, section 5.1.3). */
const COMMON: Readonly<Record<InboundAction, readonly string[]>> = {
  opt_out: ["STOP", STOP_ALL, "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "OPTOUT"],
  opt_in: ["START", "UNSTOP"],
  help: ["HELP"],
};

const WORDS_MAX = 50;
const WORD_CHARS_MAX = 40;
const REPLY_CHARS_MAX = 1530;

/** The action of a whole text: the exact word, in any case. */
export function actionOf(text: string, own: Keywords): InboundAction | undefined {
  const word = text.trim().toUpperCase();
  if (word === "") return undefined;
  const has = (action: InboundAction, words: readonly string[]) =>
    COMMON[action].includes(word) || words.some((one) => one.toUpperCase() === word);
  if (has("opt_out", own.optOut)) return "opt_out";
  if (has("opt_in", own.optIn)) return "opt_in";
  return has("help", own.help) ? "help" : undefined;
}

/** True when the word opts out of every sender ID of the tenant. */
export function isForAll(text: string): boolean {
  return text.trim().toUpperCase() === STOP_ALL;
}

/** Every wrong field of a tenant's words. */
export function keywordFaults(keywords: Keywords): FieldError[] {
  const faults: FieldError[] = [];
  const add = (field: string, code: string, message: string) =>
    void faults.push({ field, code, message });
  const lists = { opt_out: keywords.optOut, opt_in: keywords.optIn, help: keywords.help };
  for (const [field, words] of Object.entries(lists)) {
    if (words.length > WORDS_MAX) add(field, "too_many", `At most ${WORDS_MAX} words.`);
    const isWrong = (word: string) =>
      word.trim() === "" || word.length > WORD_CHARS_MAX || hasLoneSurrogate(word);
    if (words.some(isWrong)) {
      add(field, "invalid_value", `A word has 1 to ${WORD_CHARS_MAX} characters.`);
    }
  }
  for (const [action, reply] of Object.entries(keywords.replies)) {
    if (reply.length > REPLY_CHARS_MAX || hasLoneSurrogate(reply)) {
      add(`${action}_reply`, "too_long", `A reply has at most ${REPLY_CHARS_MAX} characters.`);
    }
  }
  return faults;
}
