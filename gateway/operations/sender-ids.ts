import type { Client } from "@connectrpc/connect";
import type { SenderId, SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { PAGE_DEFAULT } from "../../services/shared/core/limits.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { SENDER_ID_EXAMPLE, SENDER_ID_REQUEST_EXAMPLE } from "../docs/content/samples.ts";
import { dataOf, pageOf } from "../docs/operation-doc.ts";
import type { Cursors } from "../lists/cursor.ts";
import { readPageCursor } from "../lists/page-cursor.ts";
import { renderSenderId, SENDER_ID_STATUSES } from "../render/sender-id.ts";
import { NEW_SENDER_ID, SENDER_ID_LIST } from "../schemas/lists.ts";
import { compileQuery } from "../schemas/query.ts";
import { compileSchema, refuse } from "../schemas/validate.ts";
import { keyedResponse, readKeyedRequest } from "./keyed-request.ts";
import type { Operation, OperationRequest, OperationResponse } from "./operation.ts";

export type SenderIdPorts = {
  readonly senderIds: Client<typeof SenderIdService>;
  readonly cursors: Cursors;
};

type SenderIdQuery = {
  readonly status?: readonly (keyof typeof SENDER_ID_STATUSES)[];
  readonly usable?: boolean;
  readonly name?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

const PATH = "/v1/sender-ids";
const readQuery = compileQuery(SENDER_ID_LIST);
const validateNew = compileSchema(NEW_SENDER_ID);

/** Lists sender IDs by name (`docs/contract.md#sender-ids`). */
export function listSenderIdsOperation(ports: SenderIdPorts): Operation {
  return {
    method: "GET",
    path: PATH,
    scope: "sender_ids:read",
    doc: {
      id: "listSenderIds",
      tag: "Sender IDs",
      summary: "List sender IDs",
      description: "Ordered by name, with whether each can be used now.",
      query: SENDER_ID_LIST,
      response: {
        status: 200,
        description: "One page.",
        schema: pageOf("SenderId"),
        example: { data: [SENDER_ID_EXAMPLE], next_cursor: null },
      },
      errors: ["validation_error"],
    },
    handle: (request) => list(ports, request),
  };
}

async function list(ports: SenderIdPorts, request: OperationRequest): Promise<OperationResponse> {
  const { caller } = request;
  const { values, faults } = readQuery(request.query);
  const query = values as SenderIdQuery;
  const statuses = [...new Set(query.status)].sort();
  const name = query.name?.toLowerCase() ?? "";
  const filters = [caller.tenantId, statuses, query.usable ?? null, name];
  const { cursor } = query;
  const start = readPageCursor(ports.cursors, { list: "sender_ids", filters, cursor });
  refuse([...faults, ...start.faults]);
  const page = await rpcAnswer(
    ports.senderIds.listSenderIds({
      tenantId: caller.tenantId,
      statuses: statuses.map((status) => SENDER_ID_STATUSES[status]),
      name,
      limit: query.limit ?? PAGE_DEFAULT,
      cursor: start.after,
      ...(query.usable === undefined ? {} : { usable: query.usable }),
    }),
  );
  const isActive = !caller.isSuspended;
  return {
    status: 200,
    body: {
      data: page.senderIds.map((senderId) => renderSenderId(senderId, isActive)),
      next_cursor: start.next(page.nextCursor),
    },
  };
}

/** Asks for a sender ID (`docs/contract.md#sender-ids`). */
export function requestSenderIdOperation(ports: SenderIdPorts): Operation {
  return {
    method: "POST",
    path: PATH,
    scope: "sender_ids:manage",
    isLiveOnly: true,
    doc: {
      id: "requestSenderId",
      tag: "Sender IDs",
      summary: "Request a sender ID",
      description:
        "It is pending until it is reviewed; the events `sender_id.approved` and `sender_id.rejected` carry the " +
        "result. A rejected name may be requested again and keeps its id. A name that is pending, approved or " +
        "suspended is 409 `already_exists`. At most 10 requests may wait, and an account has at most 200 sender IDs. " +
        "A test key may not request one (403).",
      body: {
        name: "NewSenderId",
        isRequired: true,
        example: SENDER_ID_REQUEST_EXAMPLE,
      },
      takesIdempotencyKey: true,
      response: {
        status: 201,
        description: "Requested.",
        schema: dataOf("SenderId"),
        example: {
          data: {
            ...SENDER_ID_EXAMPLE,
            ...SENDER_ID_REQUEST_EXAMPLE,
            ...{ status: "pending", usable: false },
          },
        },
        headers: ["Idempotent-Replayed"],
      },
      errors: ["already_exists", "conflict", "idempotency_key_reused", "validation_error"],
    },
    handle: (request) => askFor(ports, request),
  };
}

type NewSenderId = { readonly name: string; readonly use_case: string; readonly sample: string };

async function askFor(
  { senderIds }: SenderIdPorts,
  request: OperationRequest,
): Promise<OperationResponse> {
  const { tenantId, mode, isSuspended } = request.caller;
  const { body, keyed } = readKeyedRequest(request, validateNew);
  const { name, use_case, sample } = body as NewSenderId;
  const texts = { useCase: use_case.toWellFormed(), sample: sample.toWellFormed() };
  const call = senderIds.requestSenderId({ tenantId, mode, name, ...texts, ...keyed });
  const result = await rpcAnswer(call);
  const data = renderSenderId(found(result.senderId), !isSuspended);
  return keyedResponse(201, data, result.replayed);
}

function found(senderId: SenderId | undefined): SenderId {
  if (senderId !== undefined) return senderId;
  throw new AppError("internal_error", "The answer is empty.");
}
