/**
 * Frees holds of sends that will never be: a tombstone under the reservation's id keeps the send from being
 * committed after all, then the wallet releases it. What fails here for good is left to the wallet's
 * sweep, after its time of grace; a crash leaves the same.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { backoffMs, pause } from "../../shared/flow/backoff.ts";
import { runDetached } from "../../shared/flow/run-detached.ts";
import type { Hold, SendStore, ServiceClients } from "./ports.ts";

/** Frees holds. */
export type HoldReleaser = {
  /** Tries once, and answers when it has. */
  release(hold: Hold): Promise<void>;
  /** Tries in the background, some times: what made the send fail may be away yet. */
  releaseLater(hold: Hold): void;
  /** Ends the tries between two of them. */
  close(): void;
};

/** With its pauses of 200 ms to 5 s, and what a try takes that finds no database, about a minute. */
const TRIES_MAX = 9;
/** More than that are left to the sweep: what is away this long is away for the wallet, too. */
const PENDING_MAX = 10_000;
/** Tries that are under way at a time: they come when everything else begins again as well. */
const AT_ONCE_MAX = 16;

/** Makes it. */
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

  async function free({ tenantId, reservationId }: Hold): Promise<void> {
    // Where the commit stood although its answer was lost, this answers "sent", and the hold stays.
    if ((await sends.putTombstone(reservationId, clock.now())) !== "tombstone") return;
    await services.releaseReservation(tenantId, reservationId);
  }

  function leave({ reservationId }: Hold, error: unknown): void {
    log.warn({ error, reservationId }, "a hold is left to the wallet's sweep");
  }

  async function insist(hold: Hold): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      if (closing.signal.aborted) return leave(hold, "the process ends");
      try {
        return await free(hold);
      } catch (error) {
        if (attempt === TRIES_MAX) return leave(hold, error);
      }
      await pause(backoffMs(attempt, 100, 5000), closing.signal);
    }
  }

  async function work(): Promise<void> {
    working += 1;
    for (let hold = waiting.shift(); hold !== undefined; hold = waiting.shift()) await insist(hold);
    working -= 1;
  }

  return {
    release: (hold) => free(hold).catch((error: unknown) => leave(hold, error)),
    releaseLater(hold) {
      if (waiting.length >= PENDING_MAX) return leave(hold, "too many wait");
      waiting.push(hold);
      if (working < AT_ONCE_MAX) void runDetached(work);
    },
    close: () => closing.abort(),
  };
}
