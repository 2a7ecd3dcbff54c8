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

/** What an end-to-end run measured. */
export type EndToEnd = {
  readonly perSecond: number;
  readonly wanted: number;
  readonly done: number;
  readonly refused: number;
  readonly seconds: number;
  readonly acceptP99Ms: number;
};

const CONNECTIONS = 128;
const WAIT_MS = 120_000;
const POLL_MS = 250;

/** Receipts come a second after the submit; that second is the simulator's, not the system's. */
const RECEIPT_DELAY_S = 1;

/**
 * Sends at a steady rate and waits until the last message has come to its end. The figure is
 * messages over the whole time, so a queue that grows shows as a lower rate, not as a long tail
 * that nobody counts.
 */
export async function measureEndToEnd(
  target: EndToEndTarget,
  pace: { readonly perSecond: number; readonly seconds: number },
): Promise<EndToEnd> {
  const connections: LoadConnection[] = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => openConnection(target.url)),
  );
  let count = 0;
  const startedMs = performance.now();
  const measured = await driveOpen({
    callers: connections.length,
    perSecond: pace.perSecond,
    warmupMs: 0,
    measureMs: pace.seconds * 1000,
    work: async (caller) => {
      count += 1;
      return (await connections[caller]?.send(target.request(count)))?.status === 202;
    },
  });
  for (const connection of connections) connection.close();
  const wanted = measured.succeeded;
  let done = 0;
  for (const untilMs = performance.now() + WAIT_MS; performance.now() < untilMs; ) {
    done = await target.finished();
    if (done >= wanted) break;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const seconds = (performance.now() - startedMs) / 1000;
  return {
    perSecond: done / Math.max(0.001, seconds - RECEIPT_DELAY_S),
    wanted,
    done,
    refused: measured.failed,
    seconds,
    acceptP99Ms: measured.p99Ms,
  };
}
