/** The client: every operation of the API as a method. */
import { type ClientSettings, createCaller } from "./call.ts";
import { accountMethods } from "./resources/account.ts";
import { campaignMethods } from "./resources/campaigns.ts";
import { consentMethods } from "./resources/consent.ts";
import { eventMethods } from "./resources/events.ts";
import { messageMethods } from "./resources/messages.ts";
import { webhookMethods } from "./resources/webhooks.ts";

export type { CallOptions, ClientSettings, SeenResponse } from "./call.ts";
export type {
  ApiError,
  FieldError,
  InsufficientBalanceError,
  NoResponseError,
  Problem,
  SmsError,
  UnexpectedResponseError,
} from "./errors.ts";
export { isSmsError } from "./errors.ts";
export type { components, operations } from "./generated/openapi.ts";
export type { ErrorCode, OperationId, WebhookEvent } from "./generated/operations.ts";
export type { List, Page } from "./list.ts";
export type { BodyOf, DataOf, EntryOf, QueryOf } from "./operation-types.ts";
export type { EventPage } from "./resources/events.ts";
export { type ReceivedWebhook, verifyWebhook, WebhookSignatureError } from "./webhook.ts";

/** Whether a key sends real messages. */
export type Mode = "live" | "test";

/** A client of the API. */
export type SmsClient = ReturnType<typeof createSmsClient>;

/** Creates a client. It holds no connection and can live as long as your program. */
export function createSmsClient(settings: ClientSettings) {
  const mode = modeOf(settings.apiKey);
  if (!URL.canParse(settings.baseUrl)) throw new TypeError("baseUrl is not an address");
  const call = createCaller(settings);
  return {
    /** The key's mode. Test messages reach no phone and cost nothing. */
    mode,
    ...messageMethods(call),
    ...accountMethods(call),
    ...webhookMethods(call),
    ...eventMethods(call),
    ...campaignMethods(call),
    ...consentMethods(call),
  };
}

function modeOf(apiKey: string): Mode {
  if (apiKey.startsWith("sk_live_")) return "live";
  if (apiKey.startsWith("sk_test_")) return "test";
  throw new TypeError("apiKey begins with sk_live_ or sk_test_");
}
