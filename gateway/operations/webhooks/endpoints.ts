/** The operations on webhook endpoints: each is one RPC to the webhook service. */
import {
  KeyedOperation,
  type WebhookEndpoint,
  WebhookEndpointStatus,
} from "../../../proto/gen/sms/v1/webhook_pb.js";
import type { MESSAGE_SOURCES } from "../../../services/shared/core/message-source.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { WEBHOOK_ENDPOINT_EXAMPLE } from "../../docs/content/samples.ts";
import {
  dataOf,
  NO_BODY,
  type OperationDoc,
  pageOf,
  type Schema,
} from "../../docs/operation-doc.ts";
import { SOURCE_NUMBERS } from "../../render/message.ts";
import { renderWebhookEndpoint } from "../../render/webhooks.ts";
import { refuseQuery } from "../../schemas/query.ts";
import { compileSchema } from "../../schemas/validate.ts";
import { EMPTY_BODY, ENDPOINT_CHANGE, NEW_ENDPOINT } from "../../schemas/webhooks.ts";
import type { Operation, OperationRequest, OperationResponse } from "../operation.ts";
import {
  endpointExists,
  endpointTarget,
  keyCheck,
  keyedResponse,
  readWebhookRequest,
  unknownEndpoint,
  WEBHOOK_SCOPE,
  type Webhooks,
} from "./webhook-operation.ts";

type Handler = (webhooks: Webhooks, request: OperationRequest) => Promise<OperationResponse>;

const COLLECTION = "/v1/webhook-endpoints";

/** The path parameter of a webhook endpoint. */
export const ENDPOINT_PARAM: Readonly<Record<string, Schema>> = {
  endpoint_id: { type: "string", pattern: "^whe_[0-9A-HJKMNP-TV-Z]{26}$" },
};

const validateNewEndpoint = compileSchema(NEW_ENDPOINT);
const validateChange = compileSchema(ENDPOINT_CHANGE);
const validateEmpty = compileSchema(EMPTY_BODY);

/** Creates, lists, reads, changes and deletes endpoints, and rotates secrets (`docs/contract.md#webhook-endpoints`). */
export function webhookEndpointOperations(webhooks: Webhooks): Operation[] {
  const operation = (
    method: Operation["method"],
    path: string,
    doc: Omit<OperationDoc, "tag">,
    handler: Handler,
  ): Operation => ({
    method,
    path,
    scope: WEBHOOK_SCOPE,
    doc: { tag: "Webhook endpoints", ...doc },
    handle: (request) => handler(webhooks, request),
  });
  const one = `${COLLECTION}/:endpoint_id`;
  return [
    operation("GET", COLLECTION, LIST, list),
    operation("POST", COLLECTION, CREATE, create),
    operation("GET", one, READ, read),
    operation("PATCH", one, UPDATE, update),
    operation("DELETE", one, DELETE, remove),
    operation("POST", `${one}/rotate-secret`, ROTATE, rotate),
  ];
}

const SHOWN = dataOf("WebhookEndpoint");
const WITH_SECRET = dataOf("WebhookEndpointWithSecret");
const { created_at, updated_at, ...DESCRIBED } = WEBHOOK_ENDPOINT_EXAMPLE;
const SECRET_EXAMPLE = {
  data: {
    ...DESCRIBED,
    secret: "whsec_Zm9vYmFyYmF6cXV4Y29ycmVjdGhvcnNlYmF0dGVyeQ0",
    created_at,
    updated_at,
  },
};

const LIST: Omit<OperationDoc, "tag"> = {
  id: "listWebhookEndpoints",
  summary: "List webhook endpoints",
  description: "The account's endpoints of the key's mode; there are at most five.",
  response: {
    status: 200,
    description: "The endpoints.",
    schema: pageOf("WebhookEndpoint"),
    example: { data: [WEBHOOK_ENDPOINT_EXAMPLE], next_cursor: null },
  },
  errors: ["validation_error"],
};

const list: Handler = async (webhooks, { caller, query }) => {
  refuseQuery(query);
  const { endpoints } = await rpcAnswer(
    webhooks.listEndpoints({ tenantId: caller.tenantId, mode: caller.mode }),
  );
  const data = endpoints.map((endpoint) => renderWebhookEndpoint(endpoint));
  return { status: 200, body: { data, next_cursor: null } };
};

const CREATE: Omit<OperationDoc, "tag"> = {
  id: "createWebhookEndpoint",
  summary: "Create a webhook endpoint",
  description: "The signing secret is in this answer and is not shown again.",
  body: {
    name: "NewWebhookEndpoint",
    isRequired: true,
    example: { url: "https://example.com/sms-events" },
  },
  takesIdempotencyKey: true,
  response: {
    status: 201,
    description: "Created.",
    schema: WITH_SECRET,
    example: SECRET_EXAMPLE,
    headers: ["Location", "Idempotent-Replayed"],
    leadsTo: {
      getWebhookEndpoint: "endpoint_id",
      updateWebhookEndpoint: "endpoint_id",
      deleteWebhookEndpoint: "endpoint_id",
      listWebhookDeliveries: "endpoint_id",
    },
  },
  isFollowedByEvents: true,
  errors: ["conflict", "idempotency_key_reused", "validation_error"],
};

