/**
 * The OpenAPI 3.1 document, built from the operations: it publishes the schemas that validate requests, and
 * describes every error that an operation names.
 */
import { KEY_FORM } from "../../services/shared/core/idempotency-key.ts";
import type { Operation } from "../operations/operation.ts";
import { ACCOUNT_CHANGE } from "../schemas/account.ts";
import { NEW_API_KEY } from "../schemas/api-keys.ts";
import {
  CAMPAIGN_CHANGE,
  CAMPAIGN_TEST,
  NEW_CAMPAIGN,
  NEW_RECIPIENT,
  NEW_RECIPIENTS,
  PREVIEW,
  QUIET_HOURS,
} from "../schemas/campaigns.ts";
import { NEW_SUPPRESSION, NEW_SUPPRESSIONS } from "../schemas/consent.ts";
import { EVENT, EVENT_PAGE } from "../schemas/events.ts";
import { NEW_SENDER_ID } from "../schemas/lists.ts";
import { DELIVERY_STATUS, RESPONSE_SCHEMAS, SENDER_ID_STATUS } from "../schemas/responses.ts";
import { MESSAGE_SOURCE } from "../schemas/schema-parts.ts";
import {
  BATCH_ITEM,
  BATCH_SEND,
  BULK_SEND,
  MESSAGE_PREVIEW,
  SINGLE_SEND,
  TRAFFIC_CLASS,
} from "../schemas/sends.ts";
import {
  EMPTY_BODY,
  ENDPOINT_CHANGE,
  EVENT_TYPE,
  NEW_ENDPOINT,
  RECOVERY,
} from "../schemas/webhooks.ts";
import { ENVELOPES } from "./envelopes.ts";
import { EVENT_SCHEMAS } from "./event-schemas.ts";
import { HEADERS, RATE_LIMIT, responseHeaders } from "./headers.ts";
import { componentRef, DEPRECATION, type OperationDoc, type Schema } from "./operation-doc.ts";
import { type ProblemResponses, problemResponses } from "./problem-responses.ts";
import {
  type Nullable,
  namedSchemas,
  referenceOrNull,
  withoutNull,
  withReferences,
} from "./references.ts";
import { EVENT_CALLBACKS, EVENT_EXAMPLES, WEBHOOKS } from "./webhook-events.ts";

/** The addresses that the document contains. */
export type DocumentOptions = {
  /** The address of the API; `/` means the same host as the document. */
  readonly baseUrl: string;
  readonly docsUrl: string;
};

const DESCRIPTION = `Send SMS to one or many recipients, follow each message to its delivery, \
cancel what has not been sent, and read the wallet's balance.

Every request carries \`Authorization: Bearer <API_KEY>\`. Amounts are decimal strings with four \
fraction digits, instants are RFC 3339 in UTC. Clients ignore members and enumeration values that \
they do not know. Errors are problems (RFC 9457): branch on \`code\`.`;

export function buildOpenApi(operations: readonly Operation[], options: DocumentOptions) {
  const paths: Record<string, Record<string, unknown>> = {};
  const responses: Record<string, object> = {};
  for (const operation of operations) {
    if (operation.isRemoved === true) continue;
    const path = operation.path.replace(/:(\w+)/g, "{$1}");
    const { errors } = operation.doc;
    const problems = problemResponses(errors, options.docsUrl, operation.isDeprecated === true);
    Object.assign(responses, problems.components);
    const described = describeOperation(operation, problems.references);
    paths[path] ??= {};
    paths[path][operation.method.toLowerCase()] = withReferences(described, NAMED);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "SMS messaging API",
      version: "0.2.0",
      description: DESCRIPTION,
      contact: { name: "API support", url: options.docsUrl },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: options.baseUrl }],
    externalDocs: { description: "Reference and error pages", url: options.docsUrl },
    security: [{ apiKey: [] }],
    tags: [...new Set(operations.map(({ doc }) => doc.tag))].map(describeTag),
    paths,
    webhooks: WEBHOOKS,
    components: {
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          description:
            "An API key: sk_live_…, or sk_test_… for test mode, in which messages reach no phone and cost nothing.",
        },
      },
      headers: HEADERS,
      responses,
      schemas: withExamples(namedSchemas(SCHEMAS, NAMED), operations),
    },
  } as const;
}

