import type { EndToEnd, Load } from "./end-to-end.ts";

/** A system that is driven at a rate until all that was sent has come to its end. */
export type Driven = (load: Load) => Promise<EndToEnd>;

/** A run at one rate. */
export type Run = {
  /** Messages a second. */
  readonly offered: number;
  readonly isHeld: boolean;
};

/** The results of a system at rising rates. */
export type RateSearch = {
  /** The highest rate that was held, in messages a second; 0 where none was. */
  readonly perSecond: number;
  readonly acceptP99Ms: number;
  readonly runs: readonly (Run & EndToEnd)[];
};

/** Long enough that a rate a tenth too high leaves more behind than `TAIL_S` lets pass. */
const RUN_S = 15;
const TAIL_S = 1;
const FIRST_RATE = 600;
const LEAST_RATE = 50;
const STEP = 1.1;
/** A rate that was not held may have hit a busy moment of the machine. */
const TRIES = 2;

/**
 * The highest steady rate at which each system brings messages to their end as fast as they come.
 * Systems take turns, so that what else the machine does meets all of them.
 */
export async function searchHighestRate<Name extends string>(
  systems: Readonly<Record<Name, Driven>>,
): Promise<Readonly<Record<Name, RateSearch>>> {
  const names = Object.keys(systems) as Name[];
  const runs = new Map<Name, (Run & EndToEnd)[]>(names.map((name) => [name, []]));
  const searching = new Set(names);
  while (searching.size > 0) {
    for (const name of searching) {
      const before = runs.get(name) ?? [];
      const offered = nextRate(before);
      if (offered === undefined) {
        searching.delete(name);
        continue;
      }
      const measured = await systems[name]({ perSecond: offered, seconds: RUN_S });
      const run = { ...measured, offered, isHeld: isHeld(measured) };
      before.push(run);
      process.stdout.write(`${name}: ${describe(run)}\n`);
    }
  }
  const results = names.map((name) => [name, searchResult(runs.get(name) ?? [])] as const);
  return Object.fromEntries(results) as Record<Name, RateSearch>;
}

/**
 * The rate to try after these runs: a tenth more than what was held, again what was not, and half
 * of it where nothing was held yet. Undefined at the top. What failed before the first that was held
 * bounds nothing: the machine was busy, or the system cold.
 */
export function nextRate(runs: readonly Run[]): number | undefined {
  const last = runs.at(-1);
  if (last === undefined) return FIRST_RATE;
  if (last.isHeld) return Math.round(last.offered * STEP);
  const sinceHeld = runs.slice(runs.findLastIndex(({ isHeld }) => isHeld) + 1);
  if (sinceHeld.filter(({ offered }) => offered === last.offered).length < TRIES) {
    return last.offered;
  }
  if (runs.some(({ isHeld }) => isHeld)) return undefined;
  const lower = Math.round(last.offered / 2);
  return lower < LEAST_RATE ? undefined : lower;
}

function isHeld({ done, wanted, refused, tailS }: EndToEnd): boolean {
  return refused === 0 && done === wanted && tailS <= TAIL_S;
}

function searchResult(runs: readonly (Run & EndToEnd)[]): RateSearch {
  const best = runs.findLast((run) => run.isHeld);
  return { perSecond: best?.offered ?? 0, acceptP99Ms: best?.acceptP99Ms ?? 0, runs };
}

function describe({ offered, isHeld, tailS, acceptP99Ms }: Run & EndToEnd): string {
  const verdict = isHeld ? "held" : "not held";
  const rest = `the last ended ${tailS.toFixed(1)} s after it could`;
  return `${offered}/s ${verdict}, ${rest}, accept p99 ${acceptP99Ms.toFixed(0)} ms`;
}