const create: Handler = async (webhooks, request) => {
  const { tenantId, mode } = request.caller;
  const { body, keyed } = await readWebhookRequest(request, validateNewEndpoint, {
    isBodyRequired: true,
    checkKey: keyCheck(webhooks, { tenantId, mode, operation: KeyedOperation.CREATE_ENDPOINT }),
  });
  const result = await rpcAnswer(
    webhooks.createEndpoint({
      tenantId,
      mode,
      url: (body.url as string).toWellFormed(),
      eventTypes: (body.event_types as string[] | undefined) ?? [],
      sources: toSources(body.sources),
      description: ((body.description as string | undefined) ?? "").toWellFormed(),
      ...keyed,
    }),
  );
  const endpoint = found(result.endpoint);
  return keyedResponse(201, renderWebhookEndpoint(endpoint, result.secret), result.replayed, {
    Location: `${COLLECTION}/${endpoint.id}`,
  });
};

const READ: Omit<OperationDoc, "tag"> = {
  id: "getWebhookEndpoint",
  summary: "Read a webhook endpoint",
  description: "Its secret is not shown.",
  params: ENDPOINT_PARAM,
  response: {
    status: 200,
    description: "The endpoint.",
    schema: SHOWN,
    example: { data: WEBHOOK_ENDPOINT_EXAMPLE },
  },
  errors: ["not_found", "validation_error"],
};

const read: Handler = async (webhooks, request) => {
  const { endpoint } = await rpcAnswer(webhooks.getEndpoint(endpointTarget(request)));
  refuseQuery(request.query);
  return { status: 200, body: { data: renderWebhookEndpoint(found(endpoint)) } };
};

const UPDATE: Omit<OperationDoc, "tag"> = {
  id: "updateWebhookEndpoint",
  summary: "Change a webhook endpoint",
  description: "What the body does not name stays as it is.",
  params: ENDPOINT_PARAM,
  body: {
    name: "WebhookEndpointChange",
    isRequired: true,
    example: { status: "disabled" },
  },
  response: {
    status: 200,
    description: "The endpoint after the change.",
    schema: SHOWN,
    example: {
      data: {
        ...WEBHOOK_ENDPOINT_EXAMPLE,
        status: "disabled",
        disabled_reason: "Disabled by its owner.",
        updated_at: "2026-11-02T09:30:00.000Z",
      },
    },
  },
  errors: ["not_found", "conflict", "validation_error"],
};

const update: Handler = async (webhooks, request) => {
  const target = endpointTarget(request);
  const { body } = await readWebhookRequest(request, validateChange, {
    isBodyRequired: true,
    exists: endpointExists(webhooks, target),
  });
  const { url, status, event_types, sources, description } = body;
  const { endpoint } = await rpcAnswer(
    webhooks.updateEndpoint({
      ...target,
      ...(typeof url === "string" ? { url: url.toWellFormed() } : {}),
      ...(typeof status === "string" ? { status: STATUS_NUMBERS[status] } : {}),
      ...(Array.isArray(event_types) ? { eventTypes: { values: event_types as string[] } } : {}),
      ...(Array.isArray(sources) ? { sources: { values: toSources(sources) } } : {}),
      ...(typeof description === "string" ? { description: description.toWellFormed() } : {}),
    }),
  );
  return { status: 200, body: { data: renderWebhookEndpoint(found(endpoint)) } };
};

const STATUS_NUMBERS: Readonly<Record<string, WebhookEndpointStatus>> = {
  enabled: WebhookEndpointStatus.ENABLED,
  disabled: WebhookEndpointStatus.DISABLED,
};

const DELETE: Omit<OperationDoc, "tag"> = {
  id: "deleteWebhookEndpoint",
  summary: "Delete a webhook endpoint",
  description: "Sending stops at once and due retries are dropped.",
  params: ENDPOINT_PARAM,
  response: { status: 204, description: "Deleted." },
  errors: ["not_found", "validation_error"],
};

const remove: Handler = async (webhooks, request) => {
  const target = endpointTarget(request);
  if (request.query !== "") {
    await endpointExists(webhooks, target)();
    refuseQuery(request.query);
  }
  await rpcAnswer(webhooks.deleteEndpoint(target));
  return { status: 204 };
};

const ROTATE: Omit<OperationDoc, "tag"> = {
  id: "rotateWebhookSecret",
  summary: "Rotate the signing secret",
  description:
    "Each secret that was replaced in the last 24 hours signs too, after the new one: one `v1` " +
    "for each, ten in all at most.",
  params: ENDPOINT_PARAM,
  body: NO_BODY,
  takesIdempotencyKey: true,
  response: {
    status: 200,
    description: "The endpoint with its new secret, shown this once.",
    schema: WITH_SECRET,
    example: SECRET_EXAMPLE,
    headers: ["Idempotent-Replayed"],
  },
  errors: ["not_found", "conflict", "idempotency_key_reused", "validation_error"],
};

const rotate: Handler = async (webhooks, request) => {
  const target = endpointTarget(request);
  const { keyed } = await readWebhookRequest(request, validateEmpty, {
    isBodyRequired: false,
    exists: endpointExists(webhooks, target),
    checkKey: keyCheck(webhooks, { ...target, operation: KeyedOperation.ROTATE_SECRET }),
  });
  const result = await rpcAnswer(webhooks.rotateSecret({ ...target, ...keyed }));
  return keyedResponse(
    200,
    renderWebhookEndpoint(found(result.endpoint), result.secret),
    result.replayed,
  );
};

function found(endpoint: WebhookEndpoint | undefined): WebhookEndpoint {
  if (endpoint === undefined) throw unknownEndpoint();
  return endpoint;
}

function toSources(names: unknown) {
  const known = (names ?? []) as (typeof MESSAGE_SOURCES)[number][];
  return known.map((name) => SOURCE_NUMBERS[name]);
}
