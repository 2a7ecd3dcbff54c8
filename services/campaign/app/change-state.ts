/**
 * Start, pause, resume and cancel. The change of state and its event commit first. A pause or a cancel then takes back
 * the queued messages, and returns when nothing new can be queued. After a crash in between the feeder takes them back.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { retry } from "../../shared/flow/retry.ts";
import { type Action, type Campaign, transition } from "../domain/campaign.ts";
import { totalOf } from "../domain/progress.ts";
import { findCampaign, inScope, refuse } from "./campaigns.ts";
import type { Chunks } from "./chunks.ts";
import { checkCovered, type EstimateParts, estimate } from "./estimate.ts";
import { ANY_SCOPE, type CampaignStore, type Messaging, type Scope } from "./ports.ts";

export type StateParts = EstimateParts & {
  readonly store: CampaignStore;
  readonly messaging: Pick<Messaging, "estimateSums" | "cancelWaiting">;
  readonly chunks: Pick<Chunks, "close">;
  readonly clock: Clock;
  /** Called when the feeder has something to do. */
  readonly nudge: () => void;
};

export type StateChanges = ReturnType<typeof createStateChanges>;

/** The longest wait for a chunk that messaging is accepting, before it is closed; a send takes no longer. */
const CLOSE_MAX_MS = 20_000;

export function createStateChanges(parts: StateParts) {
  const { store, messaging, chunks, clock } = parts;

  const find = (scope: Scope, id: string) => findCampaign(store, scope, id);

  /** Applies an action; a repeat changes nothing. */
  function apply(scope: Scope, id: string, action: Action): Promise<Campaign> {
    return inScope<Campaign>(store, scope, id, async ({ campaign }) => {
      const done = transition(campaign, action, clock.now());
      return { result: done?.campaign ?? campaign, transition: done };
    });
  }

  /** Closes the open chunk, then cancels the queued messages. Nothing is queued after that. */
  async function takeBack(campaign: Campaign): Promise<void> {
    await retry(
      async () => {
        const now = await find(ANY_SCOPE, campaign.id);
        if (now.openChunk !== undefined && now.status !== "running") await chunks.close(now);
      },
      { baseMs: 50, capMs: 500, limitMs: CLOSE_MAX_MS, isRetryable },
    );
    await messaging.cancelWaiting(campaign);
  }

  return {
    /** Errors: those of `apply` and of a send, `insufficient_balance`, and `validation_error` without rows. */
    async start(scope: Scope, id: string): Promise<Campaign> {
      const draft = await find(scope, id);
      if (draft.status === "draft") {
        if (totalOf(draft.progress) === 0) refuse([NO_ROWS]);
        checkCovered(await estimate(parts, draft));
      }
      const started = await apply(scope, id, { kind: "start" });
      parts.nudge();
      return started;
    },
    async pause(scope: Scope, id: string): Promise<Campaign> {
      const paused = await apply(scope, id, { kind: "pause", reason: "customer" });
      await takeBack(paused);
      parts.nudge();
      return find(scope, id);
    },
    async resume(scope: Scope, id: string): Promise<Campaign> {
      const resumed = await apply(scope, id, { kind: "resume" });
      parts.nudge();
      return resumed;
    },
    async cancel(scope: Scope, id: string): Promise<Campaign> {
      const cancelled = await apply(scope, id, { kind: "cancel" });
      if (cancelled.startedAtMs !== undefined) await takeBack(cancelled);
      parts.nudge();
      return find(scope, id);
    },
    apply,
  };
}

const NO_ROWS = {
  field: "recipients",
  code: "too_few",
  message: "Add at least one recipient before the start.",
};

function isRetryable(error: unknown): boolean {
  return (
    error instanceof AppError && (error.code === "conflict" || error.code === "service_unavailable")
  );
}
