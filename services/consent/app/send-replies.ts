/** Sends replies to handsets. A reply is stored with its inbound message, whose id is its idempotency key. */
import { AppError, isRetryable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { Replies, ReplyStore } from "./ports.ts";

const BATCH = 50;

/** Sends a batch of replies; true when more are due. A reply with a permanent error is dropped. */
export function createReplySender(store: ReplyStore, replies: Replies, log: Logger) {
  return async (): Promise<boolean> => {
    const due = await store.due(BATCH);
    for (const reply of due) {
      try {
        await replies.send(reply);
      } catch (error) {
        if (!(error instanceof AppError) || isRetryable(error.code)) throw error;
        log.info({ inbound_message_id: reply.id, code: error.code }, "a reply was refused");
      }
      await store.done(reply.id);
    }
    return due.length === BATCH;
  };
}
