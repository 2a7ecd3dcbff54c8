import type { Client } from "@connectrpc/connect";
import type { SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { PAGE_DEFAULT } from "../../services/shared/core/limits.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { SENDER_ID_EXAMPLE } from "../docs/content/samples.ts";
import { pageOf } from "../docs/operation-doc.ts";
import type { Cursors } from "../lists/cursor.ts";
import { readPageCursor } from "../lists/page-cursor.ts";
import { renderSenderId, SENDER_ID_STATUSES } from "../render/sender-id.ts";
import { SENDER_ID_LIST } from "../schemas/lists.ts";
import { compileQuery } from "../schemas/query.ts";
import { refuse } from "../schemas/validate.ts";
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

const readQuery = compileQuery(SENDER_ID_LIST);

/** Lists sender IDs by name (`docs/contract.md#sender-ids`). */
export function listSenderIdsOperation(ports: SenderIdPorts): Operation {
  return {
    method: "GET",
    path: "/v1/sender-ids",
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
