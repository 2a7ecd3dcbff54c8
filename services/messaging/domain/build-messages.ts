/**
 * Builds the messages of a send: parses, segments, prices and checks each recipient on its own. The draft contains
 * the amount to hold and the messages to store; nothing is held or stored yet.
 */
import { idTimeMs, newId } from "../../shared/core/ids.ts";
import { RECIPIENT_CHARS_MAX, SEGMENTS_MAX } from "../../shared/core/limits.ts";
import { maxAmount } from "../../shared/core/money.ts";
import { normaliseNumber, parseRecipient } from "../../shared/core/phone.ts";
import { describeText, type TextDescription } from "../../shared/core/segments.ts";
import type { TrafficClass } from "../../shared/core/traffic-class.ts";
import type { RouteTable } from "../../shared/routes/route-table.ts";
import { selectRoutes } from "../../shared/routes/select-routes.ts";
import { type ReasonCode, reasonFor } from "./failure-reasons.ts";
import type { FrozenRoute, Message } from "./message.ts";
import { TEST_CONNECTOR } from "./queue-transitions.ts";
import { isQuietAt, openTimeEnd, type QuietHours } from "./quiet-hours.ts";
import {
  hasOwnBodies,
  type RequestedRecipient,
  recipientField,
  type SendRequest,
  validationError,
} from "./send-request.ts";
import { NO_COUNTRY } from "./usage.ts";

/** The one route of test mode. */
export const TEST_ROUTE: FrozenRoute = Object.freeze({
  routeId: "test",
  connectorId: TEST_CONNECTOR,
  price: 0n,
});

/** The facts that a draft depends on. */
export type DraftFacts = {
  /** The sender ID's registered spelling. */
  readonly sender: string;
  readonly trafficClass: TrafficClass;
  /** True for a number that has opted out. */
  readonly isOptedOut: (number: string) => boolean;
  readonly plan: string;
  readonly currency: string;
  readonly redact: boolean;
  readonly table: RouteTable;
  readonly nowMs: number;
  readonly queueMs: number;
  readonly quietHours: QuietHours;
  /** Refuse recipients that would have to wait for the end of quiet hours. */
  readonly rejectsInQuietHours: boolean;
  readonly random: () => number;
  /** W3C traceparent of the acceptance, when it is recorded. */
  readonly trace?: string | undefined;
};

/** A send that has passed its checks. */
export type Draft = {
  readonly sendId: string;
  /** The id of the hold, with the ULID of the send; undefined when the send costs nothing. */
  readonly reservationId: string | undefined;
  /** In submitted order, rejected ones included; ids rise. */
  readonly messages: readonly Message[];
  readonly accepted: number;
  readonly segments: number;
  readonly heldAmount: bigint;
};

type CheckedRecipient = {
  readonly to: string;
  readonly country: string;
  readonly body: string;
  readonly text: TextDescription;
  readonly clientReference: string | undefined;
  readonly routes: readonly FrozenRoute[];
  readonly heldAmount: bigint;
  readonly refusal: ReasonCode | undefined;
};

/**
 * Drafts a send. Throws `validation_error` with a field per recipient when no recipient passes; then no message
 * exists.
 */
export function draftSend(request: SendRequest, facts: DraftFacts): Draft {
  const checked = checkRecipients(request, facts);
  const passing = checked.filter(({ refusal }) => refusal === undefined);
  if (passing.length === 0) throw refuseAll(request, checked);
  const heldAmount = passing.reduce((sum, recipient) => sum + recipient.heldAmount, 0n);
  const sendId = newId("send", facts.nowMs);
  const reservationId = heldAmount > 0n ? `rsv_${sendId.slice(4)}` : undefined;
  // Synchronous, so the ids of a send form a closed range that contains no other send's id.
  const ids = checked.map(() => newId("message", facts.nowMs));
  const createdMs = idTimeMs(ids[0] as string);
  const messages = checked.map((recipient, at) =>
    toMessage(request, facts, recipient, {
      id: ids[at] as string,
      createdMs,
      reservationId: recipient.heldAmount > 0n ? reservationId : undefined,
    }),
  );
  return {
    sendId,
    reservationId,
    messages,
    accepted: passing.length,
    segments: passing.reduce((sum, { text }) => sum + text.segments, 0),
    heldAmount,
  };
}

/** Like `draftSend`, for an estimate: also when no recipient passes, and its messages have no ids. */
export function estimateSend(request: SendRequest, facts: DraftFacts): Draft {
  const checked = checkRecipients(request, facts);
  const passing = checked.filter(({ refusal }) => refusal === undefined);
  const made = { id: "", createdMs: facts.nowMs, reservationId: undefined };
  return {
    sendId: "",
    reservationId: undefined,
    messages: checked.map((recipient) => toMessage(request, facts, recipient, made)),
    accepted: passing.length,
    segments: passing.reduce((sum, { text }) => sum + text.segments, 0),
    heldAmount: passing.reduce((sum, recipient) => sum + recipient.heldAmount, 0n),
  };
}

function checkRecipients(request: SendRequest, facts: DraftFacts): CheckedRecipient[] {
  const shared = hasOwnBodies(request.endpoint) ? undefined : describeText(request.body);
  const seen = new Set<string>();
  return request.recipients.map((recipient) => {
    const body = shared === undefined ? (recipient.body ?? "") : request.body;
    const text = shared ?? describeText(body);
    return checkRecipient(request, facts, recipient, { body, text }, seen);
  });
}

