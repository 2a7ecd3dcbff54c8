/**
 * What carriers tell: outcomes, receipts, that they live, and what a crashed one left behind.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { AvailabilityOf } from "../domain/choose-route.ts";
import { type ClaimCall, isClaimCallFinished } from "../domain/claim-epoch.ts";
import { type Message, unchanged } from "../domain/message.ts";
import { applyOutcome, type Outcome } from "../domain/outcome.ts";
import { sentBy, type Timeouts } from "../domain/queue-transitions.ts";
import { applyReceipt, type Receipt } from "../domain/receipt.ts";
import { isHeldBy, recoverClaim } from "../domain/recover-claim.ts";
import type { QueueStore } from "./ports.ts";
import type { Changes } from "./update-messages.ts";

/** A thing said about a message. */
export type About<T> = T & { readonly messageId: string };

/** The carriers' side of messaging. */
export type CarrierReports = {
  /** Applies outcomes; answers the ids whose claim was no longer theirs. Answered when durable. */
  report(outcomes: readonly About<Outcome>[]): Promise<string[]>;
  /** Applies receipts; answers the ids of messages that do not exist. Answered when durable. */
  recordReceipts(receipts: readonly About<Receipt>[]): Promise<string[]>;
  /**
   * Notes that a carrier lives; with `held`, gives back the claims it never heard of: those of calls
   * that had `ended` when it made the list, or old ones when the calls have no names.
   */
  renew(carrierId: string, held: ReadonlySet<string> | undefined, ended?: ClaimCall): Promise<void>;
  /**
   * Takes back what a restarted carrier held: written ones are in doubt, the others wait again.
   * Claims of calls that had not `ended` when it asked are left alone.
   */
  recover(
    carrierId: string,
    written: ReadonlySet<string>,
    ended?: ClaimCall,
  ): Promise<{ givenBack: number; inDoubt: number }>;
  /**
   * Puts in doubt what carriers that fell silent were sending, or nobody knows, and what a living one has held
   * for so long that it must have lost it. `heardMs` is for how long they could be heard here without a gap: one
   * that could not has not fallen silent.
   */
  sweep(heardMs?: number): Promise<void>;
};

const PAGE = 500;
/**
 * A claim this old has been heard by its carrier or never will be: the call that made it and the
 * call that lists what is held have ended, ten seconds each at most.
 */
const UNHEARD_MS = 25_000;
/** Later than every claim. */
const WHENEVER = Number.MAX_SAFE_INTEGER;
/** A living carrier answers for a claim within this many leases. */
const HELD_LEASES_MAX = 10;

