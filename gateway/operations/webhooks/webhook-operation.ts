import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import type {
  CheckKeyRequestSchema,
  WebhookService,
} from "../../../proto/gen/sms/v1/webhook_pb.js";
import { fingerprint } from "../../../services/shared/core/canonical-json.ts";
import { AppError, type FieldError } from "../../../services/shared/core/errors.ts";
import { isId } from "../../../services/shared/core/ids.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { readIdempotencyKey } from "../../idempotency/key.ts";
import { readBody } from "../../schemas/parse-body.ts";
import { queryFaults } from "../../schemas/query.ts";
import { refuse, type Validator } from "../../schemas/validate.ts";
import type { OperationRequest, OperationResponse } from "../operation.ts";

/** The scope of everything about webhook endpoints. */
export const WEBHOOK_SCOPE = "webhooks:manage";

/** A client of the webhook service. */
export type Webhooks = Client<typeof WebhookService>;

/** The endpoint that a path names; malformed ids answer as unknown ones do. */
export function endpointTarget({ caller, params }: OperationRequest) {
  const endpointId = params.endpoint_id ?? "";
  if (!isId("webhookEndpoint", endpointId)) throw unknownEndpoint();
  return { tenantId: caller.tenantId, endpointId };
}

/** The error for a webhook endpoint that is not there, or not the caller's. */
export function unknownEndpoint(): AppError {
  return new AppError("not_found", "There is no such webhook endpoint.");
}

/** An idempotency key with the fingerprint of its request; the key is empty when there is none. */
export type Keyed = { readonly idempotencyKey: string; readonly fingerprint: Buffer };

/** What comes before a request's faults are told. */
type FirstChecks = {
  /** Throws `not_found` when what the path names is not there. */
  readonly exists?: () => Promise<unknown>;
  /**
   * Answers whether the request has its answer already. Throws when the key is another request's; absent where
   * keys are not taken.
   */
  readonly checkKey?: (keyed: Keyed) => Promise<boolean>;
};

/**
 * Reads the body of an operation on webhooks, and its idempotency key with the fingerprint that
 * goes with it. What is wrong is thrown only after the first checks.
 */
export async function readWebhookRequest(
  request: OperationRequest,
  validate: Validator,
  options: FirstChecks & { readonly isBodyRequired: boolean },
): Promise<{ body: Record<string, unknown>; keyed: Keyed }> {
  // Where keys are not taken the header means nothing, however it is formed.
  const header = options.checkKey === undefined ? undefined : request.idempotencyKey;
  const { key, faults: keyFaults } = readIdempotencyKey(header);
  const ofQuery = queryFaults(request.query);
  const faults: FieldError[] = [...ofQuery, ...keyFaults];
  let body: Record<string, unknown> | undefined = {};
  if (request.bodyBytes.length > 0 || options.isBodyRequired) {
    const read = readBody(request.bodyBytes, validate);
    body = read.body;
    faults.push(...read.faults);
  }
  const keyed = { idempotencyKey: key, fingerprint: printOf(request, key, body) };
  if (faults.length > 0) {
    await options.exists?.();
    const isAskable = key !== "" && body !== undefined;
    const isAnswered = isAskable && ((await options.checkKey?.(keyed)) ?? false);
    // A repeat gets its answer whatever its query says, as that of a send does.
    if (!isAnswered || faults.length > ofQuery.length) refuse(faults);
  }
  return { body: body ?? {}, keyed };
}

/** A test key and a live key are told apart by what they print, as for sends. */
function printOf({ caller }: OperationRequest, key: string, body: unknown): Buffer {
  if (key === "" || body === undefined) return Buffer.alloc(0);
  return caller.mode === Mode.TEST ? fingerprint("test", body) : fingerprint(body);
}

/** Asks whether the endpoint exists; throws `not_found` when it does not. */
export function endpointExists(
  webhooks: Webhooks,
  target: ReturnType<typeof endpointTarget>,
): () => Promise<unknown> {
  return () => rpcAnswer(webhooks.getEndpoint(target));
}

/** Throws `not_found` when the delivery or its endpoint does not exist. */
export function deliveryExists(
  webhooks: Webhooks,
  target: ReturnType<typeof endpointTarget> & { readonly deliveryId: string },
): () => Promise<unknown> {
  return () => rpcAnswer(webhooks.getDelivery(target));
}

/** Answers whether the key has a stored response; throws when another request used the key. */
export function keyCheck(
  webhooks: Webhooks,
  target: MessageInitShape<typeof CheckKeyRequestSchema>,
): (keyed: Keyed) => Promise<boolean> {
  return async (keyed) => (await rpcAnswer(webhooks.checkKey({ ...target, ...keyed }))).answered;
}

/** An answer, marked when it is the stored first one. */
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
