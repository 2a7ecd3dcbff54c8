/**
 * The OpenAPI 3.1 document, built from the operations: it publishes the schemas that validate requests, and
 * describes every error that an operation names.
 */
import { ERRORS, type ErrorCode } from "../../services/shared/core/errors.ts";
import { KEY_FORM } from "../../services/shared/core/idempotency-key.ts";
import type { Operation } from "../operations/operation.ts";
import {
  CAMPAIGN_CHANGE,
  CAMPAIGN_TEST,
  NEW_CAMPAIGN,
  NEW_RECIPIENTS,
} from "../schemas/campaigns.ts";
import { NEW_SUPPRESSIONS } from "../schemas/consent.ts";
import { RESPONSE_SCHEMAS } from "../schemas/responses.ts";
import { BATCH_SEND, BULK_SEND, SINGLE_SEND } from "../schemas/sends.ts";
import { ENDPOINT_CHANGE, NEW_ENDPOINT, RECOVERY } from "../schemas/webhooks.ts";
import { problemExample } from "./content/problem-examples.ts";
import { HEADERS } from "./headers.ts";
import type { HeaderName, OperationDoc, Schema } from "./operation-doc.ts";
import { EVENT_SCHEMAS, WEBHOOKS } from "./webhook-events.ts";

/** The addresses in the document. */
export type DocumentOptions = {
  /** The address of the API; `/` means the same host as the document. */
  readonly baseUrl: string;
  readonly docsUrl: string;
};

/** Error codes that every operation may return. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  "bad_request",
  "unauthenticated",
  "ip_not_allowed",
  "insufficient_scope",
  "request_timeout",
  "payload_too_large",
  "unsupported_media_type",
  "validation_error",
  "rate_limited",
  "headers_too_large",
  "internal_error",
  "service_unavailable",
];

/** Statuses returned before the rate limit, so without RateLimit headers. */
const UNLIMITED: ReadonlySet<number> = new Set([400, 401, 408, 413, 415, 431]);

/** Statuses returned before or after the rate limit: before it for `ip_not_allowed` and load shedding. */
const AT_TIMES_LIMITED: ReadonlySet<number> = new Set([403, 500, 503]);

/** Statuses returned before the operation is known, so without its own headers. */
const UNREACHED: ReadonlySet<number> = new Set([413, 415, 431]);

/** Statuses returned before or after the operation is known. */
const AT_TIMES_REACHED: ReadonlySet<number> = new Set([400, 408]);

const DESCRIPTION = `Send SMS to one or many recipients, follow each message to its delivery, \
cancel what has not been sent, and read the wallet's balance.

Every request carries \`Authorization: Bearer <API_KEY>\`. Amounts are decimal strings with four \
fraction digits, instants are RFC 3339 in UTC. Clients ignore members and enumeration values that \
they do not know. Errors are problems (RFC 9457): branch on \`code\`.`;

export function buildOpenApi(operations: readonly Operation[], options: DocumentOptions) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    if (operation.isRemoved === true) continue;
    const path = operation.path.replace(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][operation.method.toLowerCase()] = describeOperation(operation, options);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "SMS messaging API",
      version: "0.2.0",
      description: DESCRIPTION,
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
      schemas: {
        SingleSend: SINGLE_SEND,
        BulkSend: BULK_SEND,
        BatchSend: BATCH_SEND,
        NewWebhookEndpoint: NEW_ENDPOINT,
        WebhookEndpointChange: ENDPOINT_CHANGE,
        WebhookRecoveryRequest: RECOVERY,
        NewCampaign: NEW_CAMPAIGN,
        CampaignChange: CAMPAIGN_CHANGE,
        NewCampaignRecipients: NEW_RECIPIENTS,
        CampaignTest: CAMPAIGN_TEST,
        NewSuppressions: NEW_SUPPRESSIONS,
        ...RESPONSE_SCHEMAS,
        ...EVENT_SCHEMAS,
      },
    },
  } as const;
}

const TAGS: Readonly<Record<string, string>> = {
  Sending: "Send to one recipient, or to up to 1,000 in one request.",
  Messages: "Read, list and cancel messages.",
  Balance: "The wallet: what it has, what is held, what new sends may use.",
  "Sender IDs": "The names that messages come from, and whether each can be used now.",
  Campaigns:
    "One text with placeholders to many recipients: each once, within a budget, stopped at any time.",
  Consent: "Inbound messages of handsets, and the numbers that you must not send to.",
  "Webhook endpoints": "Where events go, and what became of each delivery.",
};

