import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { backoffMs, pause } from "../../shared/flow/backoff.ts";
import type { MessagingPort } from "../adapters/messaging-client.ts";
import { normalizeAddress } from "../domain/receipt.ts";
import { placeOfPart, type UnknownSubmission } from "../domain/submission.ts";
import type { Journal } from "../store/journal.ts";
import type { CarrierStore } from "../store/submissions.ts";

/**
 * Clears up after an earlier process of the same identity, before anything new is claimed: what its
 * journal never saw written goes back to its queue at once; the rest is in doubt, and is kept by its
 * parties, so that a receipt can still say what became of it. Tries for ever.
 */
export async function recoverClaims(options: {
  readonly journal: Pick<Journal, "inherited" | "orphaned" | "noteSettled">;
  readonly messaging: Pick<MessagingPort, "recoverClaims">;
  readonly store: Pick<CarrierStore, "saveUnknowns">;
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
          const place = placeOfPart(index, parts, segments === 0);
          const parties = { to: normalizeAddress(to), from: normalizeAddress(from) };
          return { connectorId, messageId, ...place, ...parties, atMs };
        }),
    );
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      // In doubt from now on, however long ago they were written, and however long messaging has been away.
      await store.saveUnknowns(unknownsAt(clock.now()));
      const result = await messaging.recoverClaims(written.map(({ messageId }) => messageId));
      journal.noteSettled(written.map(({ messageId }) => messageId));
      if (result.givenBack > 0 || result.inDoubt > 0) {
        log.warn({ givenBack: result.givenBack, inDoubt: result.inDoubt }, "claims recovered");
      }
      return;
    } catch (error) {
      log.warn({ error, attempt }, "claims are not recovered yet");
      await pause(backoffMs(attempt, 100, 5000), signal);
    }
  }
}
