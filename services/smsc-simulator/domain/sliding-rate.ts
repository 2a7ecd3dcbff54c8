const WINDOW_MS = 1000;
const ENTRIES_MAX = 1_000_000;

/** Counts the events of the last second exactly, at any instant. */
export class SlidingRate {
  #times: number[] = [];
  #head = 0;

  /** Adds an event; times must not decrease. */
  add(nowMs: number): void {
    if (this.#times.length - this.#head < ENTRIES_MAX) this.#times.push(nowMs);
  }

  /** The number of events in the last second. */
  count(nowMs: number): number {
    const times = this.#times;
    while (this.#head < times.length && (times[this.#head] as number) <= nowMs - WINDOW_MS) {
      this.#head++;
    }
    if (this.#head > 10_000 && this.#head * 2 > times.length) {
      this.#times = times.slice(this.#head);
      this.#head = 0;
    }
    return this.#times.length - this.#head;
  }

  clear(): void {
    this.#times = [];
    this.#head = 0;
  }
}
