import type { Client } from "@connectrpc/connect";
import type { MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { canonicalJson } from "../../../services/shared/core/canonical-json.ts";
import type { Clock } from "../../../services/shared/core/clock.ts";
import type { FieldError } from "../../../services/shared/core/errors.ts";
import { PAGE_DEFAULT } from "../../../services/shared/core/limits.ts";
import type { MESSAGE_SOURCES } from "../../../services/shared/core/message-source.ts";
import type { MESSAGE_STATUSES } from "../../../services/shared/core/message-status.ts";
import { parseBound } from "../../../services/shared/core/rfc3339.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { MESSAGE_EXAMPLE } from "../../docs/content/samples.ts";
import { pageOf } from "../../docs/operation-doc.ts";
import type { Cursors } from "../../lists/cursor.ts";
import {
  type CursorPayload,
  formatCursorPayload,
  parseCursorPayload,
} from "../../lists/cursor-payload.ts";
import { WRONG_CURSOR } from "../../lists/page-cursor.ts";
import { resolveTimeRange, type TimeRange } from "../../lists/time-range.ts";
import { renderMessage, SOURCE_NUMBERS, STATUS_NUMBERS } from "../../render/message.ts";
import { MESSAGE_LIST } from "../../schemas/lists.ts";
import { compileQuery } from "../../schemas/query.ts";
import { refuse } from "../../schemas/validate.ts";
import type { Operation, OperationRequest, OperationResponse } from "../operation.ts";

export type ListPorts = {
  readonly messaging: Client<typeof MessagingService>;
  readonly cursors: Cursors;
  readonly clock: Clock;
  /** The longest time range of one request. */
  readonly spanMaxMs: number;
};

/** The parameters, after the schema has checked them. */
type ListQuery = {
  readonly status?: readonly (typeof MESSAGE_STATUSES)[number][];
  readonly from?: string;
  readonly to?: string;
  readonly client_reference?: string;
  readonly campaign_id?: string;
  readonly source?: readonly (typeof MESSAGE_SOURCES)[number][];
  readonly created_after?: string;
  readonly created_before?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

const readQuery = compileQuery(MESSAGE_LIST);

/** Lists messages, newest first (`docs/contract.md#lists`). */
export function listMessagesOperation(ports: ListPorts): Operation {
  return {
    method: "GET",
    path: "/v1/messages",
    scope: "messages:read",
    doc: {
      id: "listMessages",
      tag: "Messages",
      summary: "List messages",
      description:
        "Newest first, of the key's own mode; filters combine. Without a time bound the last 7 days are listed, with " +
        "only `created_before` the 7 days before it; one request covers 92 days at most, by default. To " +
        "page without gaps or repeats while new messages arrive, send both `created_after` and " +
        "`created_before`. With a `created_before` in the future, which counts as written, the list " +
        "ends at the moment of the request (up to 250 ms ahead, the answer waits for it).",
      query: MESSAGE_LIST,
      response: {
        status: 200,
        description: "One page.",
        schema: pageOf("Message"),
        example: { data: [MESSAGE_EXAMPLE], next_cursor: null },
      },
      errors: ["validation_error"],
    },
    handle: (request) => list(ports, request),
  };
}

async function list(ports: ListPorts, request: OperationRequest): Promise<OperationResponse> {
  const { tenantId, mode } = request.caller;
  const { values, faults } = readQuery(request.query);
  const query = values as ListQuery;
  const problems = [...faults];
  const to = await readRecipient(query.to, problems);
  const { binding, page } = resolvePage(ports, request, query, to, problems);
  refuse(problems);
  // Without `created_before` there is no upper bound: the clock of the accepting process may be ahead of this one.
  const isOpen = query.created_before === undefined;
  if (page === undefined || (!isOpen && isEmptyRange(page.range))) {
    return { status: 200, body: { data: [], next_cursor: null } };
  }
  const found = await rpcAnswer(
    ports.messaging.listMessages({
      tenantId,
      mode,
      statuses: unique(query.status).map((status) => STATUS_NUMBERS[status]),
      from: query.from ?? "",
      to,
      clientReference: query.client_reference ?? "",
      campaignId: query.campaign_id ?? "",
      sources: unique(query.source).map((source) => SOURCE_NUMBERS[source]),
      createdAfterMs: BigInt(page.range.afterMs),
      createdBeforeMs: BigInt(isOpen ? 0 : Math.max(1, page.range.beforeMs)),
      limit: query.limit ?? PAGE_DEFAULT,
      beforeId: page.beforeId,
      settled: !isOpen,
      allowsShortPages: true,
    }),
  );
  const beforeId = found.nextBeforeId || found.messages.at(-1)?.id;
  const nextCursor =
    found.hasMore && beforeId !== undefined
      ? ports.cursors.issue(binding, formatCursorPayload({ ...page, beforeId }))
      : null;
  return {
    status: 200,
    body: { data: found.messages.map(renderMessage), next_cursor: nextCursor },
  };
}

function isEmptyRange({ afterMs, beforeMs }: TimeRange): boolean {
  return afterMs >= beforeMs;
}

/** The `to` filter in E.164, or empty; adds a fault when it is not a phone number. */
async function readRecipient(to: string | undefined, faults: FieldError[]): Promise<string> {
  if (to === undefined || faults.some(({ field }) => field === "to")) return "";
  // Import on use: the numbering plans take 20 MB of memory.
  const { normaliseNumber } = await import("../../../services/shared/core/phone.ts");
  const number = normaliseNumber(to);
  if (number !== undefined) return number;
  const message = "The value is not a phone number.";
  faults.push({ field: "to", code: "invalid_recipient", message });
  return "";
}

/** Resolves the start of the page, and the binding of this list's cursors. */
function resolvePage(
  ports: ListPorts,
  { caller }: OperationRequest,
  query: ListQuery,
  to: string,
  faults: FieldError[],
): { binding: string; page: CursorPayload | undefined } {
  const bounds = {
    createdAfterMs: parseBound(query.created_after ?? ""),
    createdBeforeMs: parseBound(query.created_before ?? ""),
  };
  const binding = canonicalJson([
    "messages",
    caller.tenantId,
    caller.mode,
    unique(query.status).sort(),
    query.from?.toLowerCase() ?? null,
    to,
    query.client_reference ?? null,
    query.campaign_id ?? null,
    unique(query.source).sort(),
    bounds.createdAfterMs ?? null,
    bounds.createdBeforeMs ?? null,
  ]);
  if (faults.length > 0) return { binding, page: undefined };
  if (query.cursor !== undefined) {
    // Do not check the range again: the first page did, and the cursor is signed. Time has passed since, so a range
    // at the limit would be refused between two pages.
    const page = parseCursorPayload(ports.cursors.read(binding, query.cursor) ?? "");
    if (page === undefined) faults.push(WRONG_CURSOR);
    return { binding, page };
  }
  const resolved = resolveTimeRange(bounds, ports.clock.now(), ports.spanMaxMs);
  if ("range" in resolved) {
    return { binding, page: { range: resolved.range, beforeId: "" } };
  }
  faults.push(...resolved.faults);
  return { binding, page: undefined };
}

function unique<T>(values: readonly T[] | undefined): T[] {
  return [...new Set(values)];
}