/** Makes it. `leaseMs` is how long an unheard carrier counts as alive. */
export function createCarrierReports(options: {
  readonly changes: Changes;
  readonly queue: QueueStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timeouts: Timeouts;
  readonly leaseMs: number;
  readonly availabilityOf: AvailabilityOf;
}): CarrierReports {
  const { changes, queue, clock, log, timeouts, leaseMs, availabilityOf } = options;

  /**
   * Answers what went wrong, by message: that keeps no other from being taken back. In an outage all of
   * them wait.
   */
  async function eachHeld(
    holder: { readonly carrierId: string; readonly beforeMs: number },
    act: (message: Message) => Promise<void>,
  ): Promise<ReadonlyMap<string, unknown>> {
    const names = await queue.sendingNames(holder.carrierId);
    const faults = new Map<string, unknown>();
    const actOn = (message: Message) =>
      act(message).catch((error: unknown) => {
        if (isUnavailable(error)) throw error;
        faults.set(message.id, error);
      });
    let afterId = "";
    let isMore = names.length > 0;
    while (isMore) {
      const page = await queue.findSending(names, afterId, PAGE);
      const held = page.filter((message) => isHeldBy(message, holder.carrierId, holder.beforeMs));
      await Promise.all(held.map(actOn));
      afterId = page.at(-1)?.id ?? afterId;
      isMore = page.length === PAGE;
    }
    for (const [messageId, error] of faults)
      log.error({ error, messageId }, "a claim stays as it is");
    return faults;
  }

  async function putInDoubt(holder: { readonly carrierId: string; readonly beforeMs: number }) {
    await eachHeld(holder, async ({ id }) => {
      await changes.change(id, (message, nowMs) =>
        recoverClaim(message, holder, true, nowMs, timeouts),
      );
    });
  }

  return {
    async report(outcomes) {
      const decisions = await Promise.all(
        outcomes.map((outcome) =>
          changes.change(outcome.messageId, (message, nowMs) =>
            applyOutcome(message, outcome, nowMs, timeouts, availabilityOf),
          ),
        ),
      );
      return outcomes.flatMap(({ messageId }, at) =>
        decisions[at]?.isStale === false ? [] : [messageId],
      );
    },
    async recordReceipts(receipts) {
      const decisions = await Promise.all(
        receipts.map((receipt) =>
          changes.change(receipt.messageId, (message, nowMs) =>
            applyReceipt(message, receipt, nowMs, timeouts),
          ),
        ),
      );
      return receipts.flatMap(({ messageId }, at) =>
        decisions[at] === undefined ? [messageId] : [],
      );
    },
    async renew(carrierId, held, ended) {
      const nowMs = clock.now();
      await queue.beat(carrierId, nowMs);
      if (held === undefined) return;
      const byAge = { carrierId, beforeMs: nowMs - Math.min(leaseMs, UNHEARD_MS) };
      await eachHeld({ carrierId, beforeMs: WHENEVER }, async ({ id }) => {
        if (held.has(id)) return;
        await changes.change(id, (message, atMs) => {
          const hasEnded = isClaimCallFinished(message.claim?.id ?? "", ended);
          if (hasEnded === false) return unchanged(message);
          const holder = hasEnded === true ? { carrierId, beforeMs: WHENEVER } : byAge;
          return recoverClaim(message, holder, false, atMs, timeouts);
        });
      });
    },
    async recover(carrierId, written, ended) {
      // The carrier claims nothing before this is answered, so whatever there is, is the dead one's;
      // its age says nothing, since another replica's clock may have set it. But the call may be heard
      // here long after another replica has answered it: what was claimed since is left alone.
      const holder = { carrierId, beforeMs: WHENEVER };
      let givenBack = 0;
      let inDoubt = 0;
      const faults = await eachHeld(holder, async ({ id }) => {
        const decision = await changes.change(id, (message, nowMs) =>
          isClaimCallFinished(message.claim?.id ?? "", ended) === false
            ? unchanged(message)
            : recoverClaim(message, holder, written.has(id), nowMs, timeouts),
        );
        if (decision?.message.phase === "waiting") givenBack += 1;
        if (decision?.message.phase === "unknown") inDoubt += 1;
      });
      // The carrier forgets what it wrote once it has an answer, and claims for others; then a claim that
      // could not be put in doubt would be given back as one that was never heard of, and sent twice.
      for (const [id, fault] of faults) if (written.has(id)) throw fault;
      return { givenBack, inDoubt };
    },
    async sweep(heardMs = Number.POSITIVE_INFINITY) {
      const nowMs = clock.now();
      const isListening = heardMs >= leaseMs;
      const silentMs = isListening ? nowMs - leaseMs : 0;
      // Read before the carriers, which are noted before they claim.
      const unknown = new Set((await queue.queueNames()).flatMap((name) => sentBy(name) ?? []));
      const silent = new Set(await queue.carriersHeardBefore(silentMs));
      for (const carrierId of await queue.carriersHeardBefore(Number.MAX_SAFE_INTEGER)) {
        unknown.delete(carrierId);
        if (!silent.has(carrierId)) {
          // After an outage here a carrier first has the time to give back what it never wrote.
          const beforeMs = nowMs - HELD_LEASES_MAX * leaseMs;
          if (isListening) await putInDoubt({ carrierId, beforeMs });
          continue;
        }
        await putInDoubt({ carrierId, beforeMs: nowMs });
        // Claims made under a faster clock are older only later; till then it must not be forgotten.
        const left = await queue.sendingNames(carrierId);
        if (left.length === 0) await queue.forgetCarrier(carrierId, silentMs);
      }
      if (!isListening) return;
      // A claim that was held up here may be written when its carrier has been forgotten.
      for (const carrierId of unknown) await putInDoubt({ carrierId, beforeMs: nowMs - leaseMs });
    },
  };
}
