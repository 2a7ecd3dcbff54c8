/**
 * Accepts a send: checks in the order of `docs/contract.md#sends`, then the hold and one transaction with the send
 * and its messages (`commit-sends.ts`), then the queue notification.
 */
import { AppError } from "../../shared/core/errors.ts";
import { INT64_MAX } from "../../shared/core/money.ts";
import { type Draft, type DraftFacts, draftSend, estimateSend } from "../domain/build-messages.ts";
import { currentRoute } from "../domain/message.ts";
import {
  checkRecipientCount,
  checkRequest,
  type SendRequest,
  validationError,
} from "../domain/send-request.ts";
import { checkMaySend } from "../domain/sending-rights.ts";
import { isAllowed } from "../domain/traffic-class.ts";
import { type CommitParts, createSendCommitter } from "./commit-sends.ts";
import { type Idempotency, sendScope } from "./idempotency.ts";
import type { InflightSends } from "./inflight-sends.ts";
import type { QueueNotifications } from "./notify.ts";
import { findOptOuts } from "./opt-outs.ts";
import type { CallTrace, Hold, ResponseEncoder, SendRecord, ServiceClients } from "./ports.ts";
import type { QueueLimits } from "./queue-limits.ts";

/** The result of a send: its draft, or the stored response of the key's first request. */
export type SendAnswer =
  | { readonly kind: "done"; readonly result: Draft }
  | { readonly kind: "replay"; readonly response: Uint8Array };

export type SendServiceParts = CommitParts & {
  readonly services: ServiceClients;
  readonly idempotency: Idempotency;
  readonly notifications: QueueNotifications;
  readonly limits: QueueLimits;
  readonly inflight: Pick<InflightSends, "begin">;
  readonly queueMs: number;
  readonly idempotencyMs: number;
  /** How long the key of a campaign's chunk is kept. */
  readonly campaignKeyMs: number;
  readonly sendAtMinMs: number;
  readonly encoder: Pick<ResponseEncoder, "send">;
  readonly trace: Pick<CallTrace, "recorded">;
};

/** Accepts sends. */
export type SendService = {
  /**
   * Calls `isGivenUp` just before the commit. A caller without a response repeats the request, so a request that
   * it gave up must not take effect (this process may have been paused meanwhile).
   */
  send(request: SendRequest, isGivenUp?: () => boolean): Promise<SendAnswer>;
  /** Returns what a send would hold and store now; holds and stores nothing. */
  estimate(request: SendRequest): Promise<Draft>;
  close(): Promise<void>;
};

const NO_BYTES = new Uint8Array();

export function createSendService(parts: SendServiceParts): SendService {
  const { services, clock } = parts;
  const committer = createSendCommitter(parts);

  /** Checks a request and its tenant; returns what its draft depends on. */
  async function readFacts(request: SendRequest): Promise<Omit<DraftFacts, "nowMs">> {
    checkRequest(request, clock.now(), parts.sendAtMinMs);
    const tenant = await services.tenant(request.tenantId);
    if (tenant === undefined) throw new AppError("not_found", "There is no such tenant.");
    checkRecipientCount(request, tenant.recipientsMax);
    checkMaySend(tenant);
    const sender = await services.usableSender(request.tenantId, request.from);
    if (sender === undefined) throw unusableSender();
    const wanted = request.trafficClass ?? sender.trafficClass;
    if (!isAllowed(wanted, sender.trafficClass)) throw forbiddenClass(wanted);
    const isReply = request.isConsentReply === true;
    // The recipient of a reply has just written, so quiet hours do not delay the reply.
    const trafficClass = isReply && wanted === "promotional" ? "transactional" : wanted;
    const query = {
      tenantId: request.tenantId,
      sender: sender.name,
      // The class `otp` passes opt-outs: the confirmation of an opt-out goes to a number that has opted out.
      trafficClass: isReply ? "otp" : trafficClass,
      numbers: request.recipients.map(({ to }) => to),
    } as const;
    return {
      sender: sender.name,
      trafficClass,
      isOptedOut: await findOptOuts(services, query),
      plan: tenant.plan,
      currency: tenant.currency,
      redact: tenant.redactBodies,
      table: services.routeTable(),
      queueMs: parts.queueMs,
      quietHours: services.quietHours(),
      rejectsInQuietHours: request.rejectsInQuietHours ?? tenant.rejectsInQuietHours,
      random: Math.random,
      trace: parts.trace.recorded(),
    };
  }

  async function accept(
    request: SendRequest,
    replaces: string | undefined,
    isGivenUp: () => boolean,
  ): Promise<Draft> {
    const facts = await readFacts(request);
    const nowMs = clock.now();
    const endSend = parts.inflight.begin(request.tenantId, nowMs);
    try {
      const draft = draftSend(request, { ...facts, nowMs });
      checkHeldAmount(request, draft);
      checkRoom(parts.limits, draft);
      const hold = toHold(request, draft);
      // The wallet refuses this hold with the available balance; the response could not encode the amount.
      if (hold !== undefined && hold.amount > INT64_MAX) await services.placeHold(hold);
      const record = toRecord(request, draft, replaces, parts);
      await committer.commit({ record, messages: draft.messages, hold, isGivenUp });
      parts.notifications.notify(draft.messages);
      return draft;
    } finally {
      endSend();
    }
  }

  return {
    send(request, isGivenUp = () => false) {
      const { key, fingerprint, isLocked } = request;
      if (key === undefined) return accept(request, undefined, isGivenUp).then(asDone);
      const scope = sendScope(request, key);
      return parts.idempotency.run({ scope, fingerprint, isLocked }, (replaces) =>
        accept(request, replaces, isGivenUp),
      );
    },
    estimate: async (request) =>
      estimateSend(request, { ...(await readFacts(request)), nowMs: clock.now() }),
    close: () => committer.close(),
  };
}

