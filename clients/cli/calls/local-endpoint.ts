/** Sends events to a server on this computer as the service sends webhooks: same headers, same signature. */
import { createHmac } from "node:crypto";
import { AppError } from "../../../services/shared/core/errors.ts";
import { webhookHeaders } from "../../../services/shared/core/webhook-headers.ts";
import { signingKey, signWebhook } from "../../../services/shared/core/webhook-signature.ts";
import { reasonOf } from "../cli/errors.ts";

/** The members of an event that a delivery needs. */
export type LocalEvent = { readonly id: string; readonly type: string };

/** How the local server answered. */
export type LocalAnswer =
  | { readonly status: number; readonly ms: number }
  | { readonly failure: string };

/** The service waits as long. */
const TIMEOUT_MS = 10_000;

/**
 * The signing secret of this computer's deliveries. It follows from the API key, so it stays the same from run to run,
 * and does not reveal the key.
 */
export function localSecret(apiKey: string): string {
  return `whsec_${createHmac("sha256", apiKey).update("sms listen").digest("base64url")}`;
}

/** The address of `--forward-to`; `localhost:3000/path` and `3000` are short for one. */
export function readForwardUrl(text: string): string {
  const port = /^\d{1,5}$/.test(text) ? `localhost:${text}` : text;
  const url = /^https?:\/\//i.test(port) ? port : `http://${port}`;
  if (URL.canParse(url)) return new URL(url).href;
  throw new AppError(
    "validation_error",
    `--forward-to ${text} is no address such as http://localhost:3000/webhooks.`,
  );
}

/** Makes one attempt: the developer sees a failure at once, and retries would only repeat it. */
export async function deliverLocally(
  url: string,
  secret: string,
  event: LocalEvent,
  ended: AbortSignal,
): Promise<LocalAnswer> {
  // The text of a webhook: its members are in this order already.
  const body = JSON.stringify(event);
  const atMs = Date.now();
  const headers = webhookHeaders({
    eventType: event.type,
    eventId: event.id,
    deliveryId: event.id.replace(/^evt_/, "whd_"),
    attempt: 1,
    signature: signWebhook([signingKey(secret)], Math.floor(atMs / 1000), body),
  });
  const signal = AbortSignal.any([ended, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const init = { method: "POST", headers, body, redirect: "manual", signal } as const;
    const response = await fetch(url, init);
    await response.body?.cancel();
    return { status: response.status, ms: Date.now() - atMs };
  } catch (error) {
    ended.throwIfAborted();
    if (signal.aborted) return { failure: "no answer within 10 s" };
    return { failure: reasonOf(error as Error) || (error as Error).message };
  }
}

/** The answer in a line. */
export function answerText(answer: LocalAnswer): string {
  return "failure" in answer ? answer.failure : `${answer.status} in ${answer.ms} ms`;
}

/** Whether the service would count the attempt as a success. */
export function isAccepted(answer: LocalAnswer): boolean {
  return "status" in answer && answer.status >= 200 && answer.status < 300;
}
