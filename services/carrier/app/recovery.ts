import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { backoffMs, pause } from "../../shared/flow/backoff.ts";
import { normalizeAddress } from "../domain/receipt.ts";
import { segmentOfPart, type UnknownSubmission } from "../domain/submission.ts";
import type { Journal, MessagingClient, SubmissionStore } from "./ports.ts";

/**
 * Ends the claims of an earlier process of this identity, before anything new is claimed. Messages without a
 * journal entry return to their queue at once. The others are in doubt, and the store keeps them by recipient and
 * sender, so that a receipt can still decide them. Retries for ever.
 */
export async function recoverClaims(options: {
  readonly journal: Pick<Journal, "inherited" | "orphaned" | "markSettled">;
  readonly messaging: Pick<MessagingClient, "recoverClaims">;
  readonly store: Pick<SubmissionStore, "saveUnknowns">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { journal, messaging, store, clock, log, signal } = options;
  const written = [...journal.inherited.values()];
  const unknownsAt = (atMs: number) =>
    [...written, ...journal.orphaned.values()].flatMap(
      ({ messageId, connectorId, to, from, parts, segments }) =>
        Array.from({ length: Math.max(1, parts) }, (_, index): UnknownSubmission => {
          const segment = segmentOfPart(index, parts, segments === 0);
          const parties = { to: normalizeAddress(to), from: normalizeAddress(from) };
          return { connectorId, messageId, ...segment, ...parties, atMs };
        }),
    );
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      // In doubt from now on: neither the age of the entry nor an outage of messaging shortens the wait.
      await store.saveUnknowns(unknownsAt(clock.now()));
      const result = await messaging.recoverClaims(written.map(({ messageId }) => messageId));
      journal.markSettled(written.map(({ messageId }) => messageId));
      if (result.givenBack > 0 || result.inDoubt > 0) {
        log.warn({ givenBack: result.givenBack, inDoubt: result.inDoubt }, "claims recovered");
      }
      return;
    } catch (error) {
      log.warn({ error, attempt }, "recovering claims is retried");
      await pause(backoffMs(attempt, 100, 5000), signal);
    }
  }
}
