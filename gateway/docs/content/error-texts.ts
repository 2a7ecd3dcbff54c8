import type { ErrorCode } from "../../../services/shared/core/errors.ts";
import { UNKNOWN_KEY } from "../../auth/refused-key.ts";

/** The page of one error code. */
export type ErrorPage = {
  /** An example of `detail`. */
  readonly detail: string;
  readonly happened: string;
  readonly fix: string;
  readonly retry: string;
};

const NO_RETRY = "No. The same request would get the same answer; mend it first.";

/** One page per code of the registry; a code without a page does not compile. */
export const ERROR_PAGES: Readonly<Record<ErrorCode, ErrorPage>> = {
  bad_request: {
    detail: "The request is not valid HTTP/1.1.",
    happened:
      "The input could not be parsed as an HTTP request: its first line, a header or the " +
      "framing of its body breaks the rules of HTTP/1.1.",
    fix:
      "Send the request with an HTTP library and name the host. A proxy that rewrites " +
      "requests is a usual cause.",
    retry: NO_RETRY,
  },
  unauthenticated: {
    detail: UNKNOWN_KEY,
    happened:
      "The request carries no API key, or one that does not exist, was revoked or has expired.",
    fix:
      "`detail` says whether the header is missing or malformed, or its key unknown, revoked or expired. Send " +
      "`Authorization: Bearer <API_KEY>` with a key of your account. Look for a cut-off key, or one of another " +
      "environment.",
    retry: NO_RETRY,
  },
  insufficient_balance: {
    detail: "The available balance does not cover this send.",
    happened:
      "A send is all or nothing: the available balance does not cover every recipient that " +
      "passed the checks, so nothing was accepted and nothing is charged. The problem names " +
      "required_amount, available_amount and currency.",
    fix:
      "Top up the wallet, or send to fewer recipients. After a cancel, the money it frees " +
      "is available within about a minute.",
    retry: "After topping up, with the same Idempotency-Key if you used one.",
  },
  ip_not_allowed: {
    detail: "The API key may not be used from the address 203.0.113.7.",
    happened: "The key has a list of permitted addresses, and this request came from another one.",
    fix: "Call from a permitted address, or add this one to the key's list.",
    retry: NO_RETRY,
  },
  origin_not_allowed: {
    detail: "A console session works on the console's own pages.",
    happened: "A request with the cookie of a console session came from another site's page.",
    fix: "Call the API with an API key.",
    retry: NO_RETRY,
  },
  insufficient_scope: {
    detail: "The API key lacks the scope messages:send.",
    happened:
      "The key is good, but it does not have the scope that this endpoint needs; `detail` " +
      "names it. Or it is a test key, and the endpoint changes rules of live messages.",
    fix: "Use a key with that scope, or a live key.",
    retry: NO_RETRY,
  },
  email_not_verified: {
    detail: "Verify the account's email before sending.",
    happened:
      "The account's email address has not been verified, and sending needs that. Reading works.",
    fix: "Follow the link in the verification email.",
    retry: NO_RETRY,
  },
  tenant_suspended: {
    detail: "The account is suspended; sending is paused.",
    happened: "The account is suspended, and sending is paused. Reading works.",
    fix: "Write to support.",
    retry: NO_RETRY,
  },
  not_found: {
    detail: "There is no such message in live mode.",
    happened:
      "The path, or the thing it names, does not exist for your account: the id is unknown, " +
      "malformed, another account's, or of the other mode (live or test).",
    fix:
      "Check the id, the path and which key you use. The send on POST /v1/messages answers " +
      "this after its removal; send to POST /v1/sms/messages.",
    retry: NO_RETRY,
  },
  method_not_allowed: {
    detail: "This path does not take PUT. It takes POST.",
    happened: "The path exists, but not with this method. The header `Allow` names those it has.",
    fix: "Use one of the methods in `Allow`.",
    retry: NO_RETRY,
  },
  request_timeout: {
    detail: "The request body did not arrive in time.",
    happened: "The request was not received whole in time, so nothing was done.",
    fix: "Send the whole body at once. A slow or broken network is a usual cause.",
    retry: "Yes, with the same Idempotency-Key.",
  },
  conflict: {
    detail:
      "The first request with this Idempotency-Key is still running. Repeat this one in a second.",
    happened:
      "The first request with this Idempotency-Key is still running. This later one was " +
      "refused; the first continues. Or another request changed the endpoint at the same time, or a " +
      "delivery is being attempted at this moment.",
    fix: "Wait for the first request's answer, or for the end of the attempt.",
    retry:
      "Yes, after about a second, with the same key and body: you get the first request's answer if it " +
      "succeeded, or else this one is executed. Repeat a change of an endpoint.",
  },
  already_exists: {
    detail: "The account has this sender ID; it is pending.",
    happened:
      "The account has a resource of that name: a sender ID that waits for its review, was approved or is suspended.",
    fix: "List the sender IDs to see its status, or choose another name.",
    retry: NO_RETRY,
  },
  idempotency_key_reused: {
    detail: "This Idempotency-Key was used with a different request. Use a new key.",
    happened:
      "In the last 24 hours this Idempotency-Key was used for this operation with another body. Live and test " +
      "keys of an account do not share idempotency keys.",
    fix:
      "Make a new key for each new request, and use a key again only for a retry of the " +
      "very same one.",
    retry: NO_RETRY,
  },
  invalid_state_transition: {
    detail: "The message is sent and can no longer be cancelled.",
    happened:
      "The message can no longer be cancelled: it is being sent, was sent, or has a final status. " +
      "Messages of a campaign are cancelled with their campaign. Or the request resends a delivery, " +
      "recovers failed ones or sends a test event, and the webhook endpoint is disabled, or the " +
      "delivery's body is no longer kept.",
    fix:
      "Read the message to learn its status. Enable a disabled endpoint first. If a delivery has no " +
      "body any more, read the message itself.",
    retry: NO_RETRY,
  },
  payload_too_large: {
    detail: "The body has more than 4194304 bytes. Split the request.",
    happened: "The request body is larger than 4 MiB.",
    fix: "Split the send into several requests.",
    retry: NO_RETRY,
  },
  unsupported_media_type: {
    detail: "The body is text/plain. Send it with Content-Type: application/json.",
    happened: "The body is not announced as JSON in UTF-8, or it is compressed.",
    fix: "Send `Content-Type: application/json`, and the body uncompressed.",
    retry: NO_RETRY,
  },
  validation_error: {
    detail: "The request is not valid.",
    happened:
      "A field or parameter is missing, unknown or wrong, or no recipient passes. Nothing " +
      "was accepted and nothing is charged.",
    fix:
      "Each entry of `errors` names a field (such as `to[3]` or `messages[3].to`), a code " +
      "and what is expected. Up to 1,000 wrong fields are listed at once, each with its first " +
      "fault; of a body far too large only the first.",
    retry: NO_RETRY,
  },
  sender_id_not_approved: {
    detail: "The sender ID cannot be used now. GET /v1/sender-ids lists yours.",
    happened: "`from` is not one of your sender IDs that can be used now.",
    fix: "List your sender IDs with GET /v1/sender-ids and use one whose `usable` is true.",
    retry: NO_RETRY,
  },
  rate_limited: {
    detail: "Too many requests: the account may send 50 each second. Slow down.",
    happened:
      "The account has sent requests faster than it may, too many large ones at once, or more test messages than " +
      "a day allows. Nothing was done.",
    fix:
      "Spread requests, or send many recipients in one bulk request. RateLimit-Limit is " +
      "the rate you may sustain, RateLimit-Remaining what is left now.",
    retry: "Yes, after Retry-After seconds.",
  },
  headers_too_large: {
    detail: "The address and headers are longer than 16 KiB together.",
    happened: "The request line and headers together are longer than 16 KiB.",
    fix: "Send fewer or shorter headers and a shorter address.",
    retry: NO_RETRY,
  },
  internal_error: {
    detail: "Something went wrong on our side.",
    happened: "A fault in the service. It has been logged under the request id.",
    fix: "Retry. If it persists, write to support with the request id.",
    retry:
      "Yes, with the same Idempotency-Key: back off 1, 2, 4 seconds and so on, up to a minute.",
  },
  service_unavailable: {
    detail: "The service is busy; try again shortly.",
    happened: "The service cannot take the request just now.",
    fix: "Wait and retry.",
    retry: "Yes, after Retry-After seconds, with the same Idempotency-Key.",
  },
};
