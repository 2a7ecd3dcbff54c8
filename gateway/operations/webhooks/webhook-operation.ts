import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import type {
  CheckKeyRequestSchema,
  WebhookService,
} from "../../../proto/gen/sms/v1/webhook_pb.js";
import { fingerprint } from "../../../services/shared/core/canonical-json.ts";
import { AppError, type FieldError } from "../../../services/shared/core/errors.ts";
import { isId } from "../../../services/shared/core/ids.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { readIdempotencyKey } from "../../idempotency/key.ts";
import { hasBody, parseBody } from "../../schemas/parse-body.ts";
import { queryFaults } from "../../schemas/query.ts";
import { refuse, type Validator } from "../../schemas/validate.ts";
import type { OperationRequest, OperationResponse } from "../operation.ts";

/** The scope of all webhook operations. */
export const WEBHOOK_SCOPE = "webhooks:manage";

/** A client of the webhook service. */
export type Webhooks = Client<typeof WebhookService>;

/** The webhook endpoint of the path; a malformed id is `not_found`, like an unknown one. */
export function endpointTarget({ caller, params }: OperationRequest) {
  const endpointId = params.endpoint_id ?? "";
  if (!isId("webhookEndpoint", endpointId)) throw unknownEndpoint();
  return { tenantId: caller.tenantId, mode: caller.mode, endpointId };
}

/** The error for a webhook endpoint that does not exist, or belongs to another tenant or mode. */
export function unknownEndpoint(): AppError {
  return new AppError("not_found", "There is no such webhook endpoint.");
}

/** An idempotency key and the fingerprint of its request; the key is empty when absent. */
export type Keyed = { readonly idempotencyKey: string; readonly fingerprint: Buffer };

/** Checks that come before validation errors. */
type EarlyChecks = {
  /** Throws `not_found` when the resource of the path does not exist. */
  readonly exists?: () => Promise<unknown>;
  /**
   * Whether the key has a stored response. Throws when another request used the key. Absent for operations without
   * idempotency keys.
   */
  readonly checkKey?: (keyed: Keyed) => Promise<boolean>;
};

/**
 * Parses the body and the idempotency key of a webhook operation. Throws validation errors only after the early
 * checks.
 */
export async function readWebhookRequest(
  request: OperationRequest,
  validate: Validator,
  options: EarlyChecks & { readonly isBodyRequired: boolean },
): Promise<{ body: Record<string, unknown>; keyed: Keyed }> {
  // Operations without idempotency keys ignore the header, even a malformed one.
  const header = options.checkKey === undefined ? undefined : request.idempotencyKey;
  const { key, faults: keyFaults } = readIdempotencyKey(header);
  const ofQuery = queryFaults(request.query);
  const faults: FieldError[] = [...ofQuery, ...keyFaults];
  let body: Record<string, unknown> | undefined = {};
  if (options.isBodyRequired || hasBody(request.bodyBytes)) {
    const read = parseBody(request.bodyBytes, validate);
    body = read.body;
    faults.push(...read.faults);
  }
  const keyed = { idempotencyKey: key, fingerprint: fingerprintOf(key, body) };
  if (faults.length > 0) {
    await options.exists?.();
    const isCheckable = key !== "" && body !== undefined;
    const isAnswered = isCheckable && ((await options.checkKey?.(keyed)) ?? false);
    // A repeated request gets the stored response even if its query is invalid, like a send.
    if (!isAnswered || faults.length > ofQuery.length) refuse(faults);
  }
  return { body: body ?? {}, keyed };
}

function fingerprintOf(key: string, body: unknown): Buffer {
  return key === "" || body === undefined ? Buffer.alloc(0) : fingerprint(body);
}

/** Throws `not_found` when the webhook endpoint does not exist. */
export function endpointExists(
  webhooks: Webhooks,
  target: ReturnType<typeof endpointTarget>,
): () => Promise<unknown> {
  return () => rpcAnswer(webhooks.getEndpoint(target));
}

/** Throws `not_found` when the delivery or its webhook endpoint does not exist. */
export function deliveryExists(
  webhooks: Webhooks,
  target: ReturnType<typeof endpointTarget> & { readonly deliveryId: string },
): () => Promise<unknown> {
  return () => rpcAnswer(webhooks.getDelivery(target));
}

/** Whether the key has a stored response; throws when another request used the key. */
export function keyCheck(
  webhooks: Webhooks,
  target: MessageInitShape<typeof CheckKeyRequestSchema>,
): (keyed: Keyed) => Promise<boolean> {
  return async (keyed) => (await rpcAnswer(webhooks.checkKey({ ...target, ...keyed }))).answered;
}

/** A response, with `Idempotent-Replayed` when it is the stored first one. */
export function keyedResponse(
  status: number,
  data: unknown,
  replayed: boolean,
  headers: Record<string, string> = {},
): OperationResponse {
  return {
    status,
    body: { data },
    headers: replayed ? { ...headers, "Idempotent-Replayed": "true" } : headers,
  };
}
