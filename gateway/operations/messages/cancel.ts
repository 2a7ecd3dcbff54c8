import type { Client } from "@connectrpc/connect";
import type { Message, MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { fingerprint } from "../../../services/shared/core/canonical-json.ts";
import { AppError, type FieldError } from "../../../services/shared/core/errors.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { MESSAGE_EXAMPLE } from "../../docs/content/samples.ts";
import { dataOf, NO_BODY } from "../../docs/operation-doc.ts";
import { readIdempotencyKey } from "../../idempotency/key.ts";
import type { KeyLocks } from "../../idempotency/lock.ts";
import { runLocked } from "../../idempotency/run-locked.ts";
import { renderMessage } from "../../render/message.ts";
import { hasBody, parseBody } from "../../schemas/parse-body.ts";
import { queryFaults } from "../../schemas/query.ts";
import { MESSAGE_ID } from "../../schemas/responses.ts";
import { compileSchema, refuse } from "../../schemas/validate.ts";
import { EMPTY_BODY } from "../../schemas/webhooks.ts";
import type { Operation, OperationRequest, OperationResponse } from "../operation.ts";
import { parseMessageId } from "./get.ts";

export type CancelPorts = {
  readonly messaging: Client<typeof MessagingService>;
  readonly keyLocks: KeyLocks;
};

type Cancelled = { readonly message?: Message | undefined; readonly replayed: boolean };

const validate = compileSchema(EMPTY_BODY);

/** Cancels one message (`docs/contract.md#cancel`). */
export function cancelOperation(ports: CancelPorts): Operation {
  return {
    method: "POST",
    path: "/v1/messages/:message_id/cancel",
    scope: "messages:send",
    doc: {
      id: "cancelMessage",
      tag: "Messages",
      summary: "Cancel a message",
      description:
        "Cancels a scheduled or queued message sent through the API and releases its hold. One " +
        "that is cancelled already is returned unchanged. Campaign messages are cancelled with " +
        "their campaign.",
      params: { message_id: MESSAGE_ID },
      body: NO_BODY,
      takesIdempotencyKey: true,
      response: {
        status: 200,
        description: "The cancelled message.",
        schema: dataOf("Message"),
        example: {
          data: {
            ...MESSAGE_EXAMPLE,
            status: "cancelled",
            error: { code: "cancelled", message: "The message was cancelled before it was sent." },
            completed_at: "2026-11-02T09:30:04.000Z",
            updated_at: "2026-11-02T09:30:04.000Z",
          },
        },
        headers: ["Idempotent-Replayed"],
      },
      errors: [
        "not_found",
        "conflict",
        "idempotency_key_reused",
        "invalid_state_transition",
        "validation_error",
      ],
    },
    handle: (request) => cancel(ports, request),
  };
}

async function cancel(ports: CancelPorts, request: OperationRequest): Promise<OperationResponse> {
  const { caller } = request;
  const messageId = parseMessageId(request.params.message_id, caller.mode);
  const { key, faults: keyFaults } = readIdempotencyKey(request.idempotencyKey);
  const target = { tenantId: caller.tenantId, mode: caller.mode, messageId };
  // No body, `null` and an empty object mean the same.
  const { body, faults } = readEmptyBody(request);
  faults.push(...keyFaults);
  const print = fingerprint(body ?? {});
  const keyed = { idempotencyKey: key, fingerprint: print };
  const lookup = async (timeoutMs?: number): Promise<Cancelled | undefined> => {
    const { tenantId, mode } = caller;
    const lookupRequest = { tenantId, mode, cancelMessageId: messageId, ...keyed };
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    const { response } = await rpcAnswer(ports.messaging.lookupSend(lookupRequest, options));
    return response === undefined ? undefined : { message: response.message, replayed: true };
  };
  // Check that the message exists before its idempotency key: for a test key a live message does not exist,
  // although a live key may have stored a response.
  if (faults.length > 0 || key !== "") await rpcAnswer(ports.messaging.getMessage(target));
  if (faults.length > 0) {
    const stored = key !== "" && body !== undefined ? await lookup() : undefined;
    // A repeated request gets the stored response even if its query is invalid, like a send.
    if (stored !== undefined && faults.length === queryFaults(request.query).length) {
      return toAnswer(stored);
    }
    refuse(faults);
  }
  if (key === "") return toAnswer(await rpcAnswer(ports.messaging.cancelMessage(target)));
  const scope = `${caller.tenantId}|cancel|${messageId}|${key}`;
  return toAnswer(
    await runLocked<Cancelled>(ports.keyLocks, {
      scope,
      fingerprint: print,
      lookup,
      run: (isLocked) =>
        rpcAnswer(ports.messaging.cancelMessage({ ...target, ...keyed, fenced: isLocked })),
    }),
  );
}

/** The body, `undefined` when it cannot be parsed, and all faults of the request. */
function readEmptyBody(request: OperationRequest): {
  body: Record<string, unknown> | undefined;
  faults: FieldError[];
} {
  const ofQuery = queryFaults(request.query);
  if (!hasBody(request.bodyBytes)) return { body: {}, faults: [...ofQuery] };
  const { body, faults } = parseBody(request.bodyBytes, validate);
  return { body, faults: [...ofQuery, ...faults] };
}

function toAnswer({ message, replayed }: Cancelled): OperationResponse {
  if (message === undefined) throw new AppError("internal_error", "The answer has no message.");
  return {
    status: 200,
    body: { data: renderMessage(message) },
    ...(replayed ? { headers: { "Idempotent-Replayed": "true" } } : {}),
  };
}
