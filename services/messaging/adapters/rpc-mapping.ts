/** Maps protobuf to the domain and back, for `rpc.ts`. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ReasonSchema } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  type CancelMessageResponse,
  CancelMessageResponseSchema,
  type ClaimedMessage,
  ClaimedMessageSchema,
  type FindMessagesRequest,
  type ListMessagesRequest,
  type MessageSource,
  type MessageStatus,
  OutcomeKind,
  ReceiptState,
  SendEndpoint,
  type SendEntry,
  type SendMessagesRequest,
  type SendMessagesResponse,
  SendMessagesResponseSchema,
  type Outcome as WireOutcome,
  type Receipt as WireReceipt,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { KEY_FORM } from "../../shared/core/idempotency-key.ts";
import { isId } from "../../shared/core/ids.ts";
import { invert } from "../../shared/core/invert.ts";
import { checkKnown, invalidField, unknownValue } from "../../shared/core/limits.ts";
import { readMode, WIRE_MODE } from "../../shared/rpc/mode.ts";
import { readTrafficClass } from "../../shared/rpc/traffic-class.ts";
import type { About } from "../app/carrier-reports.ts";
import type { ListFilter, ResponseEncoder } from "../app/ports.ts";
import type { NumberSearch } from "../app/queries.ts";
import type { Draft } from "../domain/build-messages.ts";
import { currentRoute, type Message } from "../domain/message.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Receipt } from "../domain/receipt.ts";
import type { SendEndpoint as Endpoint, SendRequest } from "../domain/send-request.ts";
import { toWireMessage, toWireTime, WIRE_ENCODING, WIRE_SOURCE, WIRE_STATUS } from "./proto.ts";

/** The domain's endpoint for each endpoint of the protocol. */
export const ENDPOINTS: Readonly<Partial<Record<SendEndpoint, Endpoint>>> = {
  [SendEndpoint.SINGLE]: "single",
  [SendEndpoint.BULK]: "bulk",
  [SendEndpoint.BATCH]: "batch",
  [SendEndpoint.CAMPAIGN]: "campaign",
};
const OUTCOMES: Readonly<Partial<Record<OutcomeKind, Outcome["kind"]>>> = {
  [OutcomeKind.ACCEPTED]: "accepted",
  [OutcomeKind.REFUSED]: "refused",
  [OutcomeKind.NOT_SENT]: "not_sent",
  [OutcomeKind.UNKNOWN]: "unknown",
  [OutcomeKind.PARTLY_REFUSED]: "partly_refused",
};
const RECEIPTS: Readonly<Partial<Record<ReceiptState, Receipt["state"]>>> = {
  [ReceiptState.DELIVERED]: "delivered",
  [ReceiptState.UNDELIVERED]: "undelivered",
  [ReceiptState.ACKNOWLEDGED]: "acknowledged",
};
const STATUSES = invert<MessageStatus, Message["status"]>(WIRE_STATUS);
const SOURCES = invert<MessageSource, Message["source"]>(WIRE_SOURCE);

/** Reads the endpoint to which an idempotency key belongs. */
export function readEndpoint(endpoint: SendEndpoint): Endpoint {
  return checkKnown("endpoint", ENDPOINTS[endpoint]);
}

/** Reads an idempotency key; throws `validation_error` if it is malformed. */
export function readKey(key: string): string | undefined {
  if (key === "" || KEY_FORM.test(key)) return key || undefined;
  const message = "A key has 1 to 64 letters, digits, _ and -.";
  throw new AppError("validation_error", message, {
    fields: [{ field: "idempotency_key", code: "invalid_format", message }],
  });
}

