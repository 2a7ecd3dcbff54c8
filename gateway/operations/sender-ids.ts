import type { Client } from "@connectrpc/connect";
import type { SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { canonicalJson } from "../../services/shared/core/canonical-json.ts";
import { PAGE_DEFAULT } from "../../services/shared/core/limits.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { SENDER_ID_EXAMPLE } from "../docs/content/samples.ts";
import { componentRef, pageOf } from "../docs/operation-doc.ts";
import type { Cursors } from "../lists/cursor.ts";
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
        schema: pageOf(componentRef("SenderId")),
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
  const problems = [...faults];
  const statuses = [...new Set(query.status)].sort();
  const name = query.name?.toLowerCase() ?? "";
  const filters = [caller.tenantId, statuses, query.usable ?? null, name];
  const binding = canonicalJson(["sender_ids", ...filters]);
  let after: string | undefined = "";
  if (query.cursor !== undefined) {
    after = ports.cursors.read(binding, query.cursor);
    if (after === undefined) {
      const message = "This is no cursor of this list with these filters.";
      problems.push({ field: "cursor", code: "invalid_value", message });
    }
  }
  refuse(problems);
  const page = await rpcAnswer(
    ports.senderIds.listSenderIds({
      tenantId: caller.tenantId,
      statuses: statuses.map((status) => SENDER_ID_STATUSES[status]),
      name,
      limit: query.limit ?? PAGE_DEFAULT,
      cursor: after ?? "",
      ...(query.usable === undefined ? {} : { usable: query.usable }),
    }),
  );
  const isActive = !caller.isSuspended;
  return {
    status: 200,
    body: {
      data: page.senderIds.map((senderId) => renderSenderId(senderId, isActive)),
      next_cursor: page.nextCursor === "" ? null : ports.cursors.issue(binding, page.nextCursor),
    },
  };
}
