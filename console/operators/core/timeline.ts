import type { Delivery, Message } from "../api/types.ts";
import { word } from "./protobuf-json.ts";

/** One line of a message's history: a status, or a text. */
export type TimelineEntry = {
  readonly atMs: string;
  readonly status?: string;
  readonly text?: string;
  readonly note?: string | undefined;
};

/** Statuses, the carrier's claim and webhook attempts in the order of time. */
export function timelineOf(message: Message, deliveries: readonly Delivery[]): TimelineEntry[] {
  const statuses = message.history.map(({ status, occurredAtMs, error }) => ({
    atMs: occurredAtMs,
    status: word(status, "MESSAGE_STATUS"),
    note: error?.message,
  }));
  const claim =
    message.claimedAtMs === "0"
      ? []
      : [{ atMs: message.claimedAtMs, text: "taken by a carrier", note: message.connectorId }];
  const attempts = deliveries.flatMap((delivery) =>
    delivery.attempts.map((attempt) => ({
      atMs: attempt.startedAtMs,
      text: `webhook ${delivery.eventType}, attempt ${attempt.number}:`,
      note: attempt.httpStatus === 0 ? attempt.error : `HTTP ${attempt.httpStatus}`,
    })),
  );
  // Texts of whole numbers; a sort keeps the order of equal ones.
  return [...statuses, ...claim, ...attempts].sort((a, b) => Number(a.atMs) - Number(b.atMs));
}
