/** The audit trail: query and response schemas. */
import { AUDIT_ACTIONS } from "../render/audit-entry.ts";
import { CURSOR, LIMIT } from "./page-query.ts";
import type { QuerySchema } from "./query.ts";
import { constant, INSTANT, idOf, object, openEnum, orNull, type Schema } from "./schema-parts.ts";

const ACTIONS = [...new Set(Object.values(AUDIT_ACTIONS))].sort();

/** Query of the list. */
export const AUDIT_LIST: QuerySchema = {
  action: { type: "string", description: "Changes of this kind.", enum: ACTIONS },
  actor: {
    type: "string",
    description: "Changes by this API key, as `api_key:` and its id.",
    pattern: "^api_key:key_[0-9A-HJKMNP-TV-Z]{26}$",
    examples: ["api_key:key_01M3V7ME00T9W4M2N8R7C3D6EK"],
  },
  created_after: {
    type: "string",
    format: "date-time",
    description: "At or after this RFC 3339 instant.",
    examples: ["2026-11-01T00:00:00Z"],
  },
  created_before: {
    type: "string",
    format: "date-time",
    description: "Before this RFC 3339 instant; now when absent.",
    examples: ["2026-11-08T00:00:00Z"],
  },
  limit: LIMIT,
  cursor: CURSOR,
};

const AUDITED_FIELDS = {
  type: ["object", "null"],
  description: "The fields that changed; a secret is shown as `hidden`.",
  additionalProperties: true,
} as const;

const AUDIT_ACTOR = object({
  type: openEnum(["api_key", "person", "operator"]),
  id: { type: ["string", "null"], description: "Of a key its id, of a person the name." },
  address: { type: ["string", "null"] },
});

/** Response schemas. */
export const AUDIT_SCHEMAS: Readonly<Record<string, Schema>> = {
  AuditActor: AUDIT_ACTOR,
  AuditEntry: object({
    id: idOf("aud"),
    object: constant("audit_entry"),
    action: openEnum([...ACTIONS, "other"]),
    actor: AUDIT_ACTOR,
    subject: { ...orNull({ type: "string" }), description: "The id of what changed." },
    before: { ...AUDITED_FIELDS, title: "Before" },
    after: { ...AUDITED_FIELDS, title: "After" },
    request_id: orNull({ type: "string" }),
    created_at: INSTANT,
  }),
};
