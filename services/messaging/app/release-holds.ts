/**
 * Releases the holds of failed sends. A tombstone with the reservation's id keeps the send from being committed
 * later; then the wallet releases the hold. After repeated failures, or a crash, the wallet's sweep releases it.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import { retry } from "../../shared/flow/retry.ts";
import type { Hold, SendStore, ServiceClients } from "./ports.ts";

export type HoldReleaser = {
  /** Tries once to release a hold. Never rejects. */
  release(hold: Hold): Promise<void>;
  /** Retries in the background: the server that made the send fail may still be down. */
  releaseLater(hold: Hold): void;
  /** Stops before the next attempt. */
  close(): void;
};

/** Nine attempts in about a minute: pauses of 200 ms to 5 s, and the time that an attempt takes without a database. */
const RETRY = { baseMs: 200, capMs: 5000, attemptsMax: 9 } as const;
/**
 * Few attempts run at once, because all other work recovers at the same time. Holds beyond the queue are left to the
 * wallet's sweep: a server that is down this long is down for the wallet too.
 */
const QUEUE = { batchMax: 1, concurrency: 16, queueMax: 10_000 } as const;

export function createHoldReleaser(parts: {
  readonly services: Pick<ServiceClients, "releaseReservation">;
  readonly sends: Pick<SendStore, "putTombstone">;
  readonly clock: Clock;
  readonly log: Logger;
}): HoldReleaser {
  const { services, sends, clock, log } = parts;
  const closing = new AbortController();
  const queue = createBatcher<Hold, void>({
    name: "holds to release",
    ...QUEUE,
    flush: (holds) => Promise.all(holds.map(releaseWithRetries)),
  });

  async function releaseNow({ tenantId, reservationId }: Hold): Promise<void> {
    // "sent" means that the commit succeeded and only its response was lost; keep the hold.
    if ((await sends.putTombstone(reservationId, clock.now())) !== "tombstone") return;
    await services.releaseReservation(tenantId, reservationId);
  }

  function leaveToWallet({ reservationId }: Hold, error: unknown): void {
    log.warn({ error, reservationId }, "a hold is left to the wallet's sweep");
  }

  async function releaseWithRetries(hold: Hold): Promise<void> {
    if (closing.signal.aborted) throw new Error("the process ends");
    await retry(() => releaseNow(hold), { ...RETRY, signal: closing.signal });
  }

  return {
    release: (hold) => releaseNow(hold).catch((error: unknown) => leaveToWallet(hold, error)),
    releaseLater(hold) {
      queue.add(hold).catch((error: unknown) => leaveToWallet(hold, error));
    },
    close: () => closing.abort(),
  };
}
