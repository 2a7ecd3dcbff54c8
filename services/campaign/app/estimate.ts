/** Estimates the cost of a campaign, and previews its texts. Nothing is held or stored. */
import { AppError } from "../../shared/core/errors.ts";
import { formatAmount } from "../../shared/core/money.ts";
import { parseRecipient } from "../../shared/core/phone.ts";
import { describeText } from "../../shared/core/segments.ts";
import type { Campaign } from "../domain/campaign.ts";
import type { Row, RowError } from "../domain/row.ts";
import { personalise, templateOf } from "./personalise.ts";
import type { CampaignStore, EstimatedSums, Messaging, RecipientText, Wallets } from "./ports.ts";

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
  readonly messaging: Pick<Messaging, "estimateSums">;
  readonly wallets: Wallets;
};

/** Rows of one `EstimateSend` call. */
const STEP = 1000;
/** Concurrent calls: rows are read while others are priced. */
const CALLS_MAX = 4;

/** Prices every waiting row. Throws what a send would throw for its tenant or sender ID. */
export async function estimate(parts: EstimateParts, campaign: Campaign): Promise<Estimate> {
  const { store, messaging, wallets } = parts;
  const sums = newSums();
  const batches = batchesOf(store, campaign, sums.reject);
  const worker = async () => {
    for await (const { country, recipients } of batches) {
      sums.add(country, await messaging.estimateSums(campaign, recipients));
    }
  };
  await Promise.all(Array.from({ length: CALLS_MAX }, worker));
  const available = campaign.mode === "test" ? 0n : await wallets.available(campaign.tenantId);
  return { ...sums.total(), available, currency: campaign.currency };
}

type Batch = { readonly country: string; readonly recipients: readonly RecipientText[] };

/**
 * The texts of waiting rows in batches of one country. Several readers share the generator: each batch goes to one of
 * them.
 */
async function* batchesOf(
  store: CampaignStore,
  campaign: Campaign,
  reject: (error: RowError) => void,
): AsyncGenerator<Batch> {
  const template = templateOf(campaign);
  const filter = { rowSet: campaign.rowSet, statuses: ["waiting"] as const, limit: STEP };
  const byCountry = new Map<string, RecipientText[]>();
  for (let afterIndex = -1; ; ) {
    const rows = await store.rows({ ...filter, afterIndex });
    const last = rows.at(-1);
    if (last === undefined) break;
    afterIndex = last.index;
    for (const row of rows) {
      const text = personalise(campaign, template, row);
      if ("error" in text) {
        reject(text.error);
        continue;
      }
      const country = countryOf(row.to);
      const recipients = byCountry.get(country) ?? [];
      byCountry.set(country, recipients);
      if (recipients.push(text) < STEP) continue;
      byCountry.delete(country);
      yield { country, recipients };
    }
  }
  for (const [country, recipients] of byCountry) yield { country, recipients };
}

function countryOf(to: string): string {
  const parsed = parseRecipient(to);
  return parsed.ok ? parsed.country : "001";
}

/** Throws `insufficient_balance` when the available balance does not cover the estimate. */
export function checkCovered({ amount, available, currency }: Estimate): void {
  if (amount <= available) return;
  throw new AppError("insufficient_balance", "The available balance does not cover the campaign.", {
    extra: {
      required_amount: formatAmount(amount),
      available_amount: formatAmount(available),
      currency,
    },
  });
}

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
  const filter = { rowSet: campaign.rowSet, statuses: [], afterIndex: -1, limit };
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
  const sum = { recipients: 0, segments: 0, amount: 0n };
  const reject = ({ code }: RowError): void => {
    rejected.set(code, (rejected.get(code) ?? 0) + 1);
  };
  return {
    reject,
    add(country: string, made: EstimatedSums): void {
      made.rejected.forEach(reject);
      if (made.recipients === 0) return;
      const ofCountry = countries.get(country) ?? { recipients: 0, segments: 0, amount: 0n };
      countries.set(country, ofCountry);
      for (const one of [sum, ofCountry]) {
        one.recipients += made.recipients;
        one.segments += made.segments;
        one.amount += made.held;
      }
    },
    total: () => ({ ...sum, rejected, countries }),
  };
}
