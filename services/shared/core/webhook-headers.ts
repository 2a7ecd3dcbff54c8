/** The headers of webhook requests (`docs/contract.md#webhooks`). */

const USER_AGENT = "Service-Webhooks/1";

/** The values that differ from attempt to attempt. */
export type WebhookAttempt = {
  readonly eventType: string;
  readonly eventId: string;
  readonly deliveryId: string;
  /** Counted from 1. */
  readonly attempt: number;
  readonly signature: string;
};

/** The headers of one attempt, without those of its tracing. */
export function webhookHeaders(attempt: WebhookAttempt): Record<string, string> {
  return {
    "Content-Type": "application/json",
    "User-Agent": USER_AGENT,
    "X-Service-Event-Type": attempt.eventType,
    "X-Service-Event-Id": attempt.eventId,
    "X-Service-Delivery-Id": attempt.deliveryId,
    "X-Service-Delivery-Attempt": String(attempt.attempt),
    "X-Service-Signature": attempt.signature,
  };
}
