/** Cancels one message for its owner, or every cancellable message of a campaign. */
import type { AuditSource } from "../../shared/core/audit.ts";
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { OPEN_STATUSES } from "../../shared/core/message-status.ts";
import { cancelMessage, cancelWithCampaign } from "../domain/cancel.ts";
import type { Message, MessageMode } from "../domain/message.ts";
import { cancelScope, type Idempotency, type KeyedAnswer } from "./idempotency.ts";
import type { MessageStore, ResponseEncoder, SendRecord } from "./ports.ts";
import type { Changes } from "./update-messages.ts";

/** A cancel of one message. */
export type CancelRequest = {
  readonly tenantId: string;
  readonly messageId: string;
  readonly mode: MessageMode | undefined;
  readonly key: string | undefined;
  readonly fingerprint: Uint8Array;
  /** The caller holds a lock on the key itself. */
  readonly isLocked: boolean;
  readonly source: AuditSource;
};

/** Cancels messages. */
export type Cancels = {
  /**
   * Throws `not_found` for another tenant's message, and `invalid_state_transition`. Calls `isGivenUp` just
   * before the write, as for a send (`accept.ts`).
   */
  cancel(request: CancelRequest, isGivenUp?: () => boolean): Promise<KeyedAnswer<Message>>;
  /**
   * Returns the number of cancelled messages, and of those past cancelling. With `openOnly`, reads only messages that
   * are scheduled or queued.
   */
  cancelCampaign(
    tenantId: string,
    campaignId: string,
    openOnly: boolean,
  ): Promise<{ cancelled: number; unchanged: number }>;
};

const PAGE = 500;

export function createCancels(options: {
  readonly changes: Changes;
  readonly store: MessageStore;
  readonly idempotency: Idempotency;
  readonly clock: Clock;
  readonly idempotencyMs: number;
  readonly encoder: Pick<ResponseEncoder, "cancel">;
}): Cancels {
  const { changes, store, clock } = options;

  async function cancelOnce(
    request: CancelRequest,
    isGivenUp: () => boolean,
    toRecord?: (message: Message) => SendRecord,
  ): Promise<Message> {
    const decision = await changes.change(
      request.messageId,
      (message, nowMs) => {
        if (isGivenUp()) throw tooLate();
        if (!isVisible(message, request.tenantId, request.mode)) throw notFound(request.mode);
        return cancelMessage(message, nowMs);
      },
      toRecord,
      request.source,
    );
    if (decision === undefined) throw notFound(request.mode);
    return decision.message;
  }

  return {
    async cancel(request, isGivenUp = () => false) {
      const { tenantId, messageId, mode, key, fingerprint, isLocked } = request;
      if (key === undefined) return { kind: "done", result: await cancelOnce(request, isGivenUp) };
      // Check visibility before the key: a replay would show a live message to a test key.
      const found = await store.find(messageId);
      if (found === undefined || !isVisible(found, tenantId, mode)) throw notFound(mode);
      const scope = cancelScope(tenantId, messageId, key);
      return options.idempotency.run({ scope, fingerprint, isLocked }, (replaces) =>
        cancelOnce(request, isGivenUp, (message) => ({
          id: newId("send", clock.now()),
          tenantId,
          firstMessageId: undefined,
          lastMessageId: undefined,
          key: scope,
          fingerprint,
          response: options.encoder.cancel(message),
          keepMs: options.idempotencyMs,
          replaces,
        })),
      );
    },
    async cancelCampaign(tenantId, campaignId, openOnly) {
      const statuses = openOnly ? OPEN_STATUSES : undefined;
      let cancelled = 0;
      let unchanged = 0;
      let afterId = "";
      for (;;) {
        const ids = await store.findCampaign(tenantId, campaignId, { afterId, statuses }, PAGE);
        const decisions = await Promise.all(
          ids.map((id) => changes.change(id, cancelWithCampaign)),
        );
        for (const decision of decisions) {
          if (decision !== undefined && decision.events.length > 0) cancelled += 1;
          else unchanged += 1;
        }
        const last = ids.at(-1);
        if (last === undefined || ids.length < PAGE) return { cancelled, unchanged };
        afterId = last;
      }
    },
  };
}

/** True if a tenant may see a message; an undefined mode sees both modes. */
export function isVisible(
  message: Message,
  tenantId: string,
  mode: MessageMode | undefined,
): boolean {
  return message.tenantId === tenantId && (mode === undefined || message.mode === mode);
}

/** The error for a message that does not exist, or belongs to another tenant or mode. */
export function notFound(mode: MessageMode | undefined): AppError {
  const where = mode === undefined ? "" : ` in ${mode} mode`;
  return new AppError("not_found", `There is no such message${where}.`);
}

function tooLate(): AppError {
  return new AppError("service_unavailable", "The cancel took too long; try again shortly.");
}
