import type { Clients } from "../calls/clients.ts";

/** One breach of an invariant of the design, by its number there, with the ids concerned. */
export type FoundBreach = {
  readonly invariant: number;
  readonly what: string;
  readonly ids: readonly string[];
};

/** What a check is given. */
export type CheckRun = {
  readonly clients: Clients;
  /** The one tenant to look at; "" means all. */
  readonly tenantId: string;
  readonly note: (line: string) => void;
  /** Ends the calls of a check that is over: a stream that is left unread would keep the process alive. */
  readonly signal: AbortSignal;
};

/** What a check found, and how much it looked at. */
export type CheckReport = {
  readonly breaches: readonly FoundBreach[];
  /** How many more breaches there are than are listed. */
  readonly unlisted: number;
  readonly looked: Readonly<Record<string, number>>;
  /** What was not looked at, and why; absent when everything was. A check that left something out proves nothing. */
  readonly unfinished?: string;
};

/** Breaches listed in full; beyond it they are only counted, so that a report stays readable. */
export const BREACHES_MAX = 1000;

/** Collects breaches: the first ones are kept, all are counted. */
export function createBreachList() {
  const breaches: FoundBreach[] = [];
  let unlisted = 0;
  return {
    add(...found: readonly FoundBreach[]): void {
      const room = found.slice(0, BREACHES_MAX - breaches.length);
      breaches.push(...room);
      unlisted += found.length - room.length;
    },
    listed: (): { breaches: readonly FoundBreach[]; unlisted: number } => ({ breaches, unlisted }),
  };
}

/** A list that breaches are added to. */
export type BreachList = ReturnType<typeof createBreachList>;

/** Runs checks whose calls end with them, whether they come to their end or fail, or with `signal`. */
export async function untilChecked<T>(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  try {
    return await work(AbortSignal.any([signal, over.signal]));
  } finally {
    over.abort();
  }
}

/** Says how a long check is getting on, at most every two seconds. */
export function createProgress(note: (line: string) => void): (text: string) => void {
  let lastMs = Date.now();
  return (text) => {
    if (Date.now() - lastMs < 2000) return;
    lastMs = Date.now();
    note(text);
  };
}
