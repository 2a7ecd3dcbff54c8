import { EVENT_TYPES } from "../../services/shared/core/event-types.ts";
import { LIMIT } from "./page-query.ts";
import type { QuerySchema } from "./query.ts";
import { INSTANT, idOf, object, openEnum, type Schema } from "./schema-parts.ts";
import { EVENT_TYPE } from "./webhooks.ts";

/** The longest wait of a request, in seconds. */
export const EVENT_WAIT_MAX_S = 20;

/** Query of the list of events (`docs/contract.md#event-list`). */
export const EVENT_LIST: QuerySchema = {
  event_type: { type: "array", description: "Only events of these types.", items: EVENT_TYPE },
  cursor: {
    type: "string",
    description: "The next_cursor of an earlier response; without it the next event is the first.",
    minLength: 1,
    maxLength: 256,
  },
  limit: { ...LIMIT, description: "The most events of a page." },
  wait: {
    type: "integer",
    description: "How many seconds to wait for a first event.",
    minimum: 0,
    maximum: EVENT_WAIT_MAX_S,
    default: 0,
  },
};

/** An event of any type; `data` depends on `type`. */
export const EVENT: Schema = object({
  api_version: { type: "string", const: "v1" },
  created_at: { ...INSTANT, description: "When the change happened." },
  data: {
    type: "object",
    description: "As in the webhook of this type.",
    additionalProperties: true,
  },
  id: { ...idOf("evt"), description: "The same as in the webhook. Deduplicate by it." },
  tenant_id: idOf("ten"),
  type: openEnum(EVENT_TYPES),
});

export const EVENT_PAGE: Schema = object({
  data: { type: "array", items: EVENT },
  next_cursor: {
    type: "string",
    maxLength: 256,
    description: "Give it as `cursor` of the next request; never null.",
  },
});
