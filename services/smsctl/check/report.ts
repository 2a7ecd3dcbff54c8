import type { Clients } from "../calls/clients.ts";

/** One breach of an invariant, by its number in docs/invariants.md, with the ids concerned. */
export type FoundBreach = {
  readonly invariant: number;
  readonly what: string;
  readonly ids: readonly string[];
};

/** The input of a check. */
export type CheckRun = {
  readonly clients: Clients;
  /** The tenant to check; "" means all. */
  readonly tenantId: string;
  readonly note: (line: string) => void;
  /** Aborts the calls of a finished check: an unread stream would keep the process alive. */
  readonly signal: AbortSignal;
};

/** A check's breaches, and how many items it compared. */
export type CheckReport = {
  readonly breaches: readonly FoundBreach[];
  /** The number of breaches beyond those listed. */
  readonly unlisted: number;
  readonly compared: Readonly<Record<string, number>>;
  /** The parts that were not compared, and why; absent when all were. An unfinished check proves nothing. */
  readonly unfinished?: string;
};

/** Breaches listed in full; further ones are only counted, so that a report stays readable. */
export const BREACHES_MAX = 1000;

/** Keeps the first breaches and counts the rest. */
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

/** Runs checks, then aborts the calls they left open; `signal` aborts them earlier. */
export async function withStreamsClosed<T>(
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

/** Prints the progress of a long check, at most every two seconds. */
export function createProgress(note: (line: string) => void): (text: string) => void {
  let lastMs = Date.now();
  return (text) => {
    if (Date.now() - lastMs < 2000) return;
    lastMs = Date.now();
    note(text);
  };
}
