import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { AppError, ERRORS, type ErrorKind } from "../../../services/shared/core/errors.ts";
import type { Caller } from "../../auth/caller.ts";
import type { TestQuota } from "../../rate-limit/test-quota.ts";

/**
 * Takes the messages of a test send from the daily quota (`docs/contract.md#test-mode`) and returns how to refund
 * them. Throws `rate_limited` beyond the quota. Live sends have no quota.
 */
export async function takeTestQuota(
  quota: TestQuota,
  { mode, tenantId }: Caller,
  count: number,
): Promise<(() => void) | undefined> {
  if (mode !== Mode.TEST) return undefined;
  const retryAfterMs = await quota.take(tenantId, count);
  if (retryAfterMs > 0) {
    const message = "The account's test messages of today (UTC) are used up.";
    throw new AppError("rate_limited", message, { retryAfterMs });
  }
  return () => void quota.refund(tenantId, count);
}

/**
 * Sends within the quota, if there is one. Refunds it when the send certainly made no messages: a replay, or a refusal.
 */
export function keepQuota<R extends { readonly replayed: boolean }>(
  refund: (() => void) | undefined,
  send: () => Promise<R>,
): Promise<R> {
  return refund === undefined ? send() : sendWithin(refund, send);
}

async function sendWithin<R extends { readonly replayed: boolean }>(
  refund: () => void,
  send: () => Promise<R>,
): Promise<R> {
  try {
    const response = await send();
    if (response.replayed) refund();
    return response;
  } catch (error) {
    const kind: ErrorKind | undefined = error instanceof AppError ? ERRORS[error.code] : undefined;
    if (kind !== undefined && kind.http < 500) refund();
    throw error;
  }
}
