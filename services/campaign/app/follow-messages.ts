/**
 * Follows the messages of campaigns: each event moves its row and the counts in one transaction. Events come at least
 * once and in any order; `applyMessageChange` ignores old ones.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { isOpen } from "../domain/campaign.ts";
import { countChanges } from "../domain/progress.ts";
import { applyMessageChange, type MessageChange, type RowState } from "../domain/row.ts";
import { finishOr } from "./chunks.ts";
import type { CampaignStore } from "./ports.ts";

/** A change of a message of a campaign. */
export type CampaignMessageChange = MessageChange & { readonly campaignId: string };

/** Applies changes. Throws while the database is away: then repeat all of them. */
export type FollowMessages = (changes: readonly CampaignMessageChange[]) => Promise<void>;

/** The rows of one transaction. Transactions of a campaign run one by one, so a larger one would delay its feeding. */
const STEP = 500;

export function createFollowMessages(parts: {
  readonly store: CampaignStore;
  readonly clock: Clock;
  readonly nudge: () => void;
}): FollowMessages {
  const { store, clock } = parts;

  async function follow(campaignId: string, byNumber: Map<string, MessageChange[]>): Promise<void> {
    await store.transact(campaignId, async (tx) => {
      const { campaign } = tx;
      const before = await tx.statesByNumber([...byNumber.keys()]);
      const after = new Map<string, RowState>();
      for (const change of [...byNumber.values()].flat()) {
        const row = after.get(change.to) ?? before.get(change.to);
        const next = row && applyMessageChange(row, change, isOpen(campaign.status));
        if (next !== undefined) after.set(change.to, next);
      }
      const moved = [...before].flatMap(([to, row]) => {
        const next = after.get(to);
        return next === undefined ? [] : [{ before: row, after: next }];
      });
      if (moved.length === 0) return { result: undefined };
      await tx.saveRows(moved);
      const progress = countChanges(campaign.progress, moved);
      return finishOr({ ...campaign, progress }, clock.now(), undefined);
    });
  }

  return async (changes) => {
    const byCampaign = Map.groupBy(changes, ({ campaignId }) => campaignId);
    for (const [campaignId, of] of byCampaign) {
      const byNumber = [...Map.groupBy(of, ({ to }) => to)];
      for (let at = 0; at < byNumber.length; at += STEP) {
        await follow(campaignId, new Map(byNumber.slice(at, at + STEP)));
      }
    }
    // Rows may wait again, and the queue may have capacity.
    if (changes.length > 0) parts.nudge();
  };
}