function describeTag(name: string) {
  return { name, ...(TAGS[name] === undefined ? {} : { description: TAGS[name] }) };
}

function describeOperation(operation: Operation, options: DocumentOptions) {
  const { doc, scope } = operation;
  const { body } = doc;
  return {
    operationId: doc.id,
    tags: [doc.tag],
    summary: doc.summary,
    description: `${doc.description}\n\nNeeds the scope \`${scope}\`.`,
    ...(operation.isDeprecated === true ? { deprecated: true } : {}),
    parameters: describeParameters(doc),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.isRequired,
            content: {
              "application/json": { schema: body.schema, example: body.example },
              ...csvContent(body.csvExample),
            },
          },
        }),
    responses: describeResponses(operation, options),
    "x-required-scope": scope,
  };
}

/** The other form of a body: a file. */
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

function describeResponses(operation: Operation, options: DocumentOptions) {
  const { response, errors } = operation.doc;
  const deprecation: HeaderName[] =
    operation.isDeprecated === true ? ["Deprecation", "Sunset", "Link"] : [];
  const responses: Record<string, unknown> = {
    [response.status]: {
      description: response.description,
      headers: headersOf([...RATE_LIMIT, ...(response.headers ?? []), ...deprecation]),
      ...(response.schema === undefined
        ? {}
        : {
            content: {
              "application/json": { schema: response.schema, example: response.example },
              ...csvContent(response.csvExample),
            },
          }),
      ...(response.leadsTo === undefined ? {} : { links: linksOf(response.leadsTo) }),
    },
  };
  const codes = [...new Set([...COMMON_ERRORS, ...errors])];
  for (const [status, group] of groupByStatus(codes)) {
    const extra: HeaderName[] = [];
    const atTimes: HeaderName[] = [];
    if (!UNLIMITED.has(status)) {
      (AT_TIMES_LIMITED.has(status) ? atTimes : extra).push(...RATE_LIMIT);
    }
    if (status === 401) extra.push("WWW-Authenticate");
    if (status === 429 || status === 503) extra.push("Retry-After");
    if (!UNREACHED.has(status)) {
      (AT_TIMES_REACHED.has(status) ? atTimes : extra).push(...deprecation);
    }
    responses[status] = {
      description: group.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join("; "),
      headers: headersOf(extra, atTimes),
      content: { "application/problem+json": describeProblem(status, group, operation, options) },
    };
  }
  return responses;
}

function describeProblem(
  status: number,
  codes: readonly ErrorCode[],
  operation: Operation,
  { docsUrl }: DocumentOptions,
) {
  const schema: Schema = {
    allOf: [
      { $ref: "#/components/schemas/Problem" },
      { type: "object", properties: { status: { const: status }, code: { enum: codes } } },
      ...(codes.includes("insufficient_balance")
        ? [{ required: ["required_amount", "available_amount", "currency"] }]
        : []),
    ],
  };
  const examples = Object.fromEntries(
    codes.map((code) => [code, { value: problemExample(code, docsUrl, operation) }]),
  );
  return { schema, examples };
}

const RATE_LIMIT = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const;

/** Header objects by name; those of `atTimes` are optional, even if their component is required. */
function headersOf(names: readonly HeaderName[], atTimes: readonly HeaderName[] = []) {
  const all = ["X-Request-Id", "Cache-Control", ...names];
  const always = all.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const);
  const optional = atTimes.map((name) => [name, { ...HEADERS[name], required: false }] as const);
  return Object.fromEntries([...always, ...optional]);
}

/** OpenAPI links: operations on the created resource. */
function linksOf(leadsTo: Readonly<Record<string, string>>) {
  const entries = Object.entries(leadsTo).map(([operationId, parameter]) => [
    operationId,
    { operationId, parameters: { [parameter]: "$response.body#/data/id" } },
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function groupByStatus(codes: readonly ErrorCode[]): [number, ErrorCode[]][] {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { http } = ERRORS[code];
    groups.set(http, [...(groups.get(http) ?? []), code]);
  }
  return [...groups].sort(([a], [b]) => a - b);
}
