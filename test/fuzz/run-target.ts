/** One target's run: inputs from its corpus, its own generator and mutations, until time is up. */
import { createHash } from "node:crypto";
import { mutate } from "./mutate.ts";
import { createRandom, type Random } from "./random.ts";

/** A consumer of outside input, and the property that must hold for every input. */
export type FuzzTarget = {
  readonly name: string;
  open(): Promise<OpenTarget>;
};

/** A target ready to be fed. */
export type OpenTarget = {
  /** Good inputs, from which the others are made. */
  readonly seeds: readonly Buffer[];
  /** An input made with knowledge of the format. */
  readonly generate?: (random: Random) => Buffer;
  /** Throws when something that must hold does not. */
  check(input: Buffer): void | Promise<void>;
  close(): Promise<void>;
};

/** An input that broke a promise. */
export type Failure = { readonly input: Buffer; readonly error: Error };

/** The result of a run. */
export type RunReport = {
  readonly runs: number;
  readonly elapsedMs: number;
  readonly failures: readonly Failure[];
};

/** The time limit per input; a longer one counts as a hang. */
const CHECK_MS = 10_000;
/** More of them say no more. */
const FAILURES_MAX = 5;
const SHRINK_TRIES = 300;

/** Runs a target on every input of `corpus` first, then on new ones while `goesOn` says so. */
export async function runTarget(
  target: OpenTarget,
  options: {
    readonly seed: string;
    readonly corpus: readonly Buffer[];
    readonly goesOn: (runs: number, elapsedMs: number) => boolean;
  },
): Promise<RunReport> {
  const random = createRandom(options.seed);
  const pool = [...target.seeds, ...options.corpus];
  const failures: Failure[] = [];
  const begunMs = performance.now();
  let runs = 0;
  const feed = async (input: Buffer): Promise<void> => {
    runs += 1;
    const error = await failureOf(target, input);
    if (error !== undefined) failures.push(await shrink(target, input, error));
  };
  for (const input of pool) await feed(input);
  const isLeft = () =>
    failures.length < FAILURES_MAX && options.goesOn(runs, performance.now() - begunMs);
  while (isLeft()) {
    const isNew = target.generate !== undefined && random.oneIn(2);
    const base = isNew ? target.generate?.(random) : undefined;
    // Half of the valid inputs are fed unchanged, half are mutated.
    if (base !== undefined && random.oneIn(2)) await feed(base);
    else await feed(mutate(base ?? random.pick(pool), random, pool));
  }
  return { runs, elapsedMs: performance.now() - begunMs, failures };
}

/** A name for an input in the corpus: the same input, the same name. */
export function nameOf(input: Buffer): string {
  return createHash("sha256").update(input).digest("hex").slice(0, 12);
}

async function failureOf(target: OpenTarget, input: Buffer): Promise<Error | undefined> {
  let timer: NodeJS.Timeout | undefined;
  let onCrash: (error: Error) => void = () => undefined;
  const begunMs = performance.now();
  // An uncaught error of the target's handlers would end a real process.
  const crash = new Promise<never>((_resolve, reject) => {
    onCrash = reject;
  });
  process.once("uncaughtException", onCrash);
  try {
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no end within ${CHECK_MS} ms`)), CHECK_MS);
    });
    await Promise.race([target.check(input), late, crash]);
    const tookMs = performance.now() - begunMs;
    return tookMs > CHECK_MS ? new Error(`took ${Math.round(tookMs)} ms`) : undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    clearTimeout(timer);
    process.removeListener("uncaughtException", onCrash);
  }
}

/** Shrinks a failing input: removes halves, quarters and so on while it still fails. */
async function shrink(target: OpenTarget, input: Buffer, error: Error): Promise<Failure> {
  let best = { input, error };
  let tries = 0;
  for (let size = input.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < best.input.length && tries < SHRINK_TRIES; ) {
      const less = Buffer.concat([best.input.subarray(0, at), best.input.subarray(at + size)]);
      tries += 1;
      const still = await failureOf(target, less);
      if (still?.message === best.error.message) best = { input: less, error: still };
      else at += size;
    }
  }
  return best;
}
