/**
 * The send operations: single, bulk and batch. They share one path: idempotency key, body, lock, validation, RPC. They
 * differ in how a body becomes recipients and how the response is rendered (`send-operations.ts`).
 */
import { hash } from "node:crypto";
import type { Client } from "@connectrpc/connect";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  MessageSource,
  type MessagingService,
  type SendMessagesResponse,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { fingerprint } from "../../../services/shared/core/canonical-json.ts";
import type { Clock } from "../../../services/shared/core/clock.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { readIdempotencyKey } from "../../idempotency/key.ts";
import type { KeyLocks } from "../../idempotency/lock.ts";
import { runLocked } from "../../idempotency/run-locked.ts";
import { type JsonBody, parseObject } from "../../json/parse.ts";
import type { TestQuota } from "../../rate-limit/test-quota.ts";
import { queryFaults } from "../../schemas/query.ts";
import { refuse } from "../../schemas/validate.ts";
import type { Operation, OperationRequest, OperationResponse } from "../operation.ts";
import { parseSendAt, type SendTimeBounds } from "./parse-send-at.ts";
import { type SendOne, sendList } from "./send-batcher.ts";
import { BATCH, BULK, type SendKind, type SendRequest, SINGLE } from "./send-operations.ts";
import { keepQuota, takeTestQuota } from "./take-test-quota.ts";
import { readTrafficClass } from "./traffic-class.ts";
import { validateSend } from "./validate-send.ts";

export type SendPorts = {
  readonly messaging: Client<typeof MessagingService>;
  readonly sendOne: SendOne;
  readonly testQuota: TestQuota;
  readonly keyLocks: KeyLocks;
  readonly clock: Clock;
  readonly sendTime: SendTimeBounds;
};

/** Members and commas of a valid body: a bulk send of 10,000 recipients has 10,008. */
const VALID_SIZE_MAX = 20_000;

/** Creates the send operations. After the sunset the deprecated path can respond with 404. */
export function sendOperations(ports: SendPorts, keepsDeprecatedPath: boolean): Operation[] {
  const operation = (kind: SendKind, path: string): Operation => ({
    method: "POST",
    path,
    scope: "messages:send",
    doc: kind.doc,
    handle: (request) => send(ports, kind, request),
  });
  const deprecated = operation(SINGLE, "/v1/messages");
  return [
    operation(SINGLE, "/v1/sms/messages"),
    operation(BULK, "/v1/sms/messages/bulk"),
    operation(BATCH, "/v1/sms/messages/batch"),
    keepsDeprecatedPath
      ? {
          ...deprecated,
          isDeprecated: true,
          doc: {
            ...SINGLE.doc,
            id: "sendMessageDeprecated",
            summary: "Send one message (deprecated path)",
            description:
              "The same as POST /v1/sms/messages, whose idempotency keys it shares. Use that path instead: " +
              "only the path changes. After 15 April 2027 this one may be removed; it then answers 404.",
          },
        }
      : { ...deprecated, isRemoved: true, handle: removed },
  ];
}

async function removed(): Promise<never> {
  throw new AppError("not_found", "This path has been removed; send to /v1/sms/messages.");
}

/** Handles one send, from raw body to response. */
async function send(
  ports: SendPorts,
  kind: SendKind,
  request: OperationRequest,
): Promise<OperationResponse> {
  const { caller } = request;
  const { key, faults: keyFaults } = readIdempotencyKey(request.idempotencyKey);
  const body = parseObject(request.bodyBytes);
  if (key === "") {
    const rpcRequest = toRequest(ports, kind, request, body, keyFaults);
    const refund = await takeQuota(ports, request, rpcRequest);
    const send = () => callMessaging(ports, kind, request, rpcRequest);
    return toResponse(kind, await keepQuota(refund, send));
  }

  const print = fingerprintOf(request, body);
  const keyed = { idempotencyKey: key, fingerprint: print };
  const { tenantId, mode } = caller;
  const target = { tenantId, mode, endpoint: kind.endpoint, ...keyed };
  const find = async (beforeRefusal: boolean, timeoutMs?: number) => {
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    const call = ports.messaging.lookupSend({ ...target, beforeRefusal }, options);
    return asReplay((await rpcAnswer(call)).response);
  };
  // A lock of live mode has the same name as in release n−1, whose processes may run at the same time.
  const keySpace = mode === Mode.TEST ? `${tenantId}|test` : tenantId;
  const response = await runLocked<SendMessagesResponse>(ports.keyLocks, {
    scope: `${keySpace}|${kind.endpoint}|${key}`,
    fingerprint: print,
    lookup: (timeoutMs) => find(false, timeoutMs),
    async run(isLocked) {
      let rpcRequest: SendRequest;
      let refund: (() => void) | undefined;
      try {
        rpcRequest = toRequest(ports, kind, request, body, []);
        refund = await takeQuota(ports, request, rpcRequest);
      } catch (error) {
        // Idempotency comes before validation (`docs/contract.md#idempotency`). A body that is no longer valid
        // (its send_at is now too close), or is beyond the quota, still gets the stored response, and a different
        // body gets `idempotency_key_reused` before its faults.
        const stored = await find(true);
        if (stored === undefined) throw error;
        return stored;
      }
      const keyedRequest = { ...rpcRequest, ...keyed, fenced: isLocked };
      return keepQuota(refund, () => callMessaging(ports, kind, request, keyedRequest));
    },
  });
  return toResponse(kind, response);
}

