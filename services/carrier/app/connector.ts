/**
 * One connector in this process: its binds, its dispatcher, and the loop that claims messages for them.
 *
 * It claims while the connector is active, a bind is up, outcomes reach messaging, and the window has free slots.
 * A claim asks for the free slots plus the submits of the next tenth of a second, so that the round trip of a
 * claim never leaves the window empty. Messages beyond the window have not been written to a carrier and return
 * to their queue when they cannot be sent.
 */
import { type Clock, steadyClock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { answerWithin, backoffMs } from "../../shared/flow/backoff.ts";
import { waitUntilIdle } from "../../shared/flow/wait-until-idle.ts";
import type { Submission } from "../domain/submission.ts";
import { type Bind, createBind } from "./bind.ts";
import { createDispatcher } from "./dispatcher.ts";
import type { Dispatcher, DispatcherOptions } from "./dispatcher-types.ts";
import type { Link, LinkEvents } from "./link.ts";
import type { OutcomeReporter } from "./outcome-reporter.ts";
import type { BindReport, MessagingClient, RateLimiter } from "./ports.ts";
import { createRefusalEvidence } from "./refusal-evidence.ts";

/** A running connector. */
export type ConnectorRunner = {
  /** Messages may be waiting. */
  notify(): void;
  setActive(isActive: boolean): void;
  /** Sets the rate of submits; 0 without a limiter means no limit. */
  setRateLimiter(rateLimiter: RateLimiter | undefined, ratePerSecond: number): void;
  /**
   * Opens and closes binds so that exactly these are up. A bind whose link is still closing opens at a later
   * call: no bind has two links.
   */
  setOwned(indexes: readonly number[]): void;
  /** Whether the link of a bind is not closed yet: then no other process may open the bind. */
  isLinked(index: number): boolean;
  noteReceipt(submission: Submission, cameAtMs: number): void;
  reports(): BindReport[];
  /** Stops claiming, waits at most `drainMs` for answers, closes the binds. */
  close(drainMs: number): Promise<void>;
  /** Submits nothing more and closes every bind: their leases may pass to another process soon. */
  dropBinds(): void;
};

export type RunnerOptions = Omit<DispatcherOptions, "onRoom" | "outcomes" | "steady"> & {
  readonly messaging: Pick<MessagingClient, "claim">;
  readonly outcomes: OutcomeReporter;
  readonly clock: Clock;
  readonly log: Logger;
  readonly createLink: (events: LinkEvents) => Link;
  readonly onReceipt: LinkEvents["onReceipt"];
  readonly onInbound: LinkEvents["onInbound"];
};

const CLAIM_MAX = 1000;
/** How far ahead the connector claims: the submits of the next tenth of a second. */
const AHEAD_S = 0.1;
const TICK_MS = 200;
/** RPC timeouts end a claim long before this; an older answer waited while the process was suspended. */
const ANSWER_MAX_MS = 60_000;
/** How long a bind without a lease waits for answers. Leases end later than that (`store/bind-leases.ts`). */
const LOST_LEASE_DRAIN_MS = 1500;
const UNOWNED_DRAIN_MS = 5000;

/** Starts a connector with no binds yet. */
export function createConnectorRunner(options: RunnerOptions): ConnectorRunner {
  const { connectorId, messaging, outcomes, clock, log } = options;
  const binds = new Map<number, Bind>();
  const closing = new Map<number, Promise<void>>();
  const evidence = createRefusalEvidence();
  const dispatcher: Dispatcher = createDispatcher({
    ...options,
    steady: steadyClock,
    onRoom: claimSoon,
  });
  let isActive = false;
  let isClosed = false;
  let isClaiming = false;
  /** The current claim, or the last one. */
  let claimed: Promise<void> = Promise.resolve();
  let mayHaveMessages = true;
  let failures = 0;
  /** The time of the next claim after a failed one; a notification may make it earlier. */
  let retryAtMs = Number.POSITIVE_INFINITY;
  let submitsPerSecond = 0;
  let ratePerSecond = 0;
  const tick = setInterval(onTick, TICK_MS);

  function onTick(): void {
    const rates = [...binds.values()].map((bind) => bind.figures().submitsPerSecond);
    submitsPerSecond = rates.reduce((total, rate) => total + rate, 0);
    dispatcher.expire(false);
    if (!isUp()) dispatcher.returnWaiting("no_link");
    dispatcher.returnOverdue();
    dispatcher.pump();
  }

  function isUp(): boolean {
    for (const { link } of binds.values()) if (link.status === "bound") return true;
    return false;
  }

  function wanted(): number {
    const all = [...binds.values()];
    if (all.every(({ isPaused }) => isPaused)) return 0;
    const { room, waiting } = dispatcher;
    // Keep at least one message here for the next submit of a slow bind, so that it does not wait for a claim.
    const withinAdaptiveRate =
      all.reduce((sum, bind) => sum + bind.allowedWithin(AHEAD_S * 1000), 0) - waiting;
    const ahead = Math.ceil(submitsPerSecond * AHEAD_S);
    const free = room > 0 ? room + ahead : ahead - waiting;
    // Leave messages that the rate holds back in their queue, where other tenants can overtake them.
    const withinRate =
      ratePerSecond === 0 ? CLAIM_MAX : 1 + Math.ceil(ratePerSecond * AHEAD_S) - waiting;
    return Math.min(CLAIM_MAX, free, withinRate, withinAdaptiveRate);
  }

  function claimSoon(): void {
    if (isClaiming || isClosed || !isActive || outcomes.isStuck || !isUp()) return;
    if (!mayHaveMessages && clock.now() < retryAtMs) return;
    if (wanted() > 0) claimed = claim();
  }

  async function claim(): Promise<void> {
    isClaiming = true;
    mayHaveMessages = false;
    const askedMs = steadyClock.now();
    try {
      const { messages, more } = await messaging.claim(connectorId, wanted);
      failures = 0;
      // Messages queued after this answer have a notification of their own, or the poll finds them.
      mayHaveMessages ||= more;
      retryAtMs = Number.POSITIVE_INFINITY;
      isClaiming = false;
      if (isClosed || !isActive) return dispatcher.returnWaiting("closing", messages);
      // The process was suspended: the claims in this answer may have ended.
      if (steadyClock.now() - askedMs > ANSWER_MAX_MS) {
        dispatcher.returnWaiting("not_going", messages);
      } else if (messages.length > 0) dispatcher.add(messages);
      claimSoon();
    } catch (error) {
      isClaiming = false;
      failures += 1;
      retryAtMs = clock.now() + backoffMs(failures, 100, 5000);
      mayHaveMessages = false;
      log.warn({ error, connector: connectorId, failures }, "no messages could be claimed");
    }
  }

  function open(index: number): void {
    const link = options.createLink({
      beforeWrite: dispatcher.beforeWrite,
      onReceipt: options.onReceipt,
      onLateAnswer: dispatcher.lateAnswer,
      onInbound: options.onInbound,
      onChange: () => dispatcher.pump(),
    });
    binds.set(index, createBind(index, link, steadyClock, log, evidence));
    dispatcher.setBinds([...binds.values()]);
    link.start();
  }

  async function closeBind(bind: Bind, drainMs: number): Promise<void> {
    binds.delete(bind.index);
    dispatcher.setBinds([...binds.values()]);
    const closed = bind.link.close(drainMs).finally(() => closing.delete(bind.index));
    closing.set(bind.index, closed);
    await closed;
  }

  return {
    notify() {
      mayHaveMessages = true;
      claimSoon();
    },
    setActive(next) {
      isActive = next;
      if (isActive) claimSoon();
      else dispatcher.returnWaiting("paused");
    },
    setRateLimiter(rateLimiter, rate) {
      ratePerSecond = rate;
      dispatcher.setRateLimiter(rateLimiter);
    },
    setOwned(indexes) {
      // While `close` closes the links one after the other, none may open again.
      if (isClosed) return;
      const wantedIndexes = new Set(indexes);
      for (const bind of [...binds.values()]) {
        if (!wantedIndexes.has(bind.index)) void closeBind(bind, UNOWNED_DRAIN_MS);
      }
      for (const index of indexes) if (!binds.has(index) && !closing.has(index)) open(index);
    },
    isLinked: (index) => binds.has(index) || closing.has(index),
    noteReceipt({ atMs }, cameAtMs) {
      const [bind] = binds.values();
      // By our own clock: the date in a receipt has whole minutes and the carrier's time zone.
      bind?.stats.noteReceipt(atMs === 0 ? undefined : Math.max(0, cameAtMs - atMs));
    },
    reports: () =>
      [...binds.values()].map((bind) => ({
        ...bind.figures(),
        bind: bind.index,
        link: bind.link.status === "bound" && !isActive ? "paused" : bind.link.status,
        windowUsed: bind.link.inFlight,
        window: bind.link.window,
        lastError: bind.link.lastError,
      })),
    async close(drainMs) {
      isClosed = true;
      clearInterval(tick);
      dispatcher.returnWaiting("closing");
      const deadlineMs = performance.now() + drainMs;
      // Return the messages of the current claim: otherwise they stay claimed until messaging misses our heartbeat.
      await answerWithin(claimed, drainMs);
      await waitUntilIdle(() => dispatcher.inFlight === 0, deadlineMs - performance.now());
      dispatcher.expire(true);
      const ends = [...binds.values()].map((bind) => closeBind(bind, 0));
      await Promise.all([...ends, ...closing.values()]);
    },
    dropBinds() {
      for (const bind of [...binds.values()]) void closeBind(bind, LOST_LEASE_DRAIN_MS);
      dispatcher.returnWaiting("fenced");
    },
  };
}