/**
 * Schemas of a word or null, by the schema name of the word alone. A map schema has a `title` and no name: a generator
 * for Java warns of a reference to a map.
 */
const NULLABLE: Readonly<Record<string, Nullable>> = {
  TrafficClass: TRAFFIC_CLASS,
  QuietHoursPolicy: QUIET_HOURS,
};

/** Every named schema. */
const SCHEMAS: Readonly<Record<string, Schema>> = {
  SingleSend: SINGLE_SEND,
  BulkSend: BULK_SEND,
  BatchSend: BATCH_SEND,
  BatchItem: BATCH_ITEM,
  MessagePreviewRequest: MESSAGE_PREVIEW,
  NewApiKey: NEW_API_KEY,
  AccountChange: ACCOUNT_CHANGE,
  NewSenderId: NEW_SENDER_ID,
  EmptyBody: EMPTY_BODY,
  NewWebhookEndpoint: NEW_ENDPOINT,
  WebhookEndpointChange: ENDPOINT_CHANGE,
  WebhookRecoveryRequest: RECOVERY,
  NewCampaign: NEW_CAMPAIGN,
  CampaignChange: CAMPAIGN_CHANGE,
  NewCampaignRecipients: NEW_RECIPIENTS,
  NewCampaignRecipient: NEW_RECIPIENT,
  CampaignPreviewRequest: PREVIEW,
  CampaignTest: CAMPAIGN_TEST,
  NewSuppressions: NEW_SUPPRESSIONS,
  NewSuppression: NEW_SUPPRESSION,
  MessageSource: MESSAGE_SOURCE,
  SenderIdStatus: SENDER_ID_STATUS,
  WebhookDeliveryStatus: DELIVERY_STATUS,
  EventType: EVENT_TYPE,
  Event: EVENT,
  EventPage: EVENT_PAGE,
  ...Object.fromEntries(
    Object.entries(NULLABLE).map(([name, schema]) => [name, withoutNull(schema)]),
  ),
  ...RESPONSE_SCHEMAS,
  ...ENVELOPES,
  ...EVENT_SCHEMAS,
};

const NAMED = new Map<unknown, Schema>([
  ...Object.entries(SCHEMAS).map(([name, schema]) => [schema, componentRef(name)] as const),
  ...Object.entries(NULLABLE).map(
    ([name, schema]) => [schema, referenceOrNull(name, schema)] as const,
  ),
]);

/**
 * Adds the examples of requests and events to their schemas: a generator for Java warns of each example
 * that is next to a request's schema.
 */
function withExamples(schemas: Record<string, object>, operations: readonly Operation[]) {
  const examples = new Map<string, readonly unknown[]>(EVENT_EXAMPLES);
  for (const { doc } of operations) {
    if (doc.body !== undefined) examples.set(doc.body.name, [doc.body.example]);
  }
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      examples.has(name) ? { ...schema, examples: examples.get(name) } : schema,
    ]),
  );
}

const TAGS: Readonly<Record<string, string>> = {
  Sending: "Send to one recipient, or to up to 1,000 in one request.",
  Messages: "Read, list and cancel messages.",
  Balance: "The wallet: what it has, what is held, what new sends may use.",
  "Sender IDs":
    "The names that messages come from, whether each can be used now, and requests of new ones.",
  Campaigns:
    "One text with placeholders to many recipients: each once, within a budget, stopped at any time.",
  Consent: "Inbound messages of handsets, and the numbers that you must not send to.",
  Usage: "How many messages there were, and what they cost.",
  Account: "Its settings, and who changed what.",
  "API keys": "The keys of the account: what each may do, and when it was last used.",
  Events: "Changes in the account, for clients that read them instead of being called.",
  "Webhook endpoints": "Where events go, and what became of each delivery.",
};

