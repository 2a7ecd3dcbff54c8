import { EVENT_TYPES } from "../../services/shared/core/event-types.ts";
import { MESSAGE_SOURCE } from "./schema-parts.ts";

/** Body of an operation without parameters. */
export const EMPTY_BODY = {
  type: "object",
  description: "No members: this operation takes no parameters in its body.",
  additionalProperties: false,
  properties: {},
} as const;

/** An event type in a request. In responses it is open: types may be added. */
export const EVENT_TYPE = { type: "string", enum: EVENT_TYPES } as const;

const URL_FIELD = {
  type: "string",
  description:
    "HTTPS on port 443 or 8443, with a host name that resolves only to public addresses, and no " +
    "user name or password.",
  minLength: 1,
  maxLength: 2048,
  examples: ["https://example.com/sms-events"],
} as const;

const WANTED_TYPES = {
  type: "array",
  description:
    "Event types that are wanted. `wallet.*` and `sender_id.*` are sent to live endpoints only.",
  minItems: 1,
  maxItems: 64,
  items: EVENT_TYPE,
  examples: [["message.status_changed"]],
} as const;

const SOURCES = {
  type: "array",
  description: "Message sources whose events are wanted; empty means all.",
  maxItems: 16,
  items: MESSAGE_SOURCE,
  examples: [["api"]],
} as const;

const DESCRIPTION = {
  type: "string",
  description: "A note for people.",
  maxLength: 256,
} as const;

/** Body of a new webhook endpoint. */
export const NEW_ENDPOINT = {
  type: "object",
  additionalProperties: false,
  required: ["url"],
  properties: {
    url: URL_FIELD,
    event_types: {
      ...WANTED_TYPES,
      description: `${WANTED_TYPES.description} \`message.status_changed\` alone when absent.`,
    },
    sources: SOURCES,
    description: DESCRIPTION,
  },
} as const;

/** Body of a change to a webhook endpoint; absent members keep their value. */
export const ENDPOINT_CHANGE = {
  type: "object",
  additionalProperties: false,
  minProperties: 1,
  properties: {
    url: URL_FIELD,
    status: {
      type: "string",
      description: "Disabling stops sending at once; deliveries that are due are dropped.",
      enum: ["enabled", "disabled"],
    },
    event_types: WANTED_TYPES,
    sources: SOURCES,
    description: DESCRIPTION,
  },
} as const;

/** Body of a recovery. */
export const RECOVERY = {
  type: "object",
  additionalProperties: false,
  required: ["since"],
  properties: {
    since: {
      type: "string",
      format: "date-time",
      description:
        "Deliveries that were given up at or after this RFC 3339 instant, whenever they were created.",
      examples: ["2026-11-01T00:00:00.000Z"],
    },
  },
} as const;
