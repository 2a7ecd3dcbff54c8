/**
 * The three sends: single, bulk and batch. They differ in how a body becomes recipients and how
 * the answer is shown; everything else is one path: key, body, lock, checks, one RPC.
 */
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
import { runOnce } from "../../idempotency/run-once.ts";
import { type JsonBody, parseObject } from "../../json/parse.ts";
import { queryFaults } from "../../schemas/query.ts";
import { refuse } from "../../schemas/validate.ts";
import type { Operation, OperationRequest, OperationResponse } from "../operation.ts";
import { parseSendAt, type SendTimeBounds } from "./parse-send-at.ts";
import { type SendOne, sendList } from "./send-batcher.ts";
import { BATCH, BULK, type SendKind, type SendRequest, SINGLE } from "./send-operations.ts";
import { validateSend } from "./validate-send.ts";

/** What the sends need. */
export type SendPorts = {
  readonly messaging: Client<typeof MessagingService>;
  readonly sendOne: SendOne;
  readonly keyLocks: KeyLocks;
  readonly clock: Clock;
  readonly sendTime: SendTimeBounds;
};

/** The send operations; after the sunset the deprecated path answers as one that never was. */
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

/** One send, from raw body to answer. */
async function send(
  ports: SendPorts,
  kind: SendKind,
  request: OperationRequest,
): Promise<OperationResponse> {
  const { caller } = request;
  const { key, faults: keyFaults } = readIdempotencyKey(request.idempotencyKey);
  const body = parseObject(request.bodyBytes);
  if (key === "") {
    const wanted = toRequest(ports, kind, request, body, keyFaults);
    return toAnswer(kind, await carry(ports, kind, request, wanted));
  }

  // A test key and a live key are told apart by what they print: neither is answered the other's.
  const print =
    caller.mode === Mode.TEST ? fingerprint("test", body.value) : fingerprint(body.value);
  const keyed = { idempotencyKey: key, fingerprint: print };
  const target = { tenantId: caller.tenantId, endpoint: kind.endpoint, ...keyed };
  const find = async (beforeRefusal: boolean, timeoutMs?: number) => {
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    const call = ports.messaging.lookupSend({ ...target, beforeRefusal }, options);
    return asReplay((await rpcAnswer(call)).response);
  };
  const response = await runOnce<SendMessagesResponse>(ports.keyLocks, {
    scope: `${caller.tenantId}|${kind.endpoint}|${key}`,
    fingerprint: print,
    lookup: (timeoutMs) => find(false, timeoutMs),
    async run(isLocked) {
      let wanted: SendRequest;
      try {
        wanted = toRequest(ports, kind, request, body, []);
      } catch (error) {
        // Idempotency comes before validation: a body that is no longer valid (its send_at has
        // come near) still answers what its key has stored, and another body is a reused key
        // before it is an invalid one.
        const stored = await find(true);
        if (stored === undefined) throw error;
        return stored;
      }
      return carry(ports, kind, request, { ...wanted, ...keyed, fenced: isLocked });
    },
  });
  return toAnswer(kind, response);
}

/** Single sends travel together; a list is large enough for a call of its own. */
function carry(
  { messaging, sendOne }: SendPorts,
  kind: SendKind,
  { caller, requestId }: OperationRequest,
  wanted: SendRequest,
): Promise<SendMessagesResponse> {
  if (kind === SINGLE) return sendOne(caller.tenantId, wanted, requestId);
  return sendList(messaging, wanted, requestId);
}

function asReplay(stored: SendMessagesResponse | undefined): SendMessagesResponse | undefined {
  return stored === undefined ? undefined : { ...stored, replayed: true };
}

function toAnswer(kind: SendKind, response: SendMessagesResponse): OperationResponse {
  const answer = kind.answer(response);
  if (!response.replayed) return answer;
  return { ...answer, headers: { ...answer.headers, "Idempotent-Replayed": "true" } };
}

/** Checks everything that can be wrong with the request's form, and makes the RPC's of it. */
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
    source: MessageSource.API,
    endpoint: kind.endpoint,
    from: value.from as string,
    clientReference: (value.client_reference as string | null | undefined) ?? "",
    sendAtMs: BigInt("sendAtMs" in sendAt ? sendAt.sendAtMs : 0),
    ...kind.read(value),
  };
}