/** Reads a send. */
export function readSendRequest(
  wire: SendMessagesRequest,
  isCheckedAtGateway: boolean,
): SendRequest {
  return {
    tenantId: wire.tenantId,
    mode: checkKnown("mode", readMode(wire.mode)),
    source: checkKnown("source", SOURCES.get(wire.source)),
    campaignId: readCampaign(wire.campaignId),
    keyId: wire.apiKeyId || undefined,
    endpoint: readEndpoint(wire.endpoint),
    key: readKey(wire.idempotencyKey),
    fingerprint: wire.fingerprint,
    isLocked: wire.fenced,
    from: wire.from,
    body: wire.body,
    clientReference: wire.clientReference || undefined,
    sendAtMs: wire.sendAtMs === 0n ? undefined : Number(wire.sendAtMs),
    isCheckedAtGateway,
    recipients: wire.recipients.map(({ to, body, clientReference }) => ({
      to,
      body,
      clientReference: clientReference || undefined,
    })),
    heldAmountMax: wire.heldAmountMax,
    trafficClass: readTrafficClass(wire.trafficClass),
    isConsentReply: wire.isConsentReply,
    rejectsInQuietHours: wire.rejectsInQuietHours,
  };
}

/** Writes the response to an accepted send, with entries of the messages that `isShown` picks. */
export function sendResponse(
  request: SendRequest,
  draft: Draft,
  isShown: (message: Message) => boolean = () => true,
): SendMessagesResponse {
  const { messages } = draft;
  const [first] = messages;
  const isSingle = request.endpoint === "single";
  // An object literal, as in `toWireMessage`.
  const response: SendMessagesResponse = {
    $typeName: "sms.v1.SendMessagesResponse",
    sendId: draft.sendId,
    reservationId: draft.reservationId ?? `rsv_${draft.sendId.slice(4)}`,
    requested: messages.length,
    accepted: draft.accepted,
    rejected: messages.length - draft.accepted,
    segments: draft.segments,
    heldAmount: draft.heldAmount,
    currency: first?.currency ?? "",
    mode: WIRE_MODE[request.mode],
    entries: isSingle
      ? []
      : messages.flatMap((message, index) =>
          isShown(message) ? [toEntry(request, message, index)] : [],
        ),
    replayed: false,
  };
  if (isSingle && first !== undefined) response.message = toWireMessage(first, false);
  return response;
}

function toEntry(request: SendRequest, message: Message, index: number): SendEntry {
  const entry: SendEntry = {
    $typeName: "sms.v1.SendEntry",
    id: message.id,
    index,
    input: request.recipients[index]?.to ?? "",
    to: message.to,
    status: WIRE_STATUS[message.status],
    segments: message.segments,
    heldAmount: message.heldAmount,
    clientReference: message.clientReference ?? "",
  };
  if (message.error !== undefined) entry.error = create(ReasonSchema, message.error);
  return entry;
}

/** The stored response of a send's key. */
export function replayedSend(bytes: Uint8Array): SendMessagesResponse {
  const response = fromBinary(SendMessagesResponseSchema, bytes);
  response.replayed = true;
  return response;
}

/** Encodes responses as protobuf. */
export const responseEncoder: ResponseEncoder = {
  send: (request, draft) => toBinary(SendMessagesResponseSchema, sendResponse(request, draft)),
  cancel: (message) => toBinary(CancelMessageResponseSchema, cancelResponse(message)),
};

/** Writes the response to a cancel. */
export function cancelResponse(message: Message): CancelMessageResponse {
  return create(CancelMessageResponseSchema, { message: toWireMessage(message, false) });
}

/** The stored first answer of a cancel's key. */
export function replayedCancel(bytes: Uint8Array): CancelMessageResponse {
  const response = fromBinary(CancelMessageResponseSchema, bytes);
  response.replayed = true;
  return response;
}

/** Removes duplicates, so that a repeated value does not enlarge the query. */
function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

/** Reads the filters of a list. */
export function readListFilter(wire: ListMessagesRequest): ListFilter {
  return {
    tenantId: wire.tenantId,
    mode: readMode(wire.mode),
    statuses: distinct(wire.statuses).map((it) => checkKnown("statuses", STATUSES.get(it))),
    sources: distinct(wire.sources).map((it) => checkKnown("sources", SOURCES.get(it))),
    from: wire.from || undefined,
    to: wire.to || undefined,
    clientReference: wire.clientReference || undefined,
    campaignId: readCampaign(wire.campaignId),
    createdAfterMs: wire.createdAfterMs === 0n ? undefined : Number(wire.createdAfterMs),
    createdBeforeMs: wire.createdBeforeMs === 0n ? undefined : Number(wire.createdBeforeMs),
    beforeId: readBeforeId(wire.beforeId),
  };
}

