/** The messages that handsets sent to numbers of an account: list and read. */
import type { Client } from "@connectrpc/connect";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import type { ConsentService } from "../../proto/gen/sms/v1/consent_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { isId } from "../../services/shared/core/ids.ts";
import { PAGE_DEFAULT } from "../../services/shared/core/limits.ts";
import { normaliseNumber } from "../../services/shared/core/phone.ts";
import { parseBound } from "../../services/shared/core/rfc3339.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { INBOUND_EXAMPLE } from "../docs/content/consent-samples.ts";
import { dataOf, type OperationDoc, pageOf } from "../docs/operation-doc.ts";
import type { Cursors } from "../lists/cursor.ts";
import { readPageCursor } from "../lists/page-cursor.ts";
import { renderInbound } from "../render/consent.ts";
import { INBOUND_LIST } from "../schemas/consent.ts";
import { compileQuery, refuseQuery } from "../schemas/query.ts";
import { refuse } from "../schemas/validate.ts";
import type { Operation, OperationRequest, OperationResponse } from "./operation.ts";

export type InboundPorts = {
  readonly consent: Client<typeof ConsentService>;
  readonly cursors: Cursors;
};

const PATH = "/v1/inbound-messages";
const readQuery = compileQuery(INBOUND_LIST);

/** Creates the operations (`docs/contract.md#consent`). */
export function inboundOperations(ports: InboundPorts): Operation[] {
  return [
    {
      ...{ method: "GET", path: PATH, scope: "inbound:read" },
      doc: { tag: "Consent", ...LIST },
      handle: (request) => list(ports, request),
    },
    {
      ...{ method: "GET", path: `${PATH}/:inbound_message_id`, scope: "inbound:read" },
      doc: { tag: "Consent", ...READ },
      handle: (request) => read(ports, request),
    },
  ];
}

const LIST: Omit<OperationDoc, "tag"> = {
  id: "listInboundMessages",
  summary: "List inbound messages",
  description: "What handsets have sent to your numbers, newest first. A test key has none.",
  query: INBOUND_LIST,
  response: {
    status: 200,
    description: "One page.",
    schema: pageOf("InboundMessage"),
    example: { data: [INBOUND_EXAMPLE], next_cursor: null },
  },
  errors: ["validation_error"],
};

type ListQuery = {
  readonly from?: string;
  readonly to?: string;
  readonly received_after?: string;
  readonly received_before?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

async function list(
  { consent, cursors }: InboundPorts,
  { caller, query: text }: OperationRequest,
): Promise<OperationResponse> {
  const { values, faults } = readQuery(text);
  const query = values as ListQuery;
  const from = query.from === undefined ? "" : (normaliseNumber(query.from) ?? query.from);
  const to = (query.to ?? "").replace(/\D/g, "");
  const afterMs = parseBound(query.received_after ?? "") ?? 0;
  const beforeMs = parseBound(query.received_before ?? "") ?? 0;
  const start = readPageCursor(cursors, {
    list: "inbound_messages",
    filters: [caller.tenantId, caller.mode, from, to, afterMs, beforeMs],
    cursor: query.cursor,
    isEntry: (id) => isId("inboundMessage", id),
  });
  refuse([...faults, ...start.faults]);
  // Handsets write to live numbers only.
  if (caller.mode === Mode.TEST) return { status: 200, body: { data: [], next_cursor: null } };
  const page = await rpcAnswer(
    consent.listInboundMessages({
      tenantId: caller.tenantId,
      ...{ from, to, beforeId: start.after },
      receivedAfterMs: BigInt(afterMs),
      receivedBeforeMs: BigInt(beforeMs),
      limit: query.limit ?? PAGE_DEFAULT,
    }),
  );
  const next_cursor = start.next(page.hasMore ? page.messages.at(-1)?.id : undefined);
  return { status: 200, body: { data: page.messages.map(renderInbound), next_cursor } };
}

const READ: Omit<OperationDoc, "tag"> = {
  id: "getInboundMessage",
  summary: "Read an inbound message",
  description: "One message of a handset.",
  params: { inbound_message_id: { type: "string", pattern: "^inb_[0-9A-HJKMNP-TV-Z]{26}$" } },
  response: {
    status: 200,
    description: "The message.",
    schema: dataOf("InboundMessage"),
    example: { data: INBOUND_EXAMPLE },
  },
  errors: ["not_found", "validation_error"],
};

async function read(
  { consent }: InboundPorts,
  { caller, params, query }: OperationRequest,
): Promise<OperationResponse> {
  const id = params.inbound_message_id ?? "";
  if (!isId("inboundMessage", id) || caller.mode === Mode.TEST) throw unknown();
  const { tenantId } = caller;
  const { message } = await rpcAnswer(consent.getInboundMessage({ tenantId, id }));
  if (message === undefined) throw unknown();
  refuseQuery(query);
  return { status: 200, body: { data: renderInbound(message) } };
}

function unknown(): AppError {
  return new AppError("not_found", "There is no such message.");
}
