/** API keys: request and response schemas. */
import { SCOPES } from "../../services/shared/core/scopes.ts";
import { CURSOR, LIMIT } from "./page-query.ts";
import type { QuerySchema } from "./query.ts";
import { constant, INSTANT, idOf, object, openEnum, orNull, type Schema } from "./schema-parts.ts";

/** An API key's id. */
export const API_KEY_ID = idOf("key");

/** Body of a new key. */
export const NEW_API_KEY = {
  type: "object",
  additionalProperties: false,
  required: ["scopes"],
  properties: {
    scopes: {
      type: "array",
      description: "What it may do: at least one scope, and none that the key that makes it lacks.",
      minItems: 1,
      maxItems: SCOPES.length,
      items: { type: "string", enum: SCOPES },
      examples: [["messages:send", "messages:read"]],
    },
    name: {
      type: ["string", "null"],
      description: "A note for people.",
      maxLength: 100,
      examples: ["Shop backend"],
    },
    allowed_networks: {
      type: "array",
      description:
        "IPv4 and IPv6 addresses or CIDRs from which it may be used; empty allows every address.",
      maxItems: 100,
      items: { type: "string", minLength: 1, maxLength: 64 },
      examples: [["203.0.113.0/24"]],
    },
    expires_at: {
      type: ["string", "null"],
      format: "date-time",
      description:
        "It is not valid from this RFC 3339 instant on; between a minute and ten years from now. Null means never.",
      examples: ["2027-11-02T00:00:00Z"],
    },
  },
} as const;

/** Query of the list. */
export const API_KEY_LIST: QuerySchema = { limit: LIMIT, cursor: CURSOR };

const PROPERTIES = {
  id: API_KEY_ID,
  object: constant("api_key"),
  name: { type: ["string", "null"] },
  mode: openEnum(["live", "test"], "A test key makes test messages and sees nothing that is live."),
  scopes: { type: "array", items: { type: "string" } },
  allowed_networks: {
    type: "array",
    description: "Empty allows every address.",
    items: { type: "string" },
  },
  hint: {
    type: ["string", "null"],
    description: "The last four characters of its secret; null for some old keys.",
  },
  status: openEnum(["active", "expired", "revoked"]),
  created_at: INSTANT,
  last_used_at: { ...orNull(INSTANT), description: "To about a minute; null while unused." },
  expires_at: orNull(INSTANT),
  revoked_at: orNull(INSTANT),
} as const;

/** Response schemas. */
export const API_KEY_SCHEMAS: Readonly<Record<string, Schema>> = {
  ApiKey: object(PROPERTIES),
  ApiKeyWithSecret: object({
    ...PROPERTIES,
    secret: {
      type: "string",
      pattern: "^sk_(live|test)_[A-Za-z0-9_-]{43}$",
      description: "Shown this once.",
    },
  }),
};