/** Reads a search across tenants: for a message, or for a number. */
export function readSearch(
  wire: FindMessagesRequest,
): NumberSearch & { readonly messageId: string | undefined } {
  const { messageId, to, tenants } = wire;
  if ((messageId === "") === (to === "")) {
    throw invalidField("to", "required", "must be given, or message_id, and not both");
  }
  if (tenants < 0) throw invalidField("tenants", "out_of_range", "must not be negative");
  if (to.length > NUMBER_MAX) throw invalidField("to", "too_long", "is no number");
  return {
    ...{ messageId: messageId || undefined, to, tenants, limit: wire.limit },
    tenantId: wire.tenantId || undefined,
    createdAfterMs: wire.createdAfterMs === 0n ? undefined : Number(wire.createdAfterMs),
    createdBeforeMs: wire.createdBeforeMs === 0n ? undefined : Number(wire.createdBeforeMs),
    afterTenantId: wire.afterTenantId,
  };
}

/** The longest number of a search, in characters; E.164 has 16. */
const NUMBER_MAX = 32;

/** Writes a message for the carrier that claimed it, with the span in which it may be submitted. */
export function toClaimed(message: Message): ClaimedMessage {
  const span = message.claim?.openSpan;
  return create(ClaimedMessageSchema, {
    messageId: message.id,
    tenantId: message.tenantId,
    claimId: message.claim?.id ?? "",
    to: message.to,
    from: message.from,
    body: message.body,
    encoding: WIRE_ENCODING[message.encoding],
    segments: message.segments,
    routeId: currentRoute(message)?.routeId ?? "",
    attempt: message.attempts,
    queueUntilMs: toWireTime(message.queueUntilMs),
    mode: WIRE_MODE[message.mode],
    traceparent: message.trace ?? "",
    openFromMs: toWireTime(span?.fromMs),
    openUntilMs: toWireTime(span?.untilMs),
  });
}

/** The most characters of a carrier's code that are stored. SMPP codes are short; a receipt's text may be arbitrary. */
const CARRIER_CODE_MAX = 256;

/** Reads the outcome at position `at` of a list. */
export function readOutcome(wire: WireOutcome, at: number): About<Outcome> {
  return {
    messageId: wire.messageId,
    claimId: wire.claimId,
    kind: checkKnown(`outcomes[${at}].kind`, OUTCOMES[wire.kind]),
    carrierCode: wire.carrierCode.slice(0, CARRIER_CODE_MAX),
    retryAtMs: Number(wire.retryAtMs),
    occurredAtMs: Number(wire.occurredAtMs),
    errorCode: wire.errorCode,
    isIncomplete: wire.isIncomplete,
  };
}

const PART_KEY_MAX = 256;
/**
 * The most parts of a message, one bit each of a small integer. Ten segments (1,530 characters) make at most 24 parts
 * in UCS-2.
 */
const PARTS_MAX = 31;

/** Reads the receipt at position `at` of a list. */
export function readReceipt(wire: WireReceipt, at: number): About<Receipt> {
  return {
    messageId: wire.messageId,
    segment: wire.segment,
    parts: Math.min(Math.max(0, wire.parts), PARTS_MAX),
    isSegmentGuessed: wire.isSegmentGuessed,
    partKey: wire.partKey.slice(0, PART_KEY_MAX),
    connectorId: wire.connectorId,
    state: checkKnown(`receipts[${at}].state`, RECEIPTS[wire.state]),
    errorCode: wire.errorCode,
    carrierCode: wire.carrierCode.slice(0, CARRIER_CODE_MAX),
    occurredAtMs: Number(wire.occurredAtMs),
  };
}

/** Reads the id of a campaign that must be named. */
export function readNamedCampaign(text: string): string {
  const id = readCampaign(text);
  if (id === undefined) throw invalidField("campaign_id", "required", "names the campaign");
  return id;
}

function readCampaign(text: string): string | undefined {
  if (text === "") return undefined;
  if (!isId("campaign", text)) throw unknownValue("campaign_id");
  return text;
}

function readBeforeId(text: string): string | undefined {
  if (text === "") return undefined;
  if (!isId("message", text)) throw unknownValue("before_id");
  return text;
}
