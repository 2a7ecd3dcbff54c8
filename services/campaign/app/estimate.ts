/** Estimates the cost of a campaign, and previews its texts. Nothing is held or stored. */
import { AppError } from "../../shared/core/errors.ts";
import { parseRecipient } from "../../shared/core/phone.ts";
import { describeText } from "../../shared/core/segments.ts";
import type { Campaign } from "../domain/campaign.ts";
import type { Row, RowError } from "../domain/row.ts";
import { personalise, templateOf } from "./personalise.ts";
import type { CampaignStore, Messaging, Personal, Wallets } from "./ports.ts";

/** The sums of an estimate. */
export type Estimate = {
  readonly recipients: number;
  readonly rejected: ReadonlyMap<string, number>;
  readonly segments: number;
  readonly amount: bigint;
  readonly available: bigint;
  readonly currency: string;
  readonly countries: ReadonlyMap<string, CountrySum>;
};

type CountrySum = { recipients: number; segments: number; amount: bigint };

export type EstimateParts = {
  readonly store: CampaignStore;
  readonly messaging: Pick<Messaging, "estimate">;
  readonly wallets: Wallets;
};

/** Rows of one `EstimateSend` call. */
const STEP = 1000;
/** Calls at once: rows are read while others are priced. */
const CALLS_MAX = 4;

/** Prices every row. Throws what a send would throw for its tenant or sender ID. */
export async function estimate(parts: EstimateParts, campaign: Campaign): Promise<Estimate> {
  const { store, messaging, wallets } = parts;
  const sums = newSums();
  const template = templateOf(campaign);
  const pages = pagesOfWaiting(store, campaign.id);
  const worker = async () => {
    for await (const rows of pages) {
      const personal: Personal[] = [];
      for (const row of rows) {
        const text = personalise(campaign, template, row);
        if ("error" in text) sums.reject(text.error);
        else personal.push(text);
      }
      if (personal.length === 0) continue;
      const estimated = await messaging.estimate(campaign, personal);
      estimated.forEach((one, at) => {
        if (one.error !== undefined) sums.reject(one.error);
        else sums.add(personal[at]?.to ?? "", one.segments, one.held);
      });
    }
  };
  await Promise.all(Array.from({ length: CALLS_MAX }, worker));
  const available = campaign.mode === "test" ? 0n : await wallets.available(campaign.tenantId);
  return { ...sums.total(), available, currency: campaign.currency };
}

/** Several readers share the pages: each page goes to one of them. */
async function* pagesOfWaiting(store: CampaignStore, campaignId: string): AsyncGenerator<Row[]> {
  const filter = { campaignId, statuses: ["waiting"] as const, limit: STEP };
  for (let afterIndex = -1; ; ) {
    const rows = await store.rows({ ...filter, afterIndex });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    afterIndex = last.index;
  }
}

/** Throws `insufficient_balance` when the available balance does not cover the estimate. */
export function checkCovered({ amount, available, currency }: Estimate, format: Format): void {
  if (amount <= available) return;
  throw new AppError("insufficient_balance", "The available balance does not cover the campaign.", {
    extra: {
      required_amount: format(amount),
      available_amount: format(available),
      currency,
    },
  });
}

type Format = (amount: bigint) => string;

/** The text of one row. */
export type Preview = {
  readonly row: Row;
  readonly body: string;
  readonly segments: number;
  readonly error: RowError | undefined;
};

/** The texts of the first rows. */
export async function preview(
  store: CampaignStore,
  campaign: Campaign,
  limit: number,
): Promise<Preview[]> {
  const template = templateOf(campaign);
  const filter = { campaignId: campaign.id, statuses: [], afterIndex: -1, limit };
  return (await store.rows(filter)).map((row) => {
    const text = personalise(campaign, template, row);
    if ("error" in text) return { row, body: "", segments: 0, error: text.error };
    const { segments } = describeText(text.body);
    return { row, body: text.body, segments, error: undefined };
  });
}

function newSums() {
  const rejected = new Map<string, number>();
  const countries = new Map<string, CountrySum>();
  let recipients = 0;
  let segments = 0;
  let amount = 0n;
  return {
    reject({ code }: RowError) {
      rejected.set(code, (rejected.get(code) ?? 0) + 1);
    },
    add(to: string, count: number, held: bigint) {
      recipients += 1;
      segments += count;
      amount += held;
      const parsed = parseRecipient(to);
      const country = parsed.ok ? parsed.country : "001";
      const sum = countries.get(country) ?? { recipients: 0, segments: 0, amount: 0n };
      countries.set(country, {
        recipients: sum.recipients + 1,
        segments: sum.segments + count,
        amount: sum.amount + held,
      });
    },
    total: () => ({ recipients, rejected, segments, amount, countries }),
  };
}