function asDone(result: Draft): SendAnswer {
  return { kind: "done", result };
}

function checkHeldAmount({ heldAmountMax }: SendRequest, { heldAmount }: Draft): void {
  if (heldAmountMax === undefined || heldAmount <= heldAmountMax) return;
  const message = "The send would hold more than this.";
  throw validationError([{ field: "held_amount_max", code: "too_low", message }]);
}

/** The error for a sender ID. It has a code of its own, and names the wrong field as a validation error does. */
function unusableSender(): AppError {
  const message = "The sender ID cannot be used now. GET /v1/sender-ids lists yours.";
  const fields = [{ field: "from", code: "invalid_value", message }];
  return new AppError("sender_id_not_approved", message, { fields });
}

/** The validation error for a traffic class that the sender ID does not carry. */
function forbiddenClass(trafficClass: string): AppError {
  const message = `This sender ID does not carry ${trafficClass} messages.`;
  return validationError([{ field: "traffic_class", code: "traffic_class_not_allowed", message }]);
}

/** Checks a queue once for consecutive messages of one connector; all messages of a send have one priority class. */
function checkRoom(limits: QueueLimits, { messages }: Draft): void {
  let checked: string | undefined;
  for (const message of messages) {
    // A scheduled message is in no queue yet.
    if (message.phase !== "waiting") continue;
    const connectorId = currentRoute(message)?.connectorId;
    if (connectorId === undefined || connectorId === checked) continue;
    checked = connectorId;
    limits.checkRoom(connectorId, message.priority);
  }
}

function toHold({ tenantId, campaignId = "" }: SendRequest, draft: Draft): Hold | undefined {
  const { reservationId, messages } = draft;
  if (reservationId === undefined) return undefined;
  return {
    tenantId,
    reservationId,
    amount: draft.heldAmount,
    messageCount: draft.accepted,
    firstMessageId: messages[0]?.id ?? "",
    lastMessageId: messages.at(-1)?.id ?? "",
    campaignId,
  };
}

function toRecord(
  request: SendRequest,
  draft: Draft,
  replaces: string | undefined,
  parts: SendServiceParts,
): SendRecord {
  const { key } = request;
  return {
    id: draft.reservationId ?? draft.sendId,
    tenantId: request.tenantId,
    firstMessageId: draft.messages[0]?.id,
    lastMessageId: draft.messages.at(-1)?.id,
    key: key === undefined ? undefined : sendScope(request, key),
    fingerprint: request.fingerprint,
    response: key === undefined ? NO_BYTES : parts.encoder.send(request, draft),
    keepMs: request.endpoint === "campaign" ? parts.campaignKeyMs : parts.idempotencyMs,
    replaces,
  };
}
