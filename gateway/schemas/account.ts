/** The account: request and response schemas. */
import {
  AMOUNT,
  COUNT,
  CURRENCY,
  constant,
  INSTANT,
  idOf,
  object,
  openEnum,
  orNull,
  type Schema,
} from "./schema-parts.ts";

/** Body of a change; absent members keep their value. */
export const ACCOUNT_CHANGE = {
  type: "object",
  additionalProperties: false,
  minProperties: 1,
  properties: {
    low_balance_threshold: {
      type: "string",
      description:
        "The event `wallet.low_balance` is sent when `available` falls below it; 0 or more, with at most four " +
        "decimals.",
      pattern: "^\\d{1,13}(\\.\\d{1,4})?$",
      examples: ["500.0000"],
    },
    redact_bodies: {
      type: "boolean",
      description:
        "Whether messages accepted from now on lose their text at the final status, and events have none.",
    },
    quiet_hours: {
      type: "string",
      enum: ["hold", "reject"],
      description: "Whether a message inside quiet hours waits for their end, or is refused.",
    },
  },
} as const;

/** Response schemas. */
export const ACCOUNT_SCHEMAS: Readonly<Record<string, Schema>> = {
  Account: object({
    id: idOf("ten"),
    object: constant("account"),
    name: { type: "string" },
    status: openEnum(["active", "suspended"], "A suspended account may read, and not send."),
    email_verified: { type: "boolean", description: "Sending needs it." },
    currency: CURRENCY,
    low_balance_threshold: { ...orNull(AMOUNT), description: "Null without a wallet." },
    redact_bodies: { type: "boolean" },
    quiet_hours: openEnum(["hold", "reject"], "Whether a message inside quiet hours waits."),
    requests_per_second: { ...COUNT, description: "The sustained rate limit." },
    requests_burst: { ...COUNT, description: "What the bucket of the rate limit holds." },
    bulk_recipients_max: COUNT,
    created_at: INSTANT,
    updated_at: INSTANT,
  }),
};