/**
 * The fingerprint of the body. Of a body larger than every valid one it hashes the bytes: no stored response can match
 * such a body, and the canonical text of 150,000 values would take 50 ms.
 */
function fingerprintOf({ caller, bodyBytes }: OperationRequest, { value, size }: JsonBody): Buffer {
  if (size > VALID_SIZE_MAX) return hash("sha256", bodyBytes, "buffer");
  // Test and live keys have different fingerprints, as in release n−1, which did not keep the keys of both modes apart.
  return caller.mode === Mode.TEST ? fingerprint("test", value) : fingerprint(value);
}

function takeQuota({ testQuota }: SendPorts, { caller }: OperationRequest, send: SendRequest) {
  return takeTestQuota(testQuota, caller, send.recipients?.length ?? 0);
}

/** Batches single sends; a bulk or batch send is large enough for a call of its own. */
function callMessaging(
  { messaging, sendOne }: SendPorts,
  kind: SendKind,
  { caller, requestId }: OperationRequest,
  rpcRequest: SendRequest,
): Promise<SendMessagesResponse> {
  if (kind === SINGLE) return sendOne(caller.tenantId, rpcRequest, requestId);
  return sendList(messaging, rpcRequest, requestId);
}

function asReplay(stored: SendMessagesResponse | undefined): SendMessagesResponse | undefined {
  return stored === undefined ? undefined : { ...stored, replayed: true };
}

function toResponse(kind: SendKind, response: SendMessagesResponse): OperationResponse {
  const rendered = kind.respond(response);
  if (!response.replayed) return rendered;
  return { ...rendered, headers: { ...rendered.headers, "Idempotent-Replayed": "true" } };
}

/** Validates the request and builds the RPC request; throws `validation_error` with all faults. */
function toRequest(
  ports: SendPorts,
  kind: SendKind,
  request: OperationRequest,
  { value, size }: JsonBody,
  keyFaults: ReturnType<typeof readIdempotencyKey>["faults"],
): SendRequest {
  const { caller } = request;
  const faults = validateSend(kind, value, size, caller.bulkMax);
  const isSendAtKnown = kind.takesSendAt && !faults.some(({ field }) => field === "send_at");
  const sendAt = isSendAtKnown
    ? parseSendAt(value.send_at, ports.clock.now(), ports.sendTime)
    : { sendAtMs: 0 };
  if ("fault" in sendAt) faults.push(sendAt.fault);
  if (request.query !== "") faults.push(...queryFaults(request.query));
  if (keyFaults.length > 0) faults.push(...keyFaults);
  refuse(faults);
  return {
    tenantId: caller.tenantId,
    mode: caller.mode,
    source: caller.session === undefined ? MessageSource.API : MessageSource.QUICK_SEND,
    apiKeyId: caller.session === undefined ? caller.keyId : "",
    endpoint: kind.endpoint,
    from: value.from as string,
    trafficClass: readTrafficClass(value.traffic_class),
    clientReference: (value.client_reference as string | null | undefined) ?? "",
    sendAtMs: BigInt("sendAtMs" in sendAt ? sendAt.sendAtMs : 0),
    ...kind.read(value),
  };
}
