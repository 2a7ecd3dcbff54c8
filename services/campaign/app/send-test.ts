/** Sends a campaign's text to a few numbers of its owner, with the variables of the first row. */
import { fingerprint } from "../../shared/core/canonical-json.ts";
import type { Campaign } from "../domain/campaign.ts";
import type { FeedResult } from "../domain/row.ts";
import { refuse } from "./campaigns.ts";
import { personalise, templateOf } from "./personalise.ts";
import type { CampaignStore, Messaging } from "./ports.ts";

/** Sends test messages, once for each idempotency key of the caller. */
export type SendTest = (
  campaign: Campaign,
  to: readonly string[],
  keyed: {
    readonly key: string;
    readonly fingerprint: Uint8Array;
    /** True: send nothing, and return only the stored answer of an earlier request. */
    readonly isStoredOnly: boolean;
  },
) => Promise<{ readonly results: readonly FeedResult[]; readonly replayed: boolean }>;

export function createSendTest(parts: {
  readonly store: Pick<CampaignStore, "rows">;
  readonly messaging: Pick<Messaging, "sendTest" | "closeTest">;
}): SendTest {
  return async (campaign, to, request) => {
    const key = request.key === "" ? "" : testKey(campaign.id, request.key);
    const keyed = { key, fingerprint: request.fingerprint };
    if (request.isStoredOnly) {
      const stored = await parts.messaging.closeTest(campaign, keyed);
      return { results: stored ?? [], replayed: stored !== undefined };
    }
    const filter = { rowSet: campaign.rowSet, statuses: [], afterIndex: -1, limit: 1 };
    const [first] = await parts.store.rows(filter);
    const template = templateOf(campaign);
    const text = personalise(campaign, template, first ?? NO_ROW);
    if ("error" in text) {
      refuse([{ field: "body", ...text.error }]);
      return { results: [], replayed: false };
    }
    const recipients = to.map((number) => ({ ...text, to: number }));
    return parts.messaging.sendTest(campaign, recipients, keyed);
  };
}

const NO_ROW = { to: "", variables: {}, clientReference: undefined } as const;

/** Test sends share messaging's key space of chunks; the hash keeps them apart and short enough. */
function testKey(campaignId: string, key: string): string {
  return `test-${fingerprint(campaignId, key).toString("hex").slice(0, 48)}`;
}
