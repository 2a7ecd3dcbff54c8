import type { HttpSettings } from "../../../../proto/gen/sms/v1/routing_pb.js";
import { readHttpAnswer, readHttpFailure } from "../../domain/http-response.ts";
import { fillTemplate } from "../../domain/http-template.ts";
import type { PartOutcome } from "../../domain/message.ts";
import { makeReceiptUrl } from "../../domain/receipt-url.ts";
import { createHttpPoster, HttpFailure } from "./http-post.ts";
import type { Link, LinkEvents } from "./link.ts";

/** Some carriers' firewalls refuse requests without them. */
const USUAL_HEADERS = { accept: "*/*", "user-agent": "sms-service" };

/** How long a carrier that refused a connection is left alone: so long at first, and at the longest. */
const REST_MS = 500;
const REST_MAX_MS = 30_000;

/** Makes the link of a connector that speaks HTTP: one request a message, `concurrency` at once. */
export function createHttpLink(options: {
  readonly connectorId: string;
  readonly settings: HttpSettings;
  readonly events: LinkEvents;
  /** Where carriers reach the receipt listener, without a slash at the end. */
  readonly receiptBase: string;
}): Link {
  const { connectorId, settings, events, receiptBase } = options;
  const poster = createHttpPoster({
    url: settings.url,
    method: settings.method || "POST",
    headers: { ...USUAL_HEADERS, ...settings.headers, "content-type": settings.contentType },
    timeoutMs: settings.timeoutMs,
  });
  let inFlight = 0;
  let isOpen = false;
  let lastError = "";
  let refusals = 0;
  let resting: NodeJS.Timeout | undefined;

  /**
   * The carrier cannot be reached: down for a while, a longer one each time, as a lost bind is. Health then
   * tells it, messages with another route take that, and those that wait are not claimed for nothing.
   */
  function rest(): void {
    if (resting !== undefined || !isOpen) return;
    const restMs = Math.min(REST_MAX_MS, REST_MS * 2 ** refusals);
    refusals += 1;
    resting = setTimeout(() => {
      resting = undefined;
      events.onChange();
    }, restMs);
    resting.unref();
    events.onChange();
  }

  async function post(body: string): Promise<PartOutcome> {
    try {
      const { status, body: said } = await poster.post(body);
      return readHttpAnswer(status, said, settings.idPointer);
    } catch (error) {
      if (error instanceof HttpFailure) return readHttpFailure(error);
      return { kind: "unknown", code: "no_answer" };
    }
  }

  return {
    get status() {
      return isOpen && resting === undefined ? "bound" : "down";
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
      events.beforeWrite([part.messageId]);
      inFlight += 1;
      const outcome = await post(part.payload as string);
      inFlight -= 1;
      lastError = outcome.kind === "accepted" ? "" : outcome.code;
      if (outcome.kind === "not_sent") rest();
      else refusals = 0;
      return outcome;
    },
    keyOf: (carrierMessageId) => carrierMessageId,
    async close(drainMs) {
      isOpen = false;
      clearTimeout(resting);
      const deadlineMs = performance.now() + drainMs;
      while (inFlight > 0 && performance.now() < deadlineMs) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  };
}
