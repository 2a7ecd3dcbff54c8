/**
 * Accepting a send: checks in the order of `decisions.md`, then one hold, then one transaction
 * with everything the send is. What a crash in between leaves is a hold without a send, which the
 * wallet finds and messaging fences off (`resolve.ts`).
 */
import { createBatcher } from "../../shared/core/batcher.ts";
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/io/log.ts";
import { isMongoOutage } from "../../shared/io/mongo-errors.ts";
import { recordedTrace } from "../../shared/io/tracing.ts";
import { activeCall, runDetached } from "../../shared/rpc/call-context.ts";
import { type Draft, draftSend } from "../domain/draft.ts";
import { currentRoute } from "../domain/message.ts";
import { checkRecipientCount, checkRequest, type SendRequest } from "../domain/send-request.ts";
import type { Doorbells } from "./doorbells.ts";
import { type Idempotency, KeyLost, sendScope } from "./idempotency.ts";
import {
  type AcceptedSend,
  DuplicateDocument,
  type Neighbours,
  type SendRecord,
  type SendStore,
  type TenantFacts,
} from "./ports.ts";
import type { QueueLimits } from "./queue-limits.ts";

/** A send's answer: its draft, or the stored answer of the key's first request. */
export type SendAnswer =
  | { readonly kind: "done"; readonly result: Draft }
  | { readonly kind: "replay"; readonly response: Uint8Array };

/** What accepting needs. */
export type AcceptParts = {
  readonly neighbours: Neighbours;
  readonly sends: SendStore;
  readonly idempotency: Idempotency;
  readonly doorbells: Doorbells;
  readonly limits: QueueLimits;
  readonly clock: Clock;
  readonly log: Logger;
  readonly queueMs: number;
  readonly idempotencyMs: number;
  readonly sendAtMinMs: number;
  readonly acceptQueueMax: number;
  /** Encodes the answer that replays will repeat. */
  readonly encodeResponse: (request: SendRequest, draft: Draft) => Uint8Array;
};

/** The way in for sends. */
export type Accepter = {
  /**
   * `isGivenUp` is asked just before the commit: a caller that hears nothing asks again, so what it
   * has given up must not happen behind its back (this process may have stood still meanwhile).
   */
  send(request: SendRequest, isGivenUp?: () => boolean): Promise<SendAnswer>;
  close(): Promise<void>;
};

const NO_BYTES = new Uint8Array();

