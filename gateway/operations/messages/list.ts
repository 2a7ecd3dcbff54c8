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
import { componentRef, pageOf } from "../../docs/operation-doc.ts";
import type { Cursors } from "../../lists/cursor.ts";
import {
  formatCursorPayload,
  type Position,
  parseCursorPayload,
} from "../../lists/cursor-payload.ts";
import { resolveTimeRange, type Window } from "../../lists/time-range.ts";
import { renderMessage, SOURCE_NUMBERS, STATUS_NUMBERS } from "../../render/message.ts";
import { MESSAGE_LIST } from "../../schemas/lists.ts";
import { compileQuery } from "../../schemas/query.ts";
import { refuse } from "../../schemas/validate.ts";
import type { Operation, OperationRequest, OperationResponse } from "../operation.ts";

/** What listing needs. */
export type ListPorts = {
  readonly messaging: Client<typeof MessagingService>;
  readonly cursors: Cursors;
  readonly clock: Clock;
  /** Longest span that one request may cover. */
  readonly spanMaxMs: number;
};

/** The query's values once the schema has passed them. */
type Wanted = {
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

/** Listing messages, newest first (`service.md` "GET /v1/messages"). */
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
        schema: pageOf(componentRef("Message")),
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
  const wanted = values as Wanted;
  const problems = [...faults];
  const to = await readRecipient(wanted.to, problems);
  const { binding, position } = readPlace(ports, request, wanted, to, problems);
  refuse(problems);
  // Up to now means up to what there is: the clock of who accepted it may be ahead of this one.
  const isOpen = wanted.created_before === undefined;
  if (position === undefined || (!isOpen && isNothing(position.window))) {
    return { status: 200, body: { data: [], next_cursor: null } };
  }
  const page = await rpcAnswer(
    ports.messaging.listMessages({
      tenantId,
      mode,
      statuses: unique(wanted.status).map((status) => STATUS_NUMBERS[status]),
      from: wanted.from ?? "",
      to,
      clientReference: wanted.client_reference ?? "",
      campaignId: wanted.campaign_id ?? "",
      sources: unique(wanted.source).map((source) => SOURCE_NUMBERS[source]),
      createdAfterMs: BigInt(position.window.afterMs),
      createdBeforeMs: BigInt(isOpen ? 0 : Math.max(1, position.window.beforeMs)),
      limit: wanted.limit ?? PAGE_DEFAULT,
      beforeId: position.beforeId,
      settled: !isOpen,
    }),
  );
  const last = page.messages.at(-1);
  const nextCursor =
    page.hasMore && last !== undefined
      ? ports.cursors.issue(binding, formatCursorPayload({ ...position, beforeId: last.id }))
      : null;
  return { status: 200, body: { data: page.messages.map(renderMessage), next_cursor: nextCursor } };
}

function isNothing({ afterMs, beforeMs }: Window): boolean {
  return afterMs >= beforeMs;
}

/** The filter's number in E.164, or empty; adds a fault when it cannot be parsed as a number. */
async function readRecipient(to: string | undefined, faults: FieldError[]): Promise<string> {
  if (to === undefined || faults.some(({ field }) => field === "to")) return "";
  // The world's numbering plans take 20 MB, which only a gateway that filters by them needs.
  const { normaliseNumber } = await import("../../../services/shared/core/phone.ts");
  const number = normaliseNumber(to);
  if (number !== undefined) return number;
  const message = "This is not a valid phone number.";
  faults.push({ field: "to", code: "invalid_recipient", message });
  return "";
}

/** Where the page begins, and what a cursor of this list is bound to. */
function readPlace(
  ports: ListPorts,
  { caller }: OperationRequest,
  wanted: Wanted,
  to: string,
  faults: FieldError[],
): { binding: string; position: Position | undefined } {
  const bounds = {
    createdAfterMs: parseBound(wanted.created_after ?? ""),
    createdBeforeMs: parseBound(wanted.created_before ?? ""),
  };
  const binding = canonicalJson([
    "messages",
    caller.tenantId,
    caller.mode,
    unique(wanted.status).sort(),
    wanted.from?.toLowerCase() ?? null,
    to,
    wanted.client_reference ?? null,
    wanted.campaign_id ?? null,
    unique(wanted.source).sort(),
    bounds.createdAfterMs ?? null,
    bounds.createdBeforeMs ?? null,
  ]);
  if (faults.length > 0) return { binding, position: undefined };
  if (wanted.cursor !== undefined) {
    // The first page's window has passed, and comes back signed. Held against a later now, one at the
    // limit would be refused midway.
    const position = parseCursorPayload(ports.cursors.read(binding, wanted.cursor) ?? "");
    if (position === undefined) faults.push(WRONG_CURSOR);
    return { binding, position };
  }
  const resolved = resolveTimeRange(bounds, ports.clock.now(), ports.spanMaxMs);
  if ("window" in resolved) {
    return { binding, position: { window: resolved.window, beforeId: "" } };
  }
  faults.push(...resolved.faults);
  return { binding, position: undefined };
}

const WRONG_CURSOR: FieldError = {
  field: "cursor",
  code: "invalid_value",
  message: "This is no cursor of this list with these filters.",
};

function unique<T>(values: readonly T[] | undefined): T[] {
  return [...new Set(values)];
}
