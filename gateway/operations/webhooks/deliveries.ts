/** The operations on deliveries of a webhook endpoint: list, resend, recover, test event. */

import { type Delivery, KeyedOperation } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { AppError } from "../../../services/shared/core/errors.ts";
import { isId } from "../../../services/shared/core/ids.ts";
import { PAGE_DEFAULT } from "../../../services/shared/core/limits.ts";
import { parseBound } from "../../../services/shared/core/rfc3339.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { DELIVERY_EXAMPLE } from "../../docs/content/samples.ts";
import { dataOf, NO_BODY, type OperationDoc, pageOf } from "../../docs/operation-doc.ts";
import type { Cursors } from "../../lists/cursor.ts";
import { readPageCursor } from "../../lists/page-cursor.ts";
import { DELIVERY_STATUSES, renderDelivery } from "../../render/webhooks.ts";
import { DELIVERY_LIST } from "../../schemas/lists.ts";
import { compileQuery, refuseQuery } from "../../schemas/query.ts";
import { compileSchema, refuse } from "../../schemas/validate.ts";
import { EMPTY_BODY, RECOVERY } from "../../schemas/webhooks.ts";
import type { Operation, OperationRequest, OperationResponse } from "../operation.ts";
import { ENDPOINT_PARAM } from "./endpoints.ts";
import {
  deliveryExists,
  endpointExists,
  endpointTarget,
  keyCheck,
  keyedResponse,
  readWebhookRequest,
  WEBHOOK_SCOPE,
  type Webhooks,
} from "./webhook-operation.ts";

export type DeliveryPorts = { readonly webhooks: Webhooks; readonly cursors: Cursors };

type Handler = (ports: DeliveryPorts, request: OperationRequest) => Promise<OperationResponse>;

const readQuery = compileQuery(DELIVERY_LIST);
const validateEmpty = compileSchema(EMPTY_BODY);
const validateRecovery = compileSchema(RECOVERY);

const PATH = "/v1/webhook-endpoints/:endpoint_id";

/** Creates the delivery operations (`docs/contract.md#webhook-delivery`). */
export function webhookDeliveryOperations(ports: DeliveryPorts): Operation[] {
  const operation = (
    method: Operation["method"],
    path: string,
    doc: Omit<OperationDoc, "tag">,
    handler: Handler,
  ): Operation => ({
    method,
    path: `${PATH}${path}`,
    scope: WEBHOOK_SCOPE,
    doc: { tag: "Webhook endpoints", ...doc },
    handle: (request) => handler(ports, request),
  });
  return [
    operation("GET", "/deliveries", LIST, list),
    operation("GET", "/deliveries/:delivery_id", READ, read),
    operation("POST", "/deliveries/:delivery_id/resend", RESEND, resend),
    operation("POST", "/recover", RECOVER, recover),
    operation("POST", "/test", TEST, test),
  ];
}

const KEYED_ERRORS = [
  "not_found",
  "conflict",
  "idempotency_key_reused",
  "validation_error",
] as const;

const LIST: Omit<OperationDoc, "tag"> = {
  id: "listWebhookDeliveries",
  summary: "List deliveries",
  description: "Newest first, each with its attempts.",
  params: ENDPOINT_PARAM,
  query: DELIVERY_LIST,
  response: {
    status: 200,
    description: "One page.",
    schema: pageOf("WebhookDelivery"),
    example: { data: [DELIVERY_EXAMPLE], next_cursor: null },
  },
  errors: ["not_found", "validation_error"],
};

