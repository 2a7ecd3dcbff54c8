import type { Clock } from "../core/clock.ts";
import { setRecent } from "./lru.ts";
import { runDetached } from "./run-detached.ts";

/** Facts of other services, kept for a short time. */
export type RefreshAheadCache<Value> = {
  /** The fact, at once when it is known; a promise while it has to be asked for. */
  get(key: string): Value | Promise<Value>;
  /** Forgets what was known, and what is just being asked, of the keys a test picks. */
  forget(isMeant: (key: string) => boolean): void;
};

type Fact<Value> = { readonly value: Value; readonly askedAtMs: number };

/**
 * Makes a cache whose answers are never older than `maxAgeMs`. From half that age on, a fact in
 * use is asked again in the background, so that busy keys never wait. Many callers that miss the
 * same key share one question. A failed question is not remembered.
 */
export function createFactCache<Value>(options: {
  readonly maxAgeMs: number;
  readonly sizeMax: number;
  readonly clock: Clock;
  readonly load: (key: string) => Promise<Value>;
}): RefreshAheadCache<Value> {
  const { maxAgeMs, sizeMax, clock, load } = options;
  const facts = new Map<string, Fact<Value>>();
  const questions = new Map<string, Promise<Value>>();

  function ask(key: string): Promise<Value> {
    const pending = questions.get(key);
    if (pending !== undefined) return pending;
    // An answer is as old as its question: it may have been given before a change was made.
    const askedAtMs = clock.now();
    const question: Promise<Value> = runDetached(() => load(key)).then(
      (value) => {
        if (questions.get(key) === question) {
          questions.delete(key);
          remember(key, { value, askedAtMs });
        }
        return value;
      },
      (error: unknown) => {
        if (questions.get(key) === question) questions.delete(key);
        throw error;
      },
    );
    questions.set(key, question);
    return question;
  }

  function remember(key: string, fact: Fact<Value>): void {
    setRecent(facts, key, fact, sizeMax);
  }

  return {
    get(key) {
      const fact = facts.get(key);
      // A clock that was set back says nothing about how old an answer is.
      const elapsedMs =
        fact === undefined ? Number.POSITIVE_INFINITY : clock.now() - fact.askedAtMs;
      const ageMs = elapsedMs < 0 ? Number.POSITIVE_INFINITY : elapsedMs;
      if (fact === undefined || ageMs >= maxAgeMs) return ask(key);
      if (ageMs >= maxAgeMs / 2) ask(key).catch(() => undefined);
      return fact.value;
    },
    forget(isMeant) {
      for (const key of facts.keys()) if (isMeant(key)) facts.delete(key);
      for (const key of questions.keys()) if (isMeant(key)) questions.delete(key);
    },
  };
}
