import type { HttpSettings } from "../../../../proto/gen/sms/v1/routing_pb.js";
import type { Clock } from "../../../shared/core/clock.ts";
import { waitUntilIdle } from "../../../shared/flow/wait-until-idle.ts";
import type { Link, LinkEvents } from "../../app/link.ts";
import { readHttpFailure, readHttpResponse } from "../../domain/http-response.ts";
import { fillTemplate } from "../../domain/http-template.ts";
import type { PartOutcome } from "../../domain/message.ts";
import { makeReceiptUrl } from "../../domain/receipt-url.ts";
import { httpThrottleScopes } from "../../domain/throttling.ts";
import { createHttpPoster, HttpFailure } from "./http-post.ts";

/** Firewalls of some carriers refuse requests without these. */
const USUAL_HEADERS = { accept: "*/*", "user-agent": "sms-service" };

/** The backoff after a failed connection: the first wait and the longest. */
const BACKOFF_MS = 500;
const BACKOFF_MAX_MS = 30_000;

/** Creates the link of an HTTP connector: one request per message, at most `concurrency` at once. */
export function createHttpLink(options: {
  readonly connectorId: string;
  readonly settings: HttpSettings;
  readonly events: LinkEvents;
  /** Where carriers reach the receipt listener, without a slash at the end. */
  readonly receiptBase: string;
  readonly clock: Clock;
}): Link {
  const { connectorId, settings, events, receiptBase, clock } = options;
  const poster = createHttpPoster({
    url: settings.url,
    method: settings.method || "POST",
    headers: { ...USUAL_HEADERS, ...settings.headers, "content-type": settings.contentType },
    timeoutMs: settings.timeoutMs,
  });
  const { idPointer, errorPointer, submitErrorCodes } = settings;
  const scopes = httpThrottleScopes(settings.throttleScopes);
  const rules = { idPointer, errorPointer, submitErrorCodes, scopes };
  let inFlight = 0;
  let isOpen = false;
  let lastError = "";
  let failures = 0;
  let retryTimer: NodeJS.Timeout | undefined;

  /**
   * The carrier is unreachable: takes the link down, for twice as long each time, as after a lost bind. Health reports
   * then show it, messages take another route, and queued ones are not claimed in vain.
   */
  function backOff(): void {
    if (retryTimer !== undefined || !isOpen) return;
    const waitMs = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** failures);
    failures += 1;
    retryTimer = setTimeout(() => {
      retryTimer = undefined;
      events.onChange();
    }, waitMs);
    retryTimer.unref();
    events.onChange();
  }

  async function post(body: string): Promise<PartOutcome> {
    try {
      return readHttpResponse(await poster.post(body), rules, clock.now());
    } catch (error) {
      if (error instanceof HttpFailure) return readHttpFailure(error);
      return { kind: "unknown", code: "no_answer" };
    }
  }

  return {
    get status() {
      return isOpen && retryTimer === undefined ? "bound" : "down";
    },
    get lastError() {
      return lastError;
    },
    get inFlight() {
      return inFlight;
    },
    window: settings.concurrency,
    start() {
      isOpen = true;
      events.onChange();
    },
    prepare({ messageId, to, from, body }) {
      const receiptUrl = makeReceiptUrl(
        receiptBase,
        { connectorId, messageId },
        settings.receiptSecret,
      );
      const values = { to, from, body, message_id: messageId, receipt_url: receiptUrl };
      const payload = fillTemplate(settings.bodyTemplate, settings.contentType, values);
      return [{ messageId, index: 0, payload }];
    },
    async submit(part) {
      if (!isOpen) return { kind: "not_sent", code: "closed" };
      events.beforeWrite([part]);
      inFlight += 1;
      const outcome = await post(part.payload as string);
      inFlight -= 1;
      lastError = outcome.kind === "accepted" ? "" : outcome.code;
      if (outcome.kind === "not_sent") backOff();
      else failures = 0;
      return outcome;
    },
    keyOf: (carrierMessageId) => carrierMessageId,
    async close(drainMs) {
      isOpen = false;
      clearTimeout(retryTimer);
      await waitUntilIdle(() => inFlight === 0, drainMs);
    },
  };
}