type DeliveryQuery = {
  readonly status?: readonly (keyof typeof DELIVERY_STATUSES)[];
  readonly event_type?: string;
  readonly created_after?: string;
  readonly created_before?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

const list: Handler = async ({ webhooks, cursors }, request) => {
  const target = endpointTarget(request);
  const { values, faults } = readQuery(request.query);
  const query = values as DeliveryQuery;
  const statuses = [...new Set(query.status)].sort();
  const afterMs = parseBound(query.created_after ?? "") ?? 0;
  const endMs = parseBound(query.created_before ?? "");
  // 0 means no bound; no delivery is older than the first millisecond of 1970.
  const beforeMs = endMs === undefined ? 0 : Math.max(1, endMs);
  const { tenantId, endpointId } = target;
  const start = readPageCursor(cursors, {
    list: "deliveries",
    filters: [tenantId, endpointId, statuses, query.event_type ?? null, afterMs, beforeMs],
    cursor: query.cursor,
    isEntry: (text) => isId("webhookDelivery", text),
  });
  const problems = [...faults, ...start.faults];
  if (problems.length > 0) {
    await endpointExists(webhooks, target)();
    refuse(problems);
  }
  const page = await rpcAnswer(
    webhooks.listDeliveries({
      ...target,
      statuses: statuses.map((status) => DELIVERY_STATUSES[status]),
      eventType: query.event_type ?? "",
      createdAfterMs: BigInt(afterMs),
      createdBeforeMs: BigInt(beforeMs),
      limit: query.limit ?? PAGE_DEFAULT,
      beforeId: start.after,
    }),
  );
  const next_cursor = start.next(page.hasMore ? page.deliveries.at(-1)?.id : undefined);
  return { status: 200, body: { data: page.deliveries.map(renderDelivery), next_cursor } };
};

const DELIVERY_PARAM = {
  ...ENDPOINT_PARAM,
  delivery_id: { type: "string", pattern: "^whd_[0-9A-HJKMNP-TV-Z]{26}$" },
} as const;

const READ: Omit<OperationDoc, "tag"> = {
  id: "getWebhookDelivery",
  summary: "Read a delivery",
  description: "With the body of its requests, while that is kept.",
  params: DELIVERY_PARAM,
  response: {
    status: 200,
    description: "The delivery.",
    schema: dataOf("WebhookDeliveryWithBody"),
    example: { data: { ...DELIVERY_EXAMPLE, body: '{"api_version":"v1"}' } },
  },
  errors: ["not_found", "validation_error"],
};

const read: Handler = async ({ webhooks }, request) => {
  const deliveryId = request.params.delivery_id ?? "";
  const target = { ...endpointTarget(request), deliveryId };
  if (!isId("webhookDelivery", deliveryId)) throw unknownDelivery();
  const { delivery } = await rpcAnswer(webhooks.getDelivery({ ...target, withBody: true }));
  refuseQuery(request.query);
  const shown = found(delivery);
  return { status: 200, body: { data: { ...renderDelivery(shown), body: shown.body || null } } };
};

const RESEND: Omit<OperationDoc, "tag"> = {
  id: "resendWebhookDelivery",
  summary: "Resend a delivery",
  description: "One more attempt, now. While one is being made, the answer is 409 `conflict`.",
  params: DELIVERY_PARAM,
  body: NO_BODY,
  takesIdempotencyKey: true,
  response: {
    status: 202,
    description: "The attempt is due.",
    schema: dataOf("WebhookDelivery"),
    example: {
      data: {
        ...DELIVERY_EXAMPLE,
        status: "pending",
        next_attempt_at: "2026-11-02T09:45:00.000Z",
        completed_at: null,
      },
    },
    headers: ["Idempotent-Replayed"],
  },
  errors: [...KEYED_ERRORS, "invalid_state_transition"],
};

const resend: Handler = async ({ webhooks }, request) => {
  const deliveryId = request.params.delivery_id ?? "";
  const target = { ...endpointTarget(request), deliveryId };
  if (!isId("webhookDelivery", deliveryId)) throw unknownDelivery();
  const { keyed } = await readWebhookRequest(request, validateEmpty, {
    isBodyRequired: false,
    exists: deliveryExists(webhooks, target),
    checkKey: keyCheck(webhooks, { ...target, operation: KeyedOperation.RESEND_DELIVERY }),
  });
  const result = await rpcAnswer(webhooks.resendDelivery({ ...target, ...keyed }));
  return keyedResponse(202, renderDelivery(found(result.delivery)), result.replayed);
};

const RECOVER: Omit<OperationDoc, "tag"> = {
  id: "recoverWebhookDeliveries",
  summary: "Recover failed deliveries",
  description: "Makes every delivery that failed since an instant due again.",
  params: ENDPOINT_PARAM,
  body: {
    name: "WebhookRecoveryRequest",
    isRequired: true,
    example: { since: "2026-11-01T00:00:00.000Z" },
  },
  takesIdempotencyKey: true,
  response: {
    status: 202,
    description: "How many deliveries are due again.",
    schema: dataOf("WebhookRecovery"),
    example: { data: { object: "webhook_recovery", recovered: 12 } },
    headers: ["Idempotent-Replayed"],
  },
  errors: [...KEYED_ERRORS, "invalid_state_transition"],
};

/** Recovery works in batches and may take long; the lock of the key and the connection last longer than this. */
const RECOVER_MAX_MS = 20_000;

const recover: Handler = async ({ webhooks }, request) => {
  const target = endpointTarget(request);
  const { body, keyed } = await readWebhookRequest(request, validateRecovery, {
    isBodyRequired: true,
    exists: endpointExists(webhooks, target),
    checkKey: keyCheck(webhooks, { ...target, operation: KeyedOperation.RECOVER_DELIVERIES }),
  });
  const sinceMs = BigInt(parseBound(body.since as string) ?? 0);
  const rpcRequest = { ...target, sinceMs, ...keyed };
  const result = await rpcAnswer(
    webhooks.recoverDeliveries(rpcRequest, { timeoutMs: RECOVER_MAX_MS }),
  );
  const data = { object: "webhook_recovery", recovered: Number(result.recovered) };
  return keyedResponse(202, data, result.replayed);
};

const TEST: Omit<OperationDoc, "tag"> = {
  id: "sendWebhookTest",
  summary: "Send a test event",
  description: "Sends a webhook.test event to this endpoint, subscribed to it or not.",
  params: ENDPOINT_PARAM,
  body: NO_BODY,
  takesIdempotencyKey: true,
  response: {
    status: 202,
    description: "The delivery of the event.",
    schema: dataOf("WebhookDelivery"),
    example: {
      data: {
        ...DELIVERY_EXAMPLE,
        event_type: "webhook.test",
        status: "pending",
        next_attempt_at: "2026-11-02T09:30:00.400Z",
        completed_at: null,
        attempts: [],
      },
    },
    headers: ["Idempotent-Replayed"],
  },
  errors: [...KEYED_ERRORS, "invalid_state_transition"],
};

const test: Handler = async ({ webhooks }, request) => {
  const target = endpointTarget(request);
  const { keyed } = await readWebhookRequest(request, validateEmpty, {
    isBodyRequired: false,
    exists: endpointExists(webhooks, target),
    checkKey: keyCheck(webhooks, { ...target, operation: KeyedOperation.SEND_TEST_EVENT }),
  });
  const result = await rpcAnswer(webhooks.sendTestEvent({ ...target, ...keyed }));
  return keyedResponse(202, renderDelivery(found(result.delivery)), result.replayed);
};

function found(delivery: Delivery | undefined): Delivery {
  if (delivery === undefined) throw unknownDelivery();
  return delivery;
}

function unknownDelivery(): AppError {
  return new AppError("not_found", "There is no such delivery.");
}
