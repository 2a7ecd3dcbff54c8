/**
 * Releases the holds of failed sends. A tombstone with the reservation's id keeps the send from being committed
 * later; then the wallet releases the hold. After repeated failures, or a crash, the wallet's sweep releases it.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { backoffMs, pause } from "../../shared/flow/backoff.ts";
import { runDetached } from "../../shared/flow/run-detached.ts";
import type { Hold, SendStore, ServiceClients } from "./ports.ts";

export type HoldReleaser = {
  /** Tries once. Never rejects. */
  release(hold: Hold): Promise<void>;
  /** Retries in the background: the server that made the send fail may still be down. */
  releaseLater(hold: Hold): void;
  /** Stops before the next attempt. */
  close(): void;
};

/** About a minute, with pauses of 200 ms to 5 s and the time that an attempt takes without a database. */
const ATTEMPTS_MAX = 9;
/** Further holds are left to the wallet's sweep: a server that is down this long is down for the wallet too. */
const PENDING_MAX = 10_000;
/** Concurrent attempts; few, because they coincide with the recovery of everything else. */
const AT_ONCE_MAX = 16;

export function createHoldReleaser(parts: {
  readonly services: Pick<ServiceClients, "releaseReservation">;
  readonly sends: Pick<SendStore, "putTombstone">;
  readonly clock: Clock;
  readonly log: Logger;
}): HoldReleaser {
  const { services, sends, clock, log } = parts;
  const closing = new AbortController();
  const waiting: Hold[] = [];
  let working = 0;

  async function releaseNow({ tenantId, reservationId }: Hold): Promise<void> {
    // "sent" means that the commit succeeded and only its response was lost; keep the hold.
    if ((await sends.putTombstone(reservationId, clock.now())) !== "tombstone") return;
    await services.releaseReservation(tenantId, reservationId);
  }

  function leaveToWallet({ reservationId }: Hold, error: unknown): void {
    log.warn({ error, reservationId }, "a hold is left to the wallet's sweep");
  }

  async function retry(hold: Hold): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      if (closing.signal.aborted) return leaveToWallet(hold, "the process ends");
      try {
        return await releaseNow(hold);
      } catch (error) {
        if (attempt === ATTEMPTS_MAX) return leaveToWallet(hold, error);
      }
      await pause(backoffMs(attempt, 100, 5000), closing.signal);
    }
  }

  async function work(): Promise<void> {
    working += 1;
    for (let hold = waiting.shift(); hold !== undefined; hold = waiting.shift()) await retry(hold);
    working -= 1;
  }

  return {
    release: (hold) => releaseNow(hold).catch((error: unknown) => leaveToWallet(hold, error)),
    releaseLater(hold) {
      if (waiting.length >= PENDING_MAX) return leaveToWallet(hold, "too many wait");
      waiting.push(hold);
      if (working < AT_ONCE_MAX) void runDetached(work);
    },
    close: () => closing.abort(),
  };
}
