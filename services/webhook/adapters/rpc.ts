/** The RPC handlers: each calls one use case. */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ClientSession } from "mongodb";
import {
  CreateEndpointResponseSchema,
  KeyedOperation,
  RecoverDeliveriesResponseSchema,
  ResendDeliveryResponseSchema,
  RotateSecretResponseSchema,
  SendTestEventResponseSchema,
  WebhookService,
} from "../../../proto/gen/sms/v1/webhook_pb.js";
import { isId } from "../../shared/core/ids.ts";
import { checkItems, invalidField } from "../../shared/core/limits.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { type DeadLetters, replayAudited } from "../../shared/io/dead-letters.ts";
import { auditHandler } from "../../shared/rpc/audit-handler.ts";
import { readMode } from "../../shared/rpc/mode.ts";
import {
  type DeliveryParts,
  findEndpoint,
  getDelivery,
  listDeliveries,
  listMessageDeliveries,
  recoverDeliveries,
  resendDelivery,
  sendTestEvent,
} from "../app/delivery-management.ts";
import {
  addEndpoint,
  deleteEndpoint,
  type EndpointParts,
  getEndpoint,
  type RunOnce,
  rotateEndpointSecret,
  updateEndpoint,
  type WithSecret,
} from "../app/endpoint-management.ts";
import type { Idempotency, RequestKey } from "../app/idempotency.ts";
import { createReadEvents, EVENTS_WAIT_MAX_MS, type ReadEventsParts } from "../app/read-events.ts";
import type { Delivery } from "../domain/delivery.ts";
import { readBeforeId, readInstantMs } from "../domain/delivery-log-query.ts";
import { checkIdempotencyKey } from "../domain/idempotency-key.ts";
import {
  keyOf,
  readDeliveryKey,
  readEndpointChange,
  readEndpointKey,
  readLimit,
  readSources,
  readStatuses,
  toDeliveryProto,
  toEndpointProto,
} from "./rpc-mapping.ts";

/** Dead letters that one call may replay. */
const REPLAY_MAX = 1000;

/** Dependencies of the handlers. */
export type RpcParts = {
  readonly events: ReadEventsParts;
  readonly endpoints: EndpointParts<ClientSession>;
  readonly deliveries: DeliveryParts<ClientSession>;
  readonly deadLetters: DeadLetters;
  readonly idempotency: Idempotency<ClientSession>;
  readonly audit: AuditLog;
};

/** The handlers of `WebhookService`. */
export function createWebhookRpc(parts: RpcParts): ServiceImpl<typeof WebhookService> {
  return {
    ...endpointRpc(parts),
    ...deliveryRpc(parts),
    ...keyRpc(parts),
    ...deadLetterRpc(parts),
    ...eventRpc(parts.events),
    ...auditHandler(WebhookService, parts.audit),
  };
}

type Handlers = ServiceImpl<typeof WebhookService>;
type EndpointRpc = Pick<
  Handlers,
  | "createEndpoint"
  | "getEndpoint"
  | "listEndpoints"
  | "updateEndpoint"
  | "deleteEndpoint"
  | "rotateSecret"
>;
type DeliveryRpc = Pick<
  Handlers,
  | "listDeliveries"
  | "getDelivery"
  | "listMessageDeliveries"
  | "resendDelivery"
  | "recoverDeliveries"
  | "sendTestEvent"
>;