/** Makes the way in. */
export function createAccepter(parts: AcceptParts): Accepter {
  const { neighbours, sends, clock, log } = parts;
  const commits = createCommitter(parts, { name: "single sends", batchMax: 512, lanes: 3 });
  // A bulk send is up to a thousand messages: a few of them fill a transaction well.
  const bulkCommits = createCommitter(parts, { name: "bulk sends", batchMax: 4, lanes: 2 });

  async function accept(
    request: SendRequest,
    replacesExpired: boolean,
    isGivenUp: () => boolean,
  ): Promise<Draft> {
    checkRequest(request, clock.now(), parts.sendAtMinMs);
    const tenant = await neighbours.tenant(request.tenantId);
    checkTenant(tenant);
    checkRecipientCount(request, tenant.recipientsMax);
    const sender = await neighbours.usableSender(request.tenantId, request.from);
    if (sender === undefined) {
      throw new AppError("sender_id_not_approved", "This sender ID cannot be used now.");
    }
    const draft = draftSend(request, {
      sender,
      plan: tenant.plan,
      currency: tenant.currency,
      redact: tenant.redactBodies,
      table: neighbours.routeTable(),
      nowMs: clock.now(),
      queueMs: parts.queueMs,
      random: Math.random,
      trace: recordedTrace(activeCall()?.traceparent),
    });
    const connectorIds = connectorsOf(draft);
    for (const connectorId of connectorIds) parts.limits.checkRoom(connectorId);
    await hold(request, draft);
    if (isGivenUp()) {
      await undoHold(request.tenantId, draft.reservationId);
      throw tooLate();
    }
    await commit(request, draft, replacesExpired);
    parts.doorbells.ring(draft.messages);
    return draft;
  }

  async function hold({ tenantId }: SendRequest, draft: Draft): Promise<void> {
    const { reservationId, messages } = draft;
    if (reservationId === undefined) return;
    await neighbours.placeHold({
      tenantId,
      reservationId,
      amount: draft.heldAmount,
      messageCount: draft.accepted,
      firstMessageId: messages[0]?.id ?? "",
      lastMessageId: messages.at(-1)?.id ?? "",
    });
  }

  async function commit(
    request: SendRequest,
    draft: Draft,
    replacesExpired: boolean,
  ): Promise<void> {
    const record = toRecord(request, draft, replacesExpired, parts);
    const committer = draft.messages.length > 32 ? bulkCommits : commits;
    try {
      await committer.add({ record, messages: draft.messages });
    } catch (error) {
      if (!(error instanceof DuplicateDocument)) throw error;
      await undoHold(request.tenantId, draft.reservationId);
      throw request.key === undefined ? tooLate(error) : new KeyLost();
    }
  }

  /** Frees the hold of a send that will never be; should this fail, the wallet's sweep does it. */
  async function undoHold(tenantId: string, reservationId: string | undefined): Promise<void> {
    if (reservationId === undefined) return;
    try {
      if ((await sends.fence(reservationId, clock.now())) === "fenced") {
        await neighbours.releaseReservation(tenantId, reservationId);
      }
    } catch (error) {
      log.warn({ error, reservationId }, "a hold is left to the wallet's sweep");
    }
  }

  return {
    async send(request, isGivenUp = () => false) {
      const { key, fingerprint, fenced } = request;
      if (key === undefined) {
        return { kind: "done", result: await accept(request, false, isGivenUp) };
      }
      const scope = sendScope(request.tenantId, request.endpoint, key);
      return parts.idempotency.run({ scope, fingerprint, fenced }, (replacesExpired) =>
        accept(request, replacesExpired, isGivenUp),
      );
    },
    async close() {
      await Promise.all([commits.close(), bulkCommits.close()]);
    },
  };
}

function createCommitter(
  parts: AcceptParts,
  shape: { readonly name: string; readonly batchMax: number; readonly lanes: number },
) {
  return createBatcher<AcceptedSend, undefined>({
    ...shape,
    queueMax: parts.acceptQueueMax,
    isTransient: isMongoOutage,
    flush: (items) => runDetached(() => parts.sends.commit(items, parts.clock.now())),
  });
}

function checkTenant(tenant: TenantFacts | undefined): asserts tenant is TenantFacts {
  if (tenant === undefined) throw new AppError("not_found", "There is no such tenant.");
  if (!tenant.emailVerified) {
    throw new AppError("email_not_verified", "Verify the account's email before sending.");
  }
  if (tenant.suspended) {
    throw new AppError("tenant_suspended", "The account is suspended; sending is paused.");
  }
}

function connectorsOf(draft: Draft): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const message of draft.messages) {
    const route = currentRoute(message);
    if (route !== undefined) ids.add(route.connectorId);
  }
  return ids;
}

function toRecord(
  request: SendRequest,
  draft: Draft,
  replacesExpired: boolean,
  parts: AcceptParts,
): SendRecord {
  const { key } = request;
  return {
    id: draft.reservationId ?? draft.sendId,
    tenantId: request.tenantId,
    firstMessageId: draft.messages[0]?.id,
    lastMessageId: draft.messages.at(-1)?.id,
    key: key === undefined ? undefined : sendScope(request.tenantId, request.endpoint, key),
    fingerprint: request.fingerprint,
    response: key === undefined ? NO_BYTES : parts.encodeResponse(request, draft),
    keepMs: parts.idempotencyMs,
    replacesExpired,
  };
}

function tooLate(cause?: unknown): AppError {
  const options = cause === undefined ? {} : { cause };
  return new AppError("service_unavailable", "The send took too long; try again shortly.", options);
}
