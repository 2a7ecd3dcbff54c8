import type { Db } from "mongodb";
import { OPERATOR_ROLES } from "../shared/core/operator-roles.ts";
import { ROLES } from "../shared/core/roles.ts";
import { AUDIT } from "../shared/io/audit-log.ts";
import { KEYED_ANSWER_SHAPES } from "../shared/io/keyed-answers.ts";
import { type CollectionShape, shapeCollections } from "../shared/io/migration.ts";

const SHAPES: readonly CollectionShape[] = [
  {
    name: "tenants",
    indexes: [{ key: { name: 1 }, name: "name", unique: true }],
    validator: {
      bsonType: "object",
      required: ["_id", "name", "suspended", "email_verified", "rate_limit", "burst", "version"],
      properties: {
        _id: { bsonType: "string", pattern: "^ten_" },
        name: { bsonType: "string", maxLength: 100 },
        suspended: { bsonType: "bool" },
        email_verified: { bsonType: "bool" },
      },
    },
  },
  {
    name: "api_keys",
    indexes: [
      { key: { hash: 1 }, name: "hash", unique: true },
      { key: { tenant_id: 1, _id: 1 }, name: "tenant" },
    ],
    validator: {
      bsonType: "object",
      required: ["_id", "tenant_id", "hash", "mode", "scopes"],
      properties: {
        _id: { bsonType: "string", pattern: "^key_" },
        hash: { bsonType: "binData" },
        mode: { enum: ["live", "test"] },
        name: { bsonType: "string", maxLength: 100 },
        expires_at: { bsonType: "date" },
        last_used_at: { bsonType: "date" },
      },
    },
  },
];

const TEXT = { bsonType: "string" };
const DATE = { bsonType: "date" };

/** People, their places in tenants, and how they sign in. */
const IDENTITY_SHAPES: readonly CollectionShape[] = [
  {
    name: "people",
    indexes: [{ key: { email: 1 }, name: "email", unique: true }],
    validator: {
      bsonType: "object",
      required: ["_id", "email"],
      properties: { _id: { bsonType: "string", pattern: "^usr_" }, email: TEXT },
    },
  },
  {
    name: "memberships",
    indexes: [
      { key: { tenant_id: 1, email: 1 }, name: "tenant" },
      { key: { person_id: 1, invited_at: 1 }, name: "person" },
    ],
    validator: {
      bsonType: "object",
      required: ["_id", "tenant_id", "person_id", "email", "role", "invited_at"],
      properties: {
        tenant_id: { bsonType: "string", pattern: "^ten_" },
        person_id: { bsonType: "string", pattern: "^usr_" },
        role: { enum: [...ROLES] },
      },
    },
  },
  {
    name: "sign_in_links",
    indexes: [
      { key: { expires_at: 1 }, name: "kept", expireAfterSeconds: 0 },
      { key: { person_id: 1 }, name: "person" },
    ],
    validator: {
      bsonType: "object",
      required: ["_id", "kind", "expires_at"],
      properties: { _id: { bsonType: "binData" }, expires_at: DATE },
    },
  },
  {
    name: "sessions",
    indexes: [
      { key: { hash: 1 }, name: "hash", unique: true },
      { key: { person_id: 1, _id: -1 }, name: "person" },
      { key: { expires_at: 1 }, name: "kept", expireAfterSeconds: 0 },
    ],
    validator: {
      bsonType: "object",
      required: ["_id", "hash", "tenant_id", "role", "last_seen_at", "expires_at"],
      properties: {
        _id: { bsonType: "string", pattern: "^ses_" },
        hash: { bsonType: "binData" },
        role: { enum: [...ROLES] },
      },
    },
  },
  {
    name: "second_factors",
    indexes: [],
    validator: {
      bsonType: "object",
      required: ["_id", "secret", "last_step", "recovery"],
      properties: {
        _id: { bsonType: "string", pattern: "^usr_" },
        secret: TEXT,
        enabled_at: DATE,
        recovery: { bsonType: "array" },
      },
    },
  },
  {
    name: "oidc_sign_ins",
    indexes: [{ key: { expires_at: 1 }, name: "kept", expireAfterSeconds: 0 }],
    validator: {
      bsonType: "object",
      required: ["_id", "checks", "expires_at"],
      properties: { _id: { bsonType: "binData" }, checks: TEXT, expires_at: DATE },
    },
  },
  {
    name: "operator_oidc_sign_ins",
    indexes: [{ key: { expires_at: 1 }, name: "kept", expireAfterSeconds: 0 }],
    validator: {
      bsonType: "object",
      required: ["_id", "checks", "expires_at"],
      properties: { _id: { bsonType: "binData" }, checks: TEXT, expires_at: DATE },
    },
  },
  {
    name: "sign_in_attempts",
    indexes: [{ key: { expires_at: 1 }, name: "kept", expireAfterSeconds: 0 }],
    validator: { bsonType: "object", required: ["_id", "count", "next_at", "expires_at"] },
  },
];

/** Operators, and how they sign in: apart from tenants' people, so that no secret of the one opens the other. */
const OPERATOR_SHAPES: readonly CollectionShape[] = [
  {
    name: "operators",
    indexes: [],
    validator: {
      bsonType: "object",
      required: ["_id", "role", "created_at"],
      properties: { _id: TEXT, role: { enum: [...OPERATOR_ROLES] } },
    },
  },
  {
    name: "operator_links",
    indexes: [
      { key: { expires_at: 1 }, name: "kept", expireAfterSeconds: 0 },
      { key: { person: 1 }, name: "person" },
    ],
    validator: {
      bsonType: "object",
      required: ["_id", "person", "expires_at"],
      properties: { _id: { bsonType: "binData" }, person: TEXT, expires_at: DATE },
    },
  },
  {
    name: "operator_sessions",
    indexes: [
      { key: { hash: 1 }, name: "hash", unique: true },
      { key: { person: 1, _id: -1 }, name: "person" },
      { key: { expires_at: 1 }, name: "kept", expireAfterSeconds: 0 },
    ],
    validator: {
      bsonType: "object",
      required: ["_id", "hash", "person", "last_seen_at", "expires_at"],
      properties: {
        _id: { bsonType: "string", pattern: "^ses_" },
        hash: { bsonType: "binData" },
        person: TEXT,
      },
    },
  },
];

/** Results of `smsctl check`. */
const CHECKS: CollectionShape = {
  name: "checks",
  indexes: [{ key: { expires_at: 1 }, name: "kept", expireAfterSeconds: 0 }],
  validator: {
    bsonType: "object",
    required: ["_id", "started_at", "finished_at", "expires_at", "ok"],
    properties: { _id: { bsonType: "string", pattern: "^chk_" }, expires_at: DATE },
  },
};

/** Creates or updates collections, indexes and validators. Idempotent. */
export function migrate(db: Db): Promise<void> {
  return shapeCollections(db, [
    ...SHAPES,
    ...IDENTITY_SHAPES,
    ...OPERATOR_SHAPES,
    CHECKS,
    ...KEYED_ANSWER_SHAPES,
    AUDIT,
  ]);
}
