/** One breach of an invariant of the design, by its number there, with the ids concerned. */
export type FoundBreach = {
  readonly invariant: number;
  readonly what: string;
  readonly ids: readonly string[];
};

/** What a check found, and how much it looked at. */
export type CheckReport = {
  readonly breaches: readonly FoundBreach[];
  readonly looked: Readonly<Record<string, number>>;
  /** What was not looked at, and why; absent when everything was. A check that left something out proves nothing. */
  readonly unfinished?: string;
};

/** Breaches listed in full; beyond it they are only counted, so that a report stays readable. */
export const BREACHES_MAX = 1000;

/** Says how a long check is getting on, at most every two seconds. */
export function createProgress(note: (line: string) => void): (text: string) => void {
  let lastMs = Date.now();
  return (text) => {
    if (Date.now() - lastMs < 2000) return;
    lastMs = Date.now();
    note(text);
  };
}
