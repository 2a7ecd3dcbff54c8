import { type CheckReport, type CheckRun, createBreachList } from "./report.ts";

/** Compares the counts of campaigns with their rows (invariants 11, 12 and 13 within the campaign service). */
export async function checkCampaigns(run: CheckRun): Promise<CheckReport> {
  const { clients, tenantId, note, signal } = run;
  const found = createBreachList();
  let compared = { campaigns: 0, campaign_rows: 0 };
  note("comparing campaigns with their rows");
  const parts = clients.campaigns.checkCampaigns({ tenantId }, { timeoutMs: 0, signal });
  for await (const part of parts) {
    found.add(...part.breaches.map(({ invariant, what, ids }) => ({ invariant, what, ids })));
    if (part.done) {
      compared = { campaigns: Number(part.campaigns), campaign_rows: Number(part.rows) };
    }
  }
  return { ...found.listed(), compared };
}