function checkRecipient(
  request: SendRequest,
  facts: DraftFacts,
  recipient: RequestedRecipient,
  { body, text }: { body: string; text: TextDescription },
  seen: Set<string>,
): CheckedRecipient {
  const clientReference = hasOwnBodies(request.endpoint)
    ? recipient.clientReference
    : request.clientReference;
  const parsed = parseRecipient(recipient.to);
  const country = parsed.ok ? parsed.country : NO_COUNTRY;
  const refuse = (to: string, refusal: ReasonCode): CheckedRecipient => ({
    to,
    country,
    body,
    text,
    clientReference,
    routes: [],
    heldAmount: 0n,
    refusal,
  });
  if (!parsed.ok) {
    // A landline is shown as an E.164 number; text that is no number is kept as given.
    const shown = normaliseNumber(recipient.to) ?? recipient.to.slice(0, RECIPIENT_CHARS_MAX);
    return refuse(shown, "invalid_recipient");
  }
  const to = parsed.e164;
  if (seen.has(to)) return refuse(to, "duplicate_recipient");
  seen.add(to);
  if (facts.isOptedOut(to)) return refuse(to, "recipient_opted_out");
  const sentAtMs = request.sendAtMs ?? facts.nowMs;
  const { trafficClass } = facts;
  if (facts.rejectsInQuietHours && isQuietAt({ to, trafficClass }, sentAtMs, facts.quietHours)) {
    return refuse(to, "quiet_hours");
  }
  const priced = selectRoutes(facts.table, {
    tenantId: request.tenantId,
    plan: facts.plan,
    senderName: facts.sender,
    trafficClass: facts.trafficClass,
    digits: to.slice(1),
    nowMs: sentAtMs,
    random: facts.random,
  });
  if (priced.length === 0) return refuse(to, "destination_not_supported");
  if (text.segments > SEGMENTS_MAX) return refuse(to, "body_too_long");
  const routes = request.mode === "test" ? [TEST_ROUTE] : priced;
  const highest = routes.reduce((price, route) => maxAmount(price, route.price), 0n);
  const heldAmount = highest * BigInt(text.segments);
  return { to, country, body, text, clientReference, routes, heldAmount, refusal: undefined };
}

/** Characters kept of a rejected recipient's body, which may have megabytes; ten segments have at most 1,530. */
const REJECTED_BODY_CHARS_MAX = 1600;

/** The part of a rejected recipient's body that is stored and shown. */
function keptBody(body: string, redact: boolean): string {
  if (redact) return "";
  if (body.length <= REJECTED_BODY_CHARS_MAX) return body;
  // A character has one or two UTF-16 units; cut no pair in two.
  const characters = [...body.slice(0, 2 * REJECTED_BODY_CHARS_MAX)];
  return characters.slice(0, REJECTED_BODY_CHARS_MAX).join("");
}

function refuseAll(request: SendRequest, checked: readonly CheckedRecipient[]): Error {
  return validationError(
    checked.flatMap(({ refusal }, index) => {
      if (refusal === undefined) return [];
      const name = refusal === "body_too_long" ? "body" : "to";
      const field = recipientField(request.endpoint, index, name);
      return [{ field, ...reasonFor(refusal) }];
    }),
  );
}

const NO_RECEIPTS = Object.freeze({ delivered: 0, failed: 0 });

function toMessage(
  request: SendRequest,
  facts: DraftFacts,
  checked: CheckedRecipient,
  made: { id: string; createdMs: number; reservationId: string | undefined },
): Message {
  const { createdMs } = made;
  const isRejected = checked.refusal !== undefined;
  const isScheduled = !isRejected && request.sendAtMs !== undefined;
  const isQueued = !isRejected && !isScheduled;
  const status = isRejected ? "rejected" : isScheduled ? "scheduled" : "queued";
  const error = checked.refusal === undefined ? undefined : reasonFor(checked.refusal);
  const { to } = checked;
  const { trafficClass, nowMs, queueMs, quietHours } = facts;
  const queueUntilMs = isQueued
    ? openTimeEnd({ to, trafficClass }, nowMs, queueMs, quietHours)
    : undefined;
  return {
    id: made.id,
    tenantId: request.tenantId,
    mode: request.mode,
    source: request.source,
    campaignId: request.campaignId,
    keyId: request.keyId,
    country: checked.country,
    reservationId: made.reservationId,
    status,
    to,
    from: facts.sender,
    body: isRejected ? keptBody(checked.body, facts.redact) : checked.body,
    encoding: checked.text.encoding,
    segments: checked.text.segments,
    heldAmount: checked.heldAmount,
    unitPrice: undefined,
    amount: undefined,
    currency: facts.currency,
    clientReference: checked.clientReference,
    error,
    carrierCode: undefined,
    scheduledAtMs: request.sendAtMs,
    sentAtMs: undefined,
    completedAtMs: isRejected ? createdMs : undefined,
    updatedAtMs: createdMs,
    history: [{ status, atMs: createdMs, error }],
    routes: checked.routes,
    routeAt: 0,
    trafficClass,
    isConsentReply: request.isConsentReply === true,
    priority: request.endpoint === "single" && request.source !== "campaign" ? "single" : "bulk",
    phase: isQueued ? "waiting" : undefined,
    claim: undefined,
    attempts: 0,
    notBeforeMs: 0,
    queueUntilMs,
    quietUntilMs: undefined,
    releasedAtMs: undefined,
    rejectsInQuietHours: facts.rejectsInQuietHours,
    dueAtMs: isScheduled ? request.sendAtMs : queueUntilMs,
    receipts: NO_RECEIPTS,
    redact: facts.redact,
    trace: facts.trace,
    revision: 1,
  };
}
