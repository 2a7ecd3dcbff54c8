/** Starts due campaigns, fails those that were paused for too long, and removes old rows. */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { Action } from "../domain/campaign.ts";
import type { StateChanges } from "./change-state.ts";
import { ANY_SCOPE, type CampaignStore } from "./ports.ts";

export type SweepParts = {
  readonly store: CampaignStore;
  readonly states: Pick<StateChanges, "apply">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly nudge: () => void;
  readonly pausedMaxMs: number;
  readonly keepRowsMs: number;
};

const BATCH = 100;

export function createSweep({ store, states, clock, log, ...parts }: SweepParts) {
  /** Applies an action to each campaign; leaves one that a customer has changed meanwhile. */
  async function applyAll(ids: readonly string[], action: Action): Promise<boolean> {
    for (const id of ids) {
      try {
        await states.apply(ANY_SCOPE, id, action);
      } catch (error) {
        if (!(error instanceof AppError) || error.code === "service_unavailable") throw error;
        log.info({ campaign_id: id, code: error.code }, "a campaign changed before its sweep");
      }
    }
    if (ids.length > 0) parts.nudge();
    return ids.length === BATCH;
  }

  return {
    start: async () => applyAll(await store.findDue(clock.now(), BATCH), { kind: "start" }),
    fail: async () => {
      const beforeMs = clock.now() - parts.pausedMaxMs;
      return applyAll(await store.findPausedBefore(beforeMs, BATCH), { kind: "fail" });
    },
    remove: () => store.removeOld(clock.now() - parts.keepRowsMs),
  };
}