function endpointRpc({ endpoints, idempotency }: RpcParts): EndpointRpc {
  return {
    async createEndpoint(request) {
      if (request.tenantId === "")
        throw invalidField("tenant_id", "required", "A tenant is required.");
      return runIdempotently(
        idempotency,
        keyOf(KeyedOperation.CREATE_ENDPOINT, request),
        CreateEndpointResponseSchema,
        (made: WithSecret) => ({ ...made, endpoint: toEndpointProto(made.endpoint) }),
        (runOnce) =>
          addEndpoint(
            endpoints,
            {
              ...request,
              mode: readMode(request.mode) ?? "live",
              sources: readSources(request.sources),
            },
            runOnce,
          ),
      );
    },
    async getEndpoint(request) {
      return { endpoint: toEndpointProto(await getEndpoint(endpoints, readEndpointKey(request))) };
    },
    async listEndpoints({ tenantId, mode }) {
      const found = await endpoints.store.list({ tenantId, mode: readMode(mode) });
      return { endpoints: found.map(toEndpointProto) };
    },
    async updateEndpoint(request) {
      const change = readEndpointChange(request);
      const changed = await updateEndpoint(endpoints, readEndpointKey(request), change);
      return { endpoint: toEndpointProto(changed) };
    },
    async deleteEndpoint(request) {
      await deleteEndpoint(endpoints, readEndpointKey(request));
      return {};
    },
    async rotateSecret(request) {
      const key = readEndpointKey(request);
      await getEndpoint(endpoints, key);
      return runIdempotently(
        idempotency,
        keyOf(KeyedOperation.ROTATE_SECRET, request),
        RotateSecretResponseSchema,
        (made: WithSecret) => ({ ...made, endpoint: toEndpointProto(made.endpoint) }),
        (runOnce) => rotateEndpointSecret(endpoints, key, runOnce),
      );
    },
  };
}

function deliveryRpc({ deliveries, idempotency, audit }: RpcParts): DeliveryRpc {
  const recordDelivery = ({ tenantId, id, endpointId }: Delivery, session: ClientSession) =>
    audit.write(
      { tenantId, subject: id, before: undefined, after: { endpointId, status: "pending" } },
      session,
    );
  return {
    async listDeliveries(request) {
      const page = await listDeliveries(deliveries, {
        ...readEndpointKey(request),
        statuses: readStatuses(request.statuses),
        eventType: request.eventType,
        createdAfterMs: readInstantMs("created_after_ms", request.createdAfterMs),
        createdBeforeMs: readInstantMs("created_before_ms", request.createdBeforeMs),
        limit: readLimit(request.limit),
        beforeId: readBeforeId(request.beforeId),
      });
      return { deliveries: page.deliveries.map(toDeliveryProto), hasMore: page.hasMore };
    },
    async getDelivery(request) {
      const key = readDeliveryKey(request);
      return { delivery: toDeliveryProto(await getDelivery(deliveries, key, request.withBody)) };
    },
    async listMessageDeliveries({ tenantId, messageId }) {
      const found = await listMessageDeliveries(deliveries, tenantId, messageId);
      return { deliveries: found.map(toDeliveryProto) };
    },
    async resendDelivery(request) {
      const key = readDeliveryKey(request);
      await getDelivery(deliveries, key);
      return runIdempotently(
        idempotency,
        keyOf(KeyedOperation.RESEND_DELIVERY, request),
        ResendDeliveryResponseSchema,
        (delivery: Delivery) => ({ delivery: toDeliveryProto(delivery) }),
        (runOnce) => resendDelivery(deliveries, key, runOnce),
        recordDelivery,
      );
    },
    async recoverDeliveries(request) {
      const key = readEndpointKey(request);
      await findEndpoint(deliveries, key);
      const since = { ...key, sinceMs: readInstantMs("since_ms", request.sinceMs) };
      return runIdempotently(
        idempotency,
        keyOf(KeyedOperation.RECOVER_DELIVERIES, request),
        RecoverDeliveriesResponseSchema,
        (recovered: number) => ({ recovered: BigInt(recovered) }),
        (runOnce) => recoverDeliveries(deliveries, since, runOnce),
        async (recovered, session) => {
          if (recovered === 0) return;
          const change = { before: undefined, after: { recovered, since_ms: since.sinceMs } };
          const { tenantId, endpointId: subject } = key;
          await audit.write({ tenantId, subject, ...change }, session);
        },
      );
    },
    async sendTestEvent(request) {
      const key = readEndpointKey(request);
      await findEndpoint(deliveries, key);
      return runIdempotently(
        idempotency,
        keyOf(KeyedOperation.SEND_TEST_EVENT, request),
        SendTestEventResponseSchema,
        (delivery: Delivery) => ({ delivery: toDeliveryProto(delivery) }),
        (runOnce) => sendTestEvent(deliveries, key, runOnce),
        recordDelivery,
      );
    },
  };
}

