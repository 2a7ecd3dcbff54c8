import { idTimeMs } from "../../shared/core/ids.ts";
import { following, tracer } from "../../shared/io/tracing.ts";
import type { SubmitSpans } from "../app/ports.ts";

/** Creates the spans of submits with the tracer of the process. */
export const submitSpans: SubmitSpans = {
  open(message, connectorId, partIndex, nowMs) {
    const { traceparent, messageId } = message;
    if (tracer === undefined || traceparent === undefined) return undefined;
    const span = tracer.start("submit", {
      kind: "client",
      ...following(traceparent, nowMs - idTimeMs(messageId)),
      attributes: {
        "sms.message.id": messageId,
        "sms.connector.id": connectorId,
        "sms.part": partIndex + 1,
        "sms.segments": message.segments,
      },
    });
    return {
      end(outcome) {
        const code = outcome.kind === "accepted" ? undefined : outcome.code;
        span.set({ "sms.outcome": outcome.kind, "sms.carrier.code": code });
        span.end(outcome.kind === "accepted" ? undefined : outcome.kind);
      },
    };
  },
};
