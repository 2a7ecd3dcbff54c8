/** The store of campaigns on a real MongoDB and NATS, in a database of its own. */

import { toCampaignEvent } from "../../services/campaign/adapters/events.ts";
import type { CampaignStore, CampaignTransaction } from "../../services/campaign/app/ports.ts";
import {
  type Campaign,
  type CampaignContent,
  createCampaign,
} from "../../services/campaign/domain/campaign.ts";
import type { Row } from "../../services/campaign/domain/row.ts";
import { migrate } from "../../services/campaign/migrate.ts";
import { createCampaignStore } from "../../services/campaign/store/campaign-store.ts";
import { newId } from "../../services/shared/core/ids.ts";
import { createAuditLog } from "../../services/shared/io/audit-log.ts";
import { createKeyedAnswers } from "../../services/shared/io/keyed-answers.ts";
import { openTestDatabase } from "./test-database.ts";
import { openWatchedOutbox } from "./watched-outbox.ts";

const DAY_MS = 86_400_000;
/** When the campaigns of these tests are made. */
export const MADE_MS = 1_700_000_000_000;

export type CampaignStoreHarness = Awaited<ReturnType<typeof openCampaignStores>>;

/** Opens two stores on one database, as two processes have them. */
export async function openCampaignStores() {
  const { mongo, close } = await openTestDatabase("campaign_store", migrate);
  const { client, db } = mongo;
  const { outbox, events, close: closeOutbox } = await openWatchedOutbox(db, "campaign");
  const openStore = () =>
    createCampaignStore({
      ...{ client, db, outbox, encodeEvent: toCampaignEvent },
      ...{ keyTtlMs: DAY_MS, audit: createAuditLog(db, DAY_MS) },
    });
  const stores: readonly [CampaignStore, CampaignStore] = [openStore(), openStore()];
  return {
    stores,
    events,
    answers: createKeyedAnswers(db, DAY_MS),
    async close(): Promise<void> {
      await closeOutbox();
      await close();
    },
  };
}

/** A draft of a tenant that no other test uses. */
export function draftOf(
  about: Partial<Campaign> = {},
  content: Partial<CampaignContent> = {},
): Campaign {
  const draft = createCampaign({
    ...{ id: newId("campaign"), tenantId: newId("tenant"), mode: "live", currency: "NGN" },
    content: {
      ...{ name: "Spring", from: "Acme", body: "Hello {{name}}" },
      ...{ sendAtMs: undefined, ratePerSecond: undefined, budget: undefined },
      ...{ quietHours: undefined, clientReference: undefined, ...content },
    },
    nowMs: MADE_MS,
  });
  return { ...draft, rowSet: about.id ?? draft.id, ...about };
}

/** A waiting row of a set. */
export function rowOf(rowSet: string, index: number): Row {
  return {
    ...{ rowSet, index, to: `+23480${30_000_000 + index}`, variables: { name: `${index}` } },
    ...{ clientReference: undefined, status: "waiting", messageId: undefined, messageAtMs: 0 },
    ...{ held: 0n, amount: 0n, takenBack: [], error: undefined },
  };
}

/** Stores a campaign as it is given. */
export async function put(store: CampaignStore, campaign: Campaign): Promise<Campaign> {
  await store.create(campaign, 1000, undefined);
  return campaign;
}

/** Runs work on the rows of a campaign that changes nothing else. */
export async function onRows(
  store: CampaignStore,
  id: string,
  work: (tx: CampaignTransaction) => Promise<unknown>,
): Promise<void> {
  await store.transact(id, async (tx) => ({ result: await work(tx) }));
}
