import type { Db, Document } from "mongodb";
import { AUDIT } from "../shared/io/audit-log.ts";
import { DEAD_LETTERS } from "../shared/io/dead-letters.ts";
import { type CollectionShape, shapeCollections } from "../shared/io/migration.ts";
import { migrateOutbox } from "../shared/io/outbox.ts";
import { ACCOUNTS, ENTRY_KINDS } from "./domain/account.ts";
import { FUNDING_STATES } from "./domain/funding-request.ts";

const text = { bsonType: "string" };
const long = { bsonType: "long" };
const count = { bsonType: ["int", "long", "double"], minimum: 0 };
const date = { bsonType: "date" };
const flag = { bsonType: "bool" };
const notNegative = { bsonType: "long", minimum: 0 };

/** A schema without unknown fields. All fields are required except `optional`. */
function closed(properties: Record<string, Document>, optional: readonly string[] = []): Document {
  return {
    bsonType: "object",
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    properties,
    additionalProperties: false,
  };
}

const SHAPES: readonly CollectionShape[] = [
  {
    name: "wallets",
    indexes: [],
    validator: closed({
      _id: text,
      currency: text,
      balance: notNegative,
      held: notNegative,
      low_balance_threshold: notNegative,
      frozen: flag,
      low: flag,
      version: count,
      sequence: count,
      last_hash: text,
      created_at: date,
      updated_at: date,
    }),
    // Available is never negative: the database rejects such a document.
    condition: { $lte: ["$held", "$balance"] },
  },
  {
    name: "reservations",
    indexes: [
      {
        key: { check_at: 1 },
        name: "open_check_at",
        partialFilterExpression: { state: "open" },
      },
    ],
    validator: closed(
      {
        _id: text,
        tenant_id: text,
        amount: notNegative,
        open_amount: notNegative,
        fenced_amount: notNegative,
        state: { enum: ["open", "closed"] },
        message_count: count,
        settled_count: count,
        first_message_id: text,
        last_message_id: text,
        campaign_id: text,
        created_at: date,
        check_at: date,
        checks: count,
      },
      // n-1: the settled count is required from 0.4.0. Version 0.2.0 writes none.
      ["settled_count", "campaign_id"],
    ),
    condition: {
      $and: [
        { $lte: [{ $add: ["$open_amount", "$fenced_amount"] }, "$amount"] },
        { $eq: [{ $eq: ["$state", "closed"] }, { $eq: ["$open_amount", 0] }] },
      ],
    },
  },
  {
    name: "settlements",
    indexes: [{ key: { reservation_id: 1 }, name: "reservation" }],
    validator: closed({
      _id: text,
      tenant_id: text,
      reservation_id: text,
      held_amount: notNegative,
      captured_amount: notNegative,
      settled_at: date,
    }),
    condition: { $lte: ["$captured_amount", "$held_amount"] },
  },
  {
    name: "entries",
    indexes: [
      { key: { tenant_id: 1, sequence: 1 }, name: "sequence", unique: true },
      { key: { tenant_id: 1, created_at: -1, sequence: -1 }, name: "statement" },
      {
        // Has fundings and adjustments alone: their statement needs no scan over the messages of a busy wallet.
        key: { tenant_id: 1, created_at: -1, sequence: -1 },
        name: "fundings",
        partialFilterExpression: { references: { $exists: true } },
      },
      {
        key: { tenant_id: 1, references: 1 },
        name: "references",
        unique: true,
        partialFilterExpression: { references: { $exists: true } },
      },
      {
        // One key for each campaign in a batch; a batch without one has no key.
        key: { tenant_id: 1, campaign_ids: 1, created_at: -1, sequence: -1 },
        name: "campaigns",
        partialFilterExpression: { campaign_ids: { $exists: true } },
      },
    ],
    validator: closed(
      {
        _id: text,
        tenant_id: text,
        sequence: { ...count, minimum: 1 },
        currency: text,
        created_at: date,
        balance_after: notNegative,
        held_after: notNegative,
        totals: closed(Object.fromEntries(ACCOUNTS.map((account) => [account, long]))),
        kinds: { bsonType: "array", minItems: 1, items: { enum: [...ENTRY_KINDS] } },
        references: { bsonType: "array", minItems: 1, items: text },
        campaign_ids: { bsonType: "array", minItems: 1, items: text },
        hash: { bsonType: "string", minLength: 64, maxLength: 64 },
        movements: { bsonType: "array", minItems: 1 },
      },
      ["references", "campaign_ids"],
    ),
    // Double entry: the sum over all accounts is zero.
    condition: { $eq: [0, { $add: ACCOUNTS.map((account) => `$totals.${account}`) }] },
  },
];

/** Fundings that persons asked for. */
const FUNDINGS: CollectionShape = {
  name: "fundings",
  indexes: [
    { key: { requested_by: 1, key: 1 }, name: "key", unique: true },
    { key: { state: 1, _id: -1 }, name: "state" },
    { key: { tenant_id: 1, _id: -1 }, name: "tenant" },
    { key: { requested_by: 1, currency: 1, requested_at: -1 }, name: "recent" },
  ],
  validator: closed(
    {
      _id: { bsonType: "string", pattern: "^fnd_" },
      tenant_id: text,
      amount: { bsonType: "long", minimum: 1 },
      currency: text,
      reason: { bsonType: "string", minLength: 1, maxLength: 512 },
      state: { enum: [...FUNDING_STATES] },
      requested_by: { bsonType: "string", minLength: 1 },
      requested_at: date,
      key: text,
      decided_by: { bsonType: "string", minLength: 1 },
      decided_at: date,
      failure: text,
    },
    ["decided_by", "decided_at", "failure"],
  ),
  // No person approves their own funding: the database rejects such a document. A person may refuse their own.
  condition: {
    $or: [{ $ne: ["$decided_by", "$requested_by"] }, { $eq: ["$state", "refused"] }],
  },
};

/** The persons who asked for fundings. */
const FUNDERS: CollectionShape = {
  name: "funders",
  indexes: [],
  validator: closed({ _id: { bsonType: "string", minLength: 1 }, requests: count }),
};

/** Creates or updates collections, indexes and validators. Idempotent. */
export async function migrate(db: Db): Promise<void> {
  await shapeCollections(db, [...SHAPES, FUNDINGS, FUNDERS, AUDIT, DEAD_LETTERS]);
  await migrateOutbox(db);
}
