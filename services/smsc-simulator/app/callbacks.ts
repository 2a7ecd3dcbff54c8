import type { ReceiptCounts } from "./counters.ts";

/** One HTTP request that the simulator sends as an HTTP carrier. */
export interface Callback {
  url: string;
  body: object;
}

/** The calls that the simulator makes as an HTTP carrier. */
export interface Callbacks {
  /** Calls after a delay, and again until the answer is a 2xx. */
  add(callback: Callback, afterMs: number): void;
  close(): void;
}

const IN_FLIGHT_MAX = 50;
const WAITING_MAX = 100_000;
const ATTEMPTS_MAX = 1000;
const ANSWER_WAIT_MS = 10_000;

/** `counts` counts calls together with deliveries over SMPP. */
export function createCallbacks(options: {
  readonly resendMs: () => number;
  readonly counts: () => ReceiptCounts;
}): Callbacks {
  const { resendMs, counts } = options;
  const timers = new Set<NodeJS.Timeout>();
  const ready: { callback: Callback; attempt: number }[] = [];
  const closing = new AbortController();
  let inFlight = 0;
  let waiting = 0;

  function later(callback: Callback, attempt: number, afterMs: number): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      ready.push({ callback, attempt });
      pump();
    }, afterMs);
    timers.add(timer);
  }

  function pump(): void {
    while (inFlight < IN_FLIGHT_MAX) {
      const next = ready.shift();
      if (next === undefined) return;
      inFlight += 1;
      void call(next.callback, next.attempt).finally(() => {
        inFlight -= 1;
        if (!closing.signal.aborted) pump();
      });
    }
  }

  async function call(callback: Callback, attempt: number): Promise<void> {
    if (attempt === 1) counts().sent++;
    else counts().resent++;
    const isTaken = await post(callback, closing.signal);
    if (closing.signal.aborted) return;
    if (!isTaken && attempt < ATTEMPTS_MAX) return later(callback, attempt + 1, resendMs());
    waiting -= 1;
    if (isTaken) counts().acknowledged++;
    else counts().dropped++;
  }

  return {
    add(callback, afterMs) {
      if (waiting >= WAITING_MAX) {
        counts().dropped++;
        return;
      }
      waiting += 1;
      later(callback, 1, afterMs);
    },
    close() {
      closing.abort();
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

async function post({ url, body }: Callback, closing: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.any([closing, AbortSignal.timeout(ANSWER_WAIT_MS)]),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
