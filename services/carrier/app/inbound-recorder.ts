/**
 * Records inbound messages. The link acknowledges a part to the SMSC when the consent service has stored it, and
 * otherwise refuses it, so that the SMSC sends it again. After the acknowledgement this process confirms the part to
 * the consent service. Until the confirmation the consent service takes the same part as a repeat. If the confirmation
 * is lost, a message with the same text counts as a repeat for an hour.
 */
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { pause } from "../../shared/flow/backoff.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import type { InboundPart } from "../domain/inbound-part.ts";

/** A part of a message from a handset, with the connector and the time at which it came. */
export type ReceivedPart = InboundPart & {
  readonly connectorId: string;
  readonly receivedAtMs: number;
};

/** The RPCs of the consent service. */
export type ConsentClient = {
  /** Stores parts; returns a ticket for each, empty for a part that needs no confirmation. */
  record(parts: readonly ReceivedPart[]): Promise<readonly string[]>;
  confirm(tickets: readonly string[]): Promise<void>;
};

export type InboundRecorder = {
  /** Resolves when the part is durable. */
  take(part: ReceivedPart): Promise<void>;
  close(): Promise<void>;
};

const BATCH_MAX = 200;
const QUEUE_MAX = 5000;
/**
 * A transaction costs far more than its content, so parts that arrive within this time are stored together. It is short
 * compared with the seconds that carriers wait: with ten unanswered parts a bind still delivers 200 parts a second.
 */
const RECORD_INTERVAL_MS = { min: 50, max: 150 };
/** The time from the acknowledgement of a part to its confirmation. */
const CONFIRM_INTERVAL_MS = 500;

export function createInboundRecorder(consent: ConsentClient, log: Logger): InboundRecorder {
  const recorder = createBatcher<ReceivedPart, string>({
    name: "inbound messages",
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    concurrency: 4,
    minIntervalMs: RECORD_INTERVAL_MS.min,
    maxIntervalMs: RECORD_INTERVAL_MS.max,
    isTransient: isUnavailable,
    flush: (parts) => consent.record(parts),
  });
  const confirmer = createBatcher<string, void>({
    name: "inbound confirmations",
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    minIntervalMs: CONFIRM_INTERVAL_MS,
    isTransient: () => true,
    async flush(tickets) {
      await consent.confirm(tickets);
      return tickets.map(() => undefined);
    },
  });

  function confirmLater(ticket: string): void {
    confirmer.add(ticket).catch((error: unknown) => {
      log.warn({ error }, "an inbound message was not confirmed");
    });
  }

  return {
    async take(part) {
      const ticket = await recorder.add(part);
      if (ticket === "") return;
      // The acknowledgement must leave first, but the batcher confirms a lone ticket at once: so pause before.
      void pause(CONFIRM_INTERVAL_MS).then(() => confirmLater(ticket));
    },
    async close() {
      await recorder.close();
      await confirmer.close();
    },
  };
}
