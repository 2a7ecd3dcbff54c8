/**
 * Decides how much a throttling refusal says about the bind. A carrier may throttle one number, one sender or one
 * network with the same status as the whole bind.
 *
 * - A number that was refused before says nothing new until another submit was accepted.
 * - When a class (the numbers refused before, a sender, a prefix) is refused far more often than all other submits,
 *   the refusals of the class are about the class. A carrier that is too busy refuses all alike.
 * - While numbers that were refused before are refused far more often than fresh ones, refusals are about numbers, so
 *   the first refusal of a number counts a tenth.
 *
 * Counts decay, so old answers lose their weight. Everything is bounded.
 */
import { setRecent } from "../../shared/flow/lru.ts";
import type { RefusalCause } from "../domain/message.ts";

export type SubmitAddress = { readonly to: string; readonly from: string };

/** The cause of a refusal, and its weight for the rate of the bind, from 0 (none) to 1. */
export type RefusalResult = { readonly cause: RefusalCause; readonly weight: number };

export type RefusalEvidence = {
  accepted(address: SubmitAddress): void;
  refused(address: SubmitAddress): RefusalResult;
};

type Counts = { tries: number; refusals: number };

const NUMBERS_MAX = 10_000;
const CLASSES_MAX = 1000;
/** The plus and six digits name the country and the network of a recipient. */
const PREFIX_LENGTH = 7;
/** The weight of a count falls by half every 140 answers. */
const DECAY = 1 - 1 / 200;
const TRIES_MIN = 10;
/** Refusals are about a class when its refused share exceeds that of all other submits by this much. */
const DIFFERENCE_MIN = 0.35;
const LIKELY_NUMBER_WEIGHT = 0.1;
/** An accept after this many refusals shows that they were not about all submits. */
const RUN_MIN = 5;

export function createRefusalEvidence(): RefusalEvidence {
  /** Refused numbers, with the number of accepts at their last refusal. */
  const refusedNumbers = new Map<string, number>();
  const classes = new Map<string, Counts & { at: number }>();
  const all: Counts = { tries: 0, refusals: 0 };
  const again: Counts & { at: number } = { tries: 0, refusals: 0, at: 0 };
  let answers = 0;
  let accepts = 0;
  let run = 0;

  function classOf(key: string) {
    const known = classes.get(key) ?? { tries: 0, refusals: 0, at: answers };
    setRecent(classes, key, known, CLASSES_MAX);
    return known;
  }

  function add(counts: Counts & { at: number }, refusals: number): void {
    decay(counts, answers - counts.at);
    counts.at = answers;
    counts.tries += 1;
    counts.refusals += refusals;
  }

  function note({ to, from }: SubmitAddress, refusals: number): (Counts & { at: number })[] {
    answers += 1;
    decay(all, 1);
    all.tries += 1;
    all.refusals += refusals;
    const own = [classOf(`from ${from}`), classOf(`to ${to.slice(0, PREFIX_LENGTH)}`)];
    if (refusedNumbers.has(to)) own.push(again);
    for (const counts of own) add(counts, refusals);
    return own;
  }

  /** Whether a class is refused far more often than all other submits. */
  function isApart(counts: Counts & { at: number }): boolean {
    decay(counts, answers - counts.at);
    counts.at = answers;
    const rest = { tries: all.tries - counts.tries, refusals: all.refusals - counts.refusals };
    if (counts.tries < TRIES_MIN || rest.tries < TRIES_MIN) return false;
    return counts.refusals / counts.tries - rest.refusals / rest.tries >= DIFFERENCE_MIN;
  }

  /** Starts the counts again. */
  function forget(): void {
    classes.clear();
    for (const counts of [all, again]) Object.assign(counts, { tries: 0, refusals: 0 });
  }

  return {
    accepted(address) {
      accepts += 1;
      // Nothing was refused: the usual case needs no counts.
      if (refusedNumbers.size === 0) return;
      if (run >= RUN_MIN) forget();
      run = 0;
      note(address, 0);
      refusedNumbers.delete(address.to);
    },
    refused(address) {
      const own = note(address, 1);
      const acceptsBefore = refusedNumbers.get(address.to);
      setRecent(refusedNumbers, address.to, accepts, NUMBERS_MAX);
      if (own.some(isApart)) return { cause: "number", weight: 0 };
      if (acceptsBefore === accepts) return { cause: "unclear", weight: 0 };
      if (acceptsBefore === undefined) run += 1;
      if (isApart(again)) return { cause: "number", weight: LIKELY_NUMBER_WEIGHT };
      return { cause: "bind", weight: 1 };
    },
  };
}

function decay(counts: Counts, answers: number): void {
  if (answers === 0) return;
  const factor = DECAY ** answers;
  counts.tries *= factor;
  counts.refusals *= factor;
}
