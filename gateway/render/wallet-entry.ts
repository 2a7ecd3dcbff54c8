import { type Entry, EntryKind } from "../../proto/gen/sms/v1/wallet_pb.js";
import { formatAmount } from "../../services/shared/core/money.ts";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";
import type { ENTRY_KIND_NAMES } from "../schemas/wallet.ts";
import { csvText } from "./csv-text.ts";
import { textOrNull } from "./message.ts";

type KindName = (typeof ENTRY_KIND_NAMES)[number];

/** Kinds of statement lines by public name. */
export const ENTRY_KIND_NUMBERS: Readonly<Record<KindName, EntryKind>> = {
  top_up: EntryKind.FUND,
  charge: EntryKind.CAPTURE,
  adjustment: EntryKind.ADJUST,
  hold: EntryKind.HOLD,
  release: EntryKind.RELEASE,
};

const KIND_NAMES = new Map(
  Object.entries(ENTRY_KIND_NUMBERS).map(([name, kind]) => [kind, name as KindName]),
);

/** Renders a statement line (`docs/contract.md#statement`). */
export function renderWalletEntry(entry: Entry) {
  return {
    id: entry.id,
    object: "wallet_entry",
    kind: KIND_NAMES.get(entry.kind) ?? "",
    amount: formatAmount(amountOf(entry)),
    currency: entry.currency,
    balance_after: formatAmount(entry.balanceAfter),
    held_after: formatAmount(entry.heldAfter),
    available_after: formatAmount(entry.balanceAfter - entry.heldAfter),
    message_id: textOrNull(entry.messageId),
    reservation_id: textOrNull(entry.reservationId),
    reference: textOrNull(entry.reference),
    memo: textOrNull(entry.reason),
    campaign_id: textOrNull(entry.campaignId),
    created_at: formatInstant(Number(entry.createdAtMs)),
  };
}

/** The change of the balance. A hold or release does not change the balance: the change of the available amount. */
function amountOf({ kind, postings }: Entry): bigint {
  const isInside = kind === EntryKind.HOLD || kind === EntryKind.RELEASE;
  return postings
    .filter(({ account }) => account === "available" || (account === "held" && !isInside))
    .reduce((sum, { amount }) => sum + amount, 0n);
}

const COLUMNS = [
  "created_at",
  "kind",
  "amount",
  "currency",
  "balance_after",
  "held_after",
  "available_after",
  "message_id",
  "reservation_id",
  "reference",
  "memo",
  "id",
  // New columns come last: programs that read a file by position find the others where they were.
  "campaign_id",
] as const;

/** Columns with texts of people, which a spreadsheet must not run. */
const GUARDED = [COLUMNS.indexOf("reference"), COLUMNS.indexOf("memo")];

/** The first line of a statement as CSV. */
export const STATEMENT_CSV_HEADER = csvText([COLUMNS]);

/** Renders statement lines as CSV. */
export function renderStatementCsv(entries: readonly Entry[]): string {
  const rows = entries.map((entry) => {
    const line = renderWalletEntry(entry);
    return COLUMNS.map((column) => line[column] ?? "");
  });
  return csvText(rows, GUARDED);
}
