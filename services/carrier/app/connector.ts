/**
 * One connector in this process: its binds, its dispatcher, and the loop that claims messages for
 * them. It claims while the connector is active, a bind is up, outcomes are getting through, and
 * there is room: the free window and as much as goes out in a tenth of a second, so that a claim's
 * round trip never leaves the window empty. What is claimed beyond the window has not been written
 * and is given back when it cannot go.
 */
import { type Clock, steadyClock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { answerWithin, backoffMs } from "../../shared/flow/backoff.ts";
import type { Link, LinkEvents, LinkStatus } from "../adapters/links/link.ts";
import type { MessagingPort } from "../adapters/messaging-client.ts";
import type { BindFigures } from "../domain/bind-stats.ts";
import type { Submission } from "../domain/submission.ts";
import type { Pacer } from "../store/rate-limiter.ts";
import type { DispatcherOptions } from "./dispatcher.ts";
import { createDispatcher, type Dispatcher } from "./dispatcher.ts";
import type { OutcomeReporter } from "./outcome-reporter.ts";
import { type Bind, createBind } from "./paced-link.ts";

/** How one bind stands, for reports and metrics. */
export type BindReport = BindFigures & {
  readonly bind: number;
  readonly link: LinkStatus | "paused";
  readonly windowUsed: number;
  readonly window: number;
  readonly lastError: string;
};

/** A running connector. */
export type ConnectorRunner = {
  /** Messages may be waiting. */
  ring(): void;
  setActive(isActive: boolean): void;
  /** Keeps submits within a rate from now on; 0 and no pacer is no limit. */
  setPacer(pacer: Pacer | undefined, ratePerSecond: number): void;
  /**
   * Opens and closes binds so that exactly these are up. One whose link is still closing is left to a
   * later call: no bind has two links.
   */
  setOwned(indexes: readonly number[]): void;
  /** Whether a bind has a link that is not closed yet: nobody else may open it. */
  isLinked(index: number): boolean;
  noteReceipt(submission: Submission, cameAtMs: number): void;
  reports(): BindReport[];
  /** Stops claiming, lets answers come for at most so long, closes the binds. */
  close(drainMs: number): Promise<void>;
  /** Submits nothing more and closes every bind: another process may own them soon. */
  fence(): void;
};

/** What a runner needs. */
export type RunnerOptions = Omit<DispatcherOptions, "onRoom" | "outcomes" | "steady"> & {
  readonly messaging: Pick<MessagingPort, "claim">;
  readonly outcomes: OutcomeReporter;
  readonly clock: Clock;
  readonly log: Logger;
  readonly makeLink: (events: LinkEvents) => Link;
  readonly onReceipt: LinkEvents["onReceipt"];
  readonly onMobileOriginated: () => void;
};

const CLAIM_MAX = 1000;
/** Messages claimed ahead: what goes out in so many seconds. */
const AHEAD_S = 0.1;
const TICK_MS = 200;
/** A claim's answer is given up long before: one as old as this waited while the process stood still. */
const ANSWER_MAX_MS = 60_000;
/** Answers are waited for so long when a bind must go; leases end later than that. */
const FENCE_DRAIN_MS = 1500;

/** Starts a connector with no binds yet. */
export function createConnectorRunner(options: RunnerOptions): ConnectorRunner {
  const { connectorId, messaging, outcomes, clock, log } = options;
  const binds = new Map<number, Bind>();
  const closing = new Map<number, Promise<void>>();
  const dispatcher: Dispatcher = createDispatcher({
    ...options,
    steady: steadyClock,
    onRoom: claimSoon,
  });
  let isActive = false;
  let isClosed = false;
  let isClaiming = false;
  /** The claim under way, or the last one. */
  let claimed: Promise<void> = Promise.resolve();
  let isRung = true;
  let failures = 0;
  /** After a failure it claims again by then at the latest. */
  let againAtMs = Number.POSITIVE_INFINITY;
  let perSecond = 0;
  let ratePerSecond = 0;
  const tick = setInterval(onTick, TICK_MS);

  function onTick(): void {
    const reports = [...binds.values()].map((bind) => bind.figures().submitsPerSecond);
    perSecond = reports.reduce((total, rate) => total + rate, 0);
    dispatcher.expire(false);
    if (!isUp()) dispatcher.giveBackWaiting("no_link");
    dispatcher.giveBackLate();
    dispatcher.pump();
  }

  function isUp(): boolean {
    for (const { link } of binds.values()) if (link.status === "bound") return true;
    return false;
  }

  function wanted(): number {
    if ([...binds.values()].every(({ pauseLeftMs }) => pauseLeftMs > 0)) return 0;
    const { room, waiting } = dispatcher;
    const ahead = Math.ceil(perSecond * AHEAD_S);
    const free = room > 0 ? room + ahead : ahead - waiting;
    // What a rate lets out only later is better left where other tenants can overtake it.
    const paced =
      ratePerSecond === 0 ? CLAIM_MAX : 1 + Math.ceil(ratePerSecond * AHEAD_S) - waiting;
    return Math.min(CLAIM_MAX, free, paced);
  }

  function claimSoon(): void {
    if (isClaiming || isClosed || !isActive || outcomes.isStuck || !isUp()) return;
    if (!isRung && clock.now() < againAtMs) return;
    if (wanted() > 0) claimed = claim();
  }

  async function claim(): Promise<void> {
    isClaiming = true;
    isRung = false;
    const askedMs = steadyClock.now();
    try {
      const { messages, more } = await messaging.claim(connectorId, wanted);
      failures = 0;
      // What came in since rang for itself, or is found by the poll for what no bell rang for.
      isRung ||= more;
      againAtMs = Number.POSITIVE_INFINITY;
      isClaiming = false;
      if (isClosed || !isActive) return dispatcher.giveBackWaiting("closing", messages);
      // Whatever is heard first after a standstill of the process is not news any more.
      if (steadyClock.now() - askedMs > ANSWER_MAX_MS) {
        dispatcher.giveBackWaiting("not_going", messages);
      } else if (messages.length > 0) dispatcher.add(messages);
      claimSoon();
    } catch (error) {
      isClaiming = false;
      failures += 1;
      againAtMs = clock.now() + backoffMs(failures, 100, 5000);
      isRung = false;
      log.warn({ error, connector: connectorId, failures }, "no messages could be claimed");
    }
  }

  function open(index: number): void {
    const link = options.makeLink({
      beforeWrite: dispatcher.beforeWrite,
      onReceipt: options.onReceipt,
      onLateAnswer: dispatcher.lateAnswer,
      onMobileOriginated: options.onMobileOriginated,
      onChange: () => dispatcher.pump(),
    });
    binds.set(index, createBind(index, link, steadyClock, log));
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
    ring() {
      isRung = true;
      claimSoon();
    },
    setActive(next) {
      isActive = next;
      if (isActive) claimSoon();
      else dispatcher.giveBackWaiting("paused");
    },
    setPacer(pacer, rate) {
      ratePerSecond = rate;
      dispatcher.setPacer(pacer);
    },
    setOwned(indexes) {
      // Its links close one after the other meanwhile; none of them may be opened again.
      if (isClosed) return;
      const wantedIndexes = new Set(indexes);
      for (const bind of [...binds.values()]) {
        if (!wantedIndexes.has(bind.index)) void closeBind(bind, 5000);
      }
      for (const index of indexes) if (!binds.has(index) && !closing.has(index)) open(index);
    },
    isLinked: (index) => binds.has(index) || closing.has(index),
    noteReceipt({ atMs }, cameAtMs) {
      const [bind] = binds.values();
      // By our own clock: the date in a receipt has whole minutes, and the carrier's time of day.
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
      dispatcher.giveBackWaiting("closing");
      const deadlineMs = performance.now() + drainMs;
      // What it brings is given back at once; left behind, it would be held until messaging misses us.
      await answerWithin(claimed, drainMs);
      while (dispatcher.inFlight > 0 && performance.now() < deadlineMs) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      dispatcher.expire(true);
      const ends = [...binds.values()].map((bind) => closeBind(bind, 0));
      await Promise.all([...ends, ...closing.values()]);
    },
    fence() {
      for (const bind of [...binds.values()]) void closeBind(bind, FENCE_DRAIN_MS);
      dispatcher.giveBackWaiting("fenced");
    },
  };
}
