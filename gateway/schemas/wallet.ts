/** The wallet's statement: query and response schemas. */
import { CURSOR, LIMIT } from "./page-query.ts";
import type { QuerySchema } from "./query.ts";
import {
  AMOUNT,
  CURRENCY,
  constant,
  INSTANT,
  idOf,
  object,
  openEnum,
  orNull,
  type Schema,
} from "./schema-parts.ts";

/** Kinds of statement lines. */
export const ENTRY_KIND_NAMES = ["top_up", "charge", "adjustment", "hold", "release"] as const;

/** The kinds that change the balance; those of a statement unless others are asked for. */
export const BALANCE_KINDS = ["top_up", "charge", "adjustment"] as const;

/** Query of the statement (`docs/contract.md#statement`). */
export const WALLET_ENTRY_LIST: QuerySchema = {
  kind: {
    type: "array",
    description:
      "Any of these kinds; those that change the balance when absent: top_up, charge and adjustment.",
    items: { type: "string", enum: ENTRY_KIND_NAMES },
  },
  created_after: {
    type: "string",
    format: "date-time",
    description: "At or after this RFC 3339 instant; 31 days before the end when absent.",
    examples: ["2026-10-01T00:00:00Z"],
  },
  created_before: {
    type: "string",
    format: "date-time",
    description: "Before this RFC 3339 instant; now when absent.",
    examples: ["2026-11-01T00:00:00Z"],
  },
  campaign_id: {
    type: "string",
    description: "Lines of this campaign's messages.",
    pattern: "^cmp_[0-9A-HJKMNP-TV-Z]{26}$",
  },
  limit: LIMIT,
  cursor: CURSOR,
};

const WALLET_ENTRY = object({
  id: idOf("led"),
  object: constant("wallet_entry"),
  kind: openEnum(
    ENTRY_KIND_NAMES,
    "A hold reserves money for messages, and a release returns the part that was not charged.",
  ),
  amount: {
    ...AMOUNT,
    description:
      "What it adds to the balance, or takes from it; of a hold and a release what it takes from, or adds to, the " +
      "available amount.",
  },
  currency: CURRENCY,
  balance_after: AMOUNT,
  held_after: AMOUNT,
  available_after: AMOUNT,
  message_id: { ...orNull({ type: "string" }), description: "Of a charge and most releases." },
  reservation_id: { ...orNull({ type: "string" }), description: "The hold of a send." },
  reference: { ...orNull({ type: "string" }), description: "Of a top-up or an adjustment." },
  memo: { ...orNull({ type: "string" }), description: "Why an adjustment was made." },
  campaign_id: {
    ...orNull(idOf("cmp")),
    description: "Of the holds, charges and releases of a campaign's messages.",
  },
  created_at: INSTANT,
});

/** Response schemas. */
export const WALLET_SCHEMAS: Readonly<Record<string, Schema>> = { WalletEntry: WALLET_ENTRY };
