import { driveOpen } from "./drive.ts";
import { type LoadConnection, openConnection } from "./http-client.ts";

/** A system that takes single sends over HTTP and brings each to its end. */
export type EndToEndTarget = {
  readonly url: URL;
  /** The request of the nth send, whole; it is accepted with 202. */
  request(count: number): Buffer;
  /** How many of the run's sends have come to their end so far. */
  finished(): Promise<number>;
};

/** How much is sent, and for how long. */
export type Load = { readonly perSecond: number; readonly seconds: number };

/** The result of an end-to-end run. */
export type EndToEnd = {
  readonly perSecond: number;
  readonly wanted: number;
  readonly done: number;
  readonly refused: number;
  readonly seconds: number;
  /** How long after the last send and its receipt's second the last message came to its end. */
  readonly tailS: number;
  readonly acceptP99Ms: number;
};

const CONNECTIONS = 128;
/** The warm-up: we measure a lasting rate, not that of cold processes. */
export const WARM_UP_S = 3;
const WAIT_MS = 120_000;
const POLL_MS = 250;

/** Receipts come a second after the submit; that second is the simulator's, not the system's. */
const RECEIPT_DELAY_S = 1;

/**
 * Sends at a steady rate and waits until the last message has come to its end, after a short run of
 * the same that does not count. The figure is messages over the whole time, so a queue that grows
 * shows as a lower rate, not as an uncounted long tail.
 */
export async function measureEndToEnd(target: EndToEndTarget, load: Load): Promise<EndToEnd> {
  const connections: LoadConnection[] = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => openConnection(target.url)),
  );
  const run = createRun(target, connections);
  try {
    const warmUp = await run({ ...load, seconds: WARM_UP_S });
    // Unfinished messages would count for the next run.
    return warmUp.done < warmUp.wanted ? warmUp : await run(load);
  } finally {
    for (const connection of connections) connection.close();
  }
}

/** Returns a run that continues the message count of the previous run. */
function createRun(target: EndToEndTarget, connections: readonly LoadConnection[]) {
  let count = 0;
  let doneBefore = 0;
  return async ({ perSecond, seconds: forSeconds }: Load): Promise<EndToEnd> => {
    const startedMs = performance.now();
    const measured = await driveOpen({
      callers: connections.length,
      perSecond,
      warmupMs: 0,
      measureMs: forSeconds * 1000,
      work: async (caller) => {
        count += 1;
        return (await connections[caller]?.send(target.request(count)))?.status === 202;
      },
    });
    const wanted = measured.succeeded;
    let done = 0;
    for (const untilMs = performance.now() + WAIT_MS; performance.now() < untilMs; ) {
      done = (await target.finished()) - doneBefore;
      if (done >= wanted) break;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    doneBefore += done;
    const seconds = (performance.now() - startedMs) / 1000;
    return {
      perSecond: done / Math.max(0.001, seconds - RECEIPT_DELAY_S),
      wanted,
      done,
      refused: measured.failed,
      seconds,
      tailS: Math.max(0, seconds - forSeconds - RECEIPT_DELAY_S),
      acceptP99Ms: measured.p99Ms,
    };
  };
}
