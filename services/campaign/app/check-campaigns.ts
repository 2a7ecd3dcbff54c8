/** Compares every campaign with its rows. A campaign that changes while it is read is read again, a few times. */
import { type Campaign, isOpen } from "../domain/campaign.ts";
import { type Breach, checkCampaign, checkRows, countRows } from "../domain/campaign-invariants.ts";
import { EMPTY_PROGRESS } from "../domain/progress.ts";
import { findCampaign } from "./campaigns.ts";
import { ANY_SCOPE, type CampaignStore, type Scope } from "./ports.ts";

/** A part of the check's result. */
export type CheckPart = {
  readonly breaches: readonly Breach[];
  readonly campaigns: bigint;
  readonly rows: bigint;
  readonly done: boolean;
};

const PAGE = 1000;
const ATTEMPTS = 5;

export function createCheck(store: CampaignStore & AllCampaigns, keepRowsMs: number) {
  async function readRows(rowSet: string) {
    let counted = EMPTY_PROGRESS;
    let rows = 0;
    const breaches: Breach[] = [];
    let afterIndex = -1;
    for (;;) {
      const page = await store.rows({ rowSet, statuses: [], afterIndex, limit: PAGE });
      const last = page.at(-1);
      if (last === undefined) return { counted, rows, breaches };
      afterIndex = last.index;
      rows += page.length;
      counted = countRows(counted, page);
      breaches.push(...checkRows(page));
    }
  }

  async function checkOne(campaign: Campaign) {
    for (let attempt = 1; ; attempt += 1) {
      const before = await store.find(ANY_SCOPE, campaign.id);
      if (before === undefined) return { rows: 0, breaches: [] };
      const read = await readRows(before.rowSet);
      const after = await store.find(ANY_SCOPE, before.id);
      const isStill = after !== undefined && isSame(before, after);
      if (isStill || attempt === ATTEMPTS) {
        // Check only the single rows of a campaign that changed during every read.
        const ofCounts = isStill ? checkCampaign(before, read.counted) : [];
        return { rows: read.rows, breaches: [...read.breaches, ...ofCounts] };
      }
    }
  }

  async function* all(tenantId: string | undefined): AsyncGenerator<CheckPart> {
    let campaigns = 0;
    let rows = 0;
    for await (const campaign of store.all(tenantId)) {
      if (isForgotten(campaign, Date.now() - keepRowsMs)) continue;
      const checked = await checkOne(campaign);
      campaigns += 1;
      rows += checked.rows;
      if (checked.breaches.length > 0) {
        yield { breaches: checked.breaches, campaigns: 0n, rows: 0n, done: false };
      }
    }
    yield { breaches: [], campaigns: BigInt(campaigns), rows: BigInt(rows), done: true };
  }

  return {
    /** Compares every campaign, or one tenant's, with its rows. */
    all,
    /** The rows of these numbers; expired rows may be missing. Errors: `not_found`. */
    async rowsOf(scope: Scope, id: string, numbers: readonly string[]) {
      const campaign = await findCampaign(store, scope, id);
      const rows = await store.rowsByNumber(campaign.rowSet, numbers);
      return { rows, isExpired: isForgotten(campaign, Date.now() - keepRowsMs) };
    },
  };
}

/** Every campaign, or one tenant's. */
export type AllCampaigns = { all(tenantId: string | undefined): AsyncIterable<Campaign> };

/** True when the rows of an ended campaign may be removed. */
function isForgotten({ status, endedAtMs }: Campaign, beforeMs: number): boolean {
  return !isOpen(status) && (endedAtMs ?? 0) <= beforeMs;
}

function isSame(a: Campaign, b: Campaign): boolean {
  const names = Object.keys(a.progress) as (keyof typeof a.progress)[];
  return a.status === b.status && names.every((name) => a.progress[name] === b.progress[name]);
}
