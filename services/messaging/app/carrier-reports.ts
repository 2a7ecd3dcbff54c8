/** The reports of carriers: outcomes, receipts and heartbeats; and the recovery of claims of dead carriers. */
import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { AvailabilityOf } from "../domain/choose-route.ts";
import { type ClaimCall, isClaimCallFinished } from "../domain/claim-epoch.ts";
import { type Message, unchanged } from "../domain/message.ts";
import { applyOutcome, isProven, type Outcome } from "../domain/outcome.ts";
import { sentBy, type Timeouts } from "../domain/queue-transitions.ts";
import { applyReceipt, type Receipt } from "../domain/receipt.ts";
import { isHeldBy, isPartlyWritten, recoverClaim } from "../domain/recover-claim.ts";
import type { QueueStore } from "./ports.ts";
import type { Changes } from "./update-messages.ts";

/** A report about one message. */
export type About<T> = T & { readonly messageId: string };

export type CarrierReports = {
  /**
   * Applies outcomes; resolves when they are durable, with the ids whose claim has changed, and those in doubt that a
   * receipt has proved.
   */
  report(outcomes: readonly About<Outcome>[]): Promise<{ stale: string[]; proven: string[] }>;
  /** Applies receipts; resolves when they are durable, with the ids of messages that do not exist. */
  recordReceipts(receipts: readonly About<Receipt>[]): Promise<string[]>;
  /**
   * Stores a heartbeat. With `held`, returns claims that the carrier never received to their queues: claims of
   * calls that had `ended` when the carrier listed what it holds, or old claims when the calls have no ids.
   */
  renew(carrierId: string, held: ReadonlySet<string> | undefined, ended?: ClaimCall): Promise<void>;
  /**
   * Recovers the claims of a restarted carrier: `written` messages become unknown, the others wait again. Leaves
   * claims of calls that had not `ended` alone. Returns those of `partlyWritten` whose other parts may follow.
   */
  recover(
    carrierId: string,
    written: ReadonlySet<string>,
    ended?: ClaimCall,
    partlyWritten?: readonly string[],
  ): Promise<{ givenBack: number; inDoubt: number; partlyWritten: Message[] }>;
  /**
   * Marks messages as unknown that a silent or unknown carrier was sending, and messages that a live carrier has lost,
   * because it has held them for too long. `receivingMs` is how long this process could receive heartbeats without a
   * gap; a carrier whose heartbeats it could not receive is not silent.
   */
  sweep(receivingMs?: number): Promise<void>;
};

const PAGE = 500;
/**
 * A carrier has received a claim of this age, or never will: the claim call and the call that lists held messages
 * take at most ten seconds each.
 */
const UNHEARD_MS = 25_000;
/** An instant later than every claim. */
const ANY_TIME = Number.MAX_SAFE_INTEGER;
/** A live carrier reports the outcome of a claim within this many leases. */
const HELD_LEASES_MAX = 10;

/** `leaseMs` is how long a carrier without a heartbeat counts as alive. */
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
   * Calls `act` for each message that a carrier holds. Returns the errors by message, so that one faulty message
   * does not block the others; an outage stops the walk.
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
      log.error({ error, messageId }, "a claim could not be recovered");
    return faults;
  }

  async function markUnknown(holder: { readonly carrierId: string; readonly beforeMs: number }) {
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
      const stale: string[] = [];
      const proven: string[] = [];
      for (const [at, outcome] of outcomes.entries()) {
        const decision = decisions[at];
        if (decision === undefined || decision.isStale) stale.push(outcome.messageId);
        else if (isProven(outcome, decision.message)) proven.push(outcome.messageId);
      }
      return { stale, proven };
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
      await eachHeld({ carrierId, beforeMs: ANY_TIME }, async ({ id }) => {
        if (held.has(id)) return;
        await changes.change(id, (message, atMs) => {
          const hasEnded = isClaimCallFinished(message.claim?.id ?? "", ended);
          if (hasEnded === false) return unchanged(message);
          const holder = hasEnded === true ? { carrierId, beforeMs: ANY_TIME } : byAge;
          return recoverClaim(message, holder, false, atMs, timeouts);
        });
      });
    },
    async recover(carrierId, written, ended, partlyWritten = []) {
      // The carrier claims nothing before this call returns, so every claim is of its dead process. Ages say
      // nothing: another replica's clock may have set them. A retried call can arrive here after another replica
      // has answered it, so leave later claims alone.
      const holder = { carrierId, beforeMs: ANY_TIME };
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
      // After the response the carrier forgets which messages it wrote. A written message that is still claimed
      // would later be returned to its queue as never received, and sent twice.
      for (const [id, fault] of faults) if (written.has(id)) throw fault;
      const open = await Promise.all(partlyWritten.map((id) => changes.change(id, unchanged)));
      const left = open.flatMap((decision) => decision?.message ?? []);
      const isLeft = (message: Message) => isPartlyWritten(message, carrierId);
      return { givenBack, inDoubt, partlyWritten: left.filter(isLeft) };
    },
    async sweep(receivingMs = Number.POSITIVE_INFINITY) {
      const nowMs = clock.now();
      const isListening = receivingMs >= leaseMs;
      const silentMs = isListening ? nowMs - leaseMs : 0;
      // Read the claims before the carriers: a carrier is stored before it claims.
      const unknown = new Set((await queue.queueNames()).flatMap((name) => sentBy(name) ?? []));
      const silent = new Set(await queue.carriersReportedBefore(silentMs));
      for (const carrierId of await queue.carriersReportedBefore(Number.MAX_SAFE_INTEGER)) {
        unknown.delete(carrierId);
        if (!silent.has(carrierId)) {
          // After an outage here, first give the carrier time to return the messages that it never wrote.
          const beforeMs = nowMs - HELD_LEASES_MAX * leaseMs;
          if (isListening) await markUnknown({ carrierId, beforeMs });
          continue;
        }
        await markUnknown({ carrierId, beforeMs: nowMs });
        // Claims stamped by a faster clock reach this age later; keep the carrier until then.
        const left = await queue.sendingNames(carrierId);
        if (left.length === 0) await queue.forgetCarrier(carrierId, silentMs);
      }
      if (!isListening) return;
      // A delayed claim may be written after its carrier was deleted.
      for (const carrierId of unknown) await markUnknown({ carrierId, beforeMs: nowMs - leaseMs });
    },
  };
}