function eventRpc(parts: ReadEventsParts): Pick<Handlers, "readEvents"> {
  const read = createReadEvents(parts);
  return {
    async readEvents({ tenantId, mode, eventTypes: types, cursor, limit, waitMs }, { signal }) {
      if (!isId("tenant", tenantId)) {
        throw invalidField("tenant_id", "invalid_value", "This is no tenant's id.");
      }
      if (waitMs < 0 || waitMs > EVENTS_WAIT_MAX_MS) {
        const text = `The wait is from 0 to ${EVENTS_WAIT_MAX_MS} ms.`;
        throw invalidField("wait_ms", "out_of_range", text);
      }
      const query = { tenantId, mode: readMode(mode) ?? "live", types, cursor, waitMs } as const;
      const page = await read({ ...query, limit: readLimit(limit) }, signal);
      return { bodies: [...page.bodies], cursor: page.cursor };
    },
  };
}

function keyRpc({ idempotency, deliveries }: RpcParts): Pick<Handlers, "checkKey"> {
  return {
    async checkKey(request) {
      const key = keyOf(request.operation, request);
      checkIdempotencyKey(key);
      // A key of a deleted endpoint has no response.
      if (request.operation !== KeyedOperation.CREATE_ENDPOINT) {
        await findEndpoint(deliveries, readEndpointKey(request));
      }
      return { answered: await idempotency.check(key) };
    },
  };
}

function deadLetterRpc({
  deadLetters,
  audit,
}: RpcParts): Pick<Handlers, "listDeadLetters" | "replayDeadLetters"> {
  return {
    async listDeadLetters({ cursor, limit }) {
      const page = await deadLetters.list(cursor, readLimit(limit, 1000));
      return {
        deadLetters: page.letters.map(({ id, subject, reason, createdAtMs }) => ({
          id,
          subject,
          reason,
          createdAtMs: BigInt(createdAtMs),
        })),
        nextCursor: page.nextCursor,
      };
    },
    async replayDeadLetters({ ids }) {
      checkItems("ids", ids.length, 0, REPLAY_MAX);
      return { replayed: await replayAudited(deadLetters, audit, ids) };
    },
  };
}

/**
 * Runs a use case once per key. The caller has found the endpoint or delivery, so a key does not
 * outlive it. The stored response is read before the request is checked: a repeat must get it even
 * if the request would fail now.
 */
async function runIdempotently<Schema extends DescMessage, Made>(
  idempotency: Idempotency<ClientSession>,
  key: RequestKey,
  schema: Schema,
  toInit: (made: Made) => Parameters<typeof create<Schema>>[1],
  useCase: (
    runOnce: RunOnce<ClientSession, Made, MessageShape<Schema>>,
  ) => Promise<MessageShape<Schema>>,
  /** Writes the audit entry of the effect in its transaction; the store of endpoints writes its own. */
  record?: (made: Made, session: ClientSession) => Promise<void>,
): Promise<MessageShape<Schema>> {
  checkIdempotencyKey(key);
  const codec = {
    encode: (message: MessageShape<Schema>) => toBinary<Schema>(schema, message),
    decode: (bytes: Uint8Array) => fromBinary<Schema>(schema, bytes),
  };
  const findReplay = async () => {
    const stored = await idempotency.find(key, codec);
    return stored === undefined ? undefined : Object.assign(stored, { replayed: true });
  };
  const runOnce: RunOnce<ClientSession, Made, MessageShape<Schema>> = async (effect) => {
    const { response, replayed } = await idempotency.run(key, codec, async (session) => {
      const made = await effect(session);
      await record?.(made, session);
      return create<Schema>(schema, toInit(made));
    });
    return Object.assign(response, { replayed });
  };
  // The first request may end between the first read and the lock.
  const runExclusively = async () => (await findReplay()) ?? useCase(runOnce);
  return (await findReplay()) ?? idempotency.exclusively(key, runExclusively);
}
