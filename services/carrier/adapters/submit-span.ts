import { idTimeMs } from "../../shared/core/ids.ts";
import { following, type OpenSpan, tracer } from "../../shared/io/tracing.ts";
import type { ClaimedMessage, PartOutcome } from "../domain/message.ts";

/** Opens the span of one submit to a carrier; undefined for messages that nobody traces. */
export function openSubmitSpan(
  message: ClaimedMessage,
  connectorId: string,
  partIndex: number,
  nowMs: number,
): OpenSpan | undefined {
  const { traceparent, messageId } = message;
  if (tracer === undefined || traceparent === undefined) return undefined;
  return tracer.start("submit", {
    kind: "client",
    ...following(traceparent, nowMs - idTimeMs(messageId)),
    attributes: {
      "sms.message.id": messageId,
      "sms.connector.id": connectorId,
      "sms.part": partIndex + 1,
      "sms.segments": message.segments,
    },
  });
}

/** Ends it with what the carrier said. */
export function endSubmitSpan(span: OpenSpan | undefined, outcome: PartOutcome): void {
  if (span === undefined) return;
  const code = outcome.kind === "accepted" ? undefined : outcome.code;
  span.set({ "sms.outcome": outcome.kind, "sms.carrier.code": code });
  span.end(outcome.kind === "accepted" ? undefined : outcome.kind);
}