function describeTag(name: string) {
  return { name, ...(TAGS[name] === undefined ? {} : { description: TAGS[name] }) };
}

function describeOperation(operation: Operation, problems: ProblemResponses["references"]) {
  const { doc, scope } = operation;
  const { body } = doc;
  return {
    operationId: doc.id,
    tags: [doc.tag],
    summary: doc.summary,
    description: `${doc.description}${describeFile(body?.csvExample)}\n\nNeeds the scope \`${scope}\`.`,
    ...(operation.isDeprecated === true ? { deprecated: true } : {}),
    parameters: describeParameters(doc),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.isRequired,
            content: { "application/json": { schema: bodySchema(body) } },
          },
        }),
    responses: { [doc.response.status]: describeSuccess(operation), ...problems },
    ...(doc.isFollowedByEvents === true ? { callbacks: EVENT_CALLBACKS } : {}),
    "x-required-scope": scope,
  };
}

/** A body that is not required may also be `null`, which some clients send in place of nothing. */
function bodySchema({ name, isRequired }: NonNullable<OperationDoc["body"]>): Schema {
  const schema = componentRef(name);
  return isRequired ? schema : { anyOf: [schema, { type: "null" }] };
}

/** Describes the CSV form of a request's body; empty when the operation takes no file. */
function describeFile(example: string | undefined): string {
  if (example === undefined) return "";
  return `\n\nA file has \`Content-Type: text/csv\`:\n\n\`\`\`csv\n${example.trim().replaceAll("\r", "")}\n\`\`\``;
}

/** The CSV form of a response; empty when the operation answers JSON only. */
function csvContent(example: string | undefined) {
  if (example === undefined) return {};
  return { "text/csv": { schema: { type: "string" }, example } };
}

function describeParameters({ params, query, takesIdempotencyKey }: OperationDoc) {
  const inPath = Object.entries(params ?? {}).map(([name, schema]) => ({
    name,
    in: "path",
    required: true,
    schema,
  }));
  const inQuery = Object.entries(query ?? {}).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: false,
    description,
    schema,
    ...(schema.type === "array" ? { style: "form", explode: true } : {}),
  }));
  return [...inPath, ...inQuery, ...(takesIdempotencyKey === true ? [IDEMPOTENCY_KEY] : [])];
}

const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "Makes a retry safe; recommended on every send. For 24 hours after the first request that succeeded the " +
    "same key with the same body answers its stored response, with `Idempotent-Replayed: true`. A request " +
    "that failed leaves its key free. Another body under a used key is 409 `idempotency_key_reused`; while " +
    "the first request runs, its repeat is 409 `conflict`. A key belongs to one endpoint, and a cancel's to " +
    "its message.",
  schema: { type: "string", pattern: KEY_FORM.source },
  example: "order-1001-attempt",
} as const;

function describeSuccess({ doc, isDeprecated }: Operation) {
  const { response } = doc;
  const deprecation = isDeprecated === true ? DEPRECATION : [];
  return {
    description: response.description,
    headers: responseHeaders([...RATE_LIMIT, ...(response.headers ?? []), ...deprecation]),
    ...(response.schema === undefined
      ? {}
      : {
          content: {
            "application/json": { schema: response.schema, example: response.example },
            ...csvContent(response.csvExample),
          },
        }),
    ...(response.leadsTo === undefined ? {} : { links: linksOf(response.leadsTo) }),
  };
}

/** OpenAPI links: operations on the created resource. */
function linksOf(leadsTo: Readonly<Record<string, string>>) {
  const entries = Object.entries(leadsTo).map(([operationId, parameter]) => [
    operationId,
    { operationId, parameters: { [parameter]: "$response.body#/data/id" } },
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}
