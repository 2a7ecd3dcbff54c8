/**
 * Sends the claimed messages of one connector over its binds.
 *
 * A claimed message waits in `waiting` until a bind has a free slot and the rate limiter grants a permit. Then its
 * first part is submitted, and when the carrier has accepted it, the other parts. Parts of started messages are
 * submitted before new messages. Every message given to `add` ends in exactly one outcome report, at the latest when
 * the dispatcher closes.
 */
import { pause } from "../../shared/flow/backoff.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import {
  type ClaimedMessage,
  maySubmit,
  type Outcome,
  type PartOutcome,
} from "../domain/message.ts";
import {
  decideNextStep,
  doubt,
  failRemainingParts,
  retryDelayMs,
  returnInQuietHours,
  returnToQueue,
} from "../domain/outcome.ts";
import { createAwaitingProof } from "./awaiting-proof.ts";
import type { Bind } from "./bind.ts";
import { createDeferrals } from "./deferrals.ts";
import type { Dispatcher, DispatcherOptions } from "./dispatcher-types.ts";
import {
  applyLateResponse,
  type InFlight,
  isFirstAloneInDoubt,
  noteOutcome,
  proveFirstPart,
  startInFlight,
  unknownsOf,
  withMissing,
} from "./in-flight.ts";
import { createJournalWrites } from "./journal-writes.ts";
import type { Part } from "./link.ts";
import type { OutcomeReport } from "./outcome-reporter.ts";
import { createPartlyWritten } from "./partly-written.ts";
import type { RateLimiter } from "./ports.ts";
import { savePartialSubmissions } from "./save-partial-submissions.ts";

type Task = {
  readonly flight: InFlight;
  readonly part: Part;
  readonly done: () => void;
  /** True when the carrier has deferred this part at an earlier submit. */
  readonly isRetry?: boolean;
};

/** How long remaining parts are retried; messaging treats a claim as lost after ten minutes. */
const REMAINING_PARTS_MAX_MS = 480_000;
/** How long a claimed message waits for a slot. Only a carrier that stopped answering makes one wait this long. */
const WAITING_MAX_MS = 5000;
/** The shortest wait between two calls of the rate limiter, so that one call takes several permits. */
const ACQUIRE_INTERVAL_MS = 5;
/** Messages in doubt that are kept for a late answer. */
const IN_DOUBT_MAX = 10_000;

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { connectorId, clock, steady, log } = options;
  const waiting: { readonly message: ClaimedMessage; readonly sinceMs: number }[] = [];
  const remainingParts: Task[] = [];
  const flights = new Map<string, InFlight>();
  const inDoubt = new Map<string, InFlight>();
  const deferrals = createDeferrals();
  const journalWrites = createJournalWrites(options);
  const awaiting = createAwaitingProof({
    ...{ outcomes: options.outcomes, steady, waitMs: options.proofWaitMs },
    onProved: resume,
  });
  const partlyWritten = createPartlyWritten({
    ...{ messages: options.partlyWritten ?? [], connectorId, steady, log },
    waitMs: options.proofWaitMs,
    giveUp: (message) => report({ ...doubt(message, "restart", clock.now()), isIncomplete: true }),
  });
  /** Aborted when closing: it also ends the pauses between two rounds. */
  const closing = new AbortController();
  let binds: readonly Bind[] = [];
  let rateLimiter: RateLimiter | undefined;
  let isAcquiring = false;
  let wasRetry = false;
  let timer: NodeJS.Timeout | undefined;

  function pump(): void {
    if (rateLimiter !== undefined) return void startWithin(rateLimiter);
    start(Number.POSITIVE_INFINITY);
  }

  async function startWithin(limiter: RateLimiter): Promise<void> {
    if (isAcquiring) return;
    const room = binds.reduce((total, bind) => total + bind.room, 0);
    const wanted = Math.min(room, waiting.length + remainingParts.length);
    if (wanted === 0) return start(0);
    isAcquiring = true;
    const { count, waitMs } = await limiter.acquire(wanted);
    isAcquiring = false;
    start(count);
    if (waiting.length + remainingParts.length > 0)
      wakeIn(Math.max(ACQUIRE_INTERVAL_MS, Math.ceil(waitMs)));
  }

  /** Starts up to `permits` parts, as far as binds have free slots. */
  function start(permits: number): void {
    // When the process was suspended, this may run before the tick that returns overdue messages.
    returnOverdue();
    restartPartlyWritten();
    for (let left = permits; left > 0; left -= 1) {
      if (waiting.length + remainingParts.length === 0) break;
      const bind = pickBind();
      if (bind === undefined) break;
      const task = nextTask(bind);
      if (task !== undefined) void submit(bind, task);
    }
    wakeAfterPause();
    options.onRoom();
  }

  function wakeIn(ms: number): void {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      pump();
    }, ms);
  }

  function wakeAfterPause(): void {
    if (waiting.length + remainingParts.length === 0) return;
    const pauses = binds.map(({ pauseLeftMs }) => pauseLeftMs).filter((leftMs) => leftMs > 0);
    if (pauses.length > 0) wakeIn(Math.min(...pauses));
  }

  function pickBind(): Bind | undefined {
    let best: Bind | undefined;
    let bestRoom = 0;
    for (const bind of binds) {
      const { room } = bind;
      if (room > bestRoom) {
        best = bind;
        bestRoom = room;
      }
    }
    return best;
  }

  /** The next part to send, of a started message first. Undefined when that message has expired. */
  function nextTask(bind: Bind): Task | undefined {
    // A carrier may refuse one number's parts for minutes, so every second submit is of a waiting message.
    const isNewFirst = wasRetry && waiting.length > 0 && remainingParts[0]?.isRetry === true;
    const task = isNewFirst ? undefined : remainingParts.shift();
    wasRetry = task?.isRetry === true;
    if (task === undefined) return firstTask(bind);
    if (!hasExpired(task.flight)) return task;
    skip(task);
    return undefined;
  }

  /** Starts the next waiting message; undefined when the link cannot encode it. */
  function firstTask(bind: Bind): Task | undefined {
    const { message } = waiting.shift() ?? {};
    if (message === undefined) return undefined;
    if (!maySubmit(message, clock.now())) {
      report(returnInQuietHours(message, clock.now()));
      return undefined;
    }
    try {
      const flight = startInFlight(message, connectorId, bind.link, steady.now());
      flights.set(message.messageId, flight);
      return { flight, part: flight.parts[0] as Part, done: () => void continueMessage(flight) };
    } catch (error) {
      log.warn({ error, messageId: message.messageId }, "the message does not fit the connector");
      const outcome = returnToQueue(message, "unencodable", clock.now());
      report({ ...outcome, kind: "refused", errorCode: "carrier_rejected" });
      return undefined;
    }
  }

  async function submit(bind: Bind, { flight, part, done }: Task): Promise<void> {
    const span = options.spans.open(flight.message, connectorId, part.index, clock.now());
    const outcome = await bind.submit(part, flight.message);
    span?.end(outcome);
    const nowMs = clock.now();
    note(flight, part, outcome, nowMs);
    done();
    pump();
  }

  function note(flight: InFlight, part: Part, outcome: PartOutcome, nowMs: number): void {
    journalWrites.after(flight, part.index, outcome);
    const submission = noteOutcome(flight, part, outcome, options.hasSingleReceipt, nowMs);
    if (submission !== undefined) options.recent.add(submission, flight.reported);
  }

  /** After the first part: submits the others when it was accepted, and retries them until the message ends. */
  async function continueMessage(flight: InFlight): Promise<void> {
    const saving = savePartialSubmissions(flight, options.outcomes);
    const others = flight.parts.slice(1);
    if (others.length > 0 && flight.outcomes[0]?.kind === "accepted") {
      await submitAll(flight, others);
    }
    await submitRest(flight, saving);
  }

  /** Submits the other parts of a message whose first part was proved. */
  function resume(flight: InFlight): void {
    const { messageId } = flight.message;
    inDoubt.delete(messageId);
    proveFirstPart(flight);
    flight.startedAtMs = steady.now();
    flights.set(messageId, flight);
    log.info({ connector: connectorId, messageId }, "the other parts of a message follow");
    void submitRest(flight, savePartialSubmissions(flight, options.outcomes));
  }

  async function submitRest(
    flight: InFlight,
    saving: ReturnType<typeof savePartialSubmissions>,
  ): Promise<void> {
    for (let round = 0; ; round += 1) {
      const parts = endOrPickParts(flight);
      if (parts === undefined) return saving.end();
      saving.now();
      await pause(retryDelayMs(round), closing.signal);
      await submitAll(flight, parts);
    }
  }

  /** Ends the message when its parts decide how; else returns the parts to submit again. */
  function endOrPickParts(flight: InFlight): Part[] | undefined {
    const { message, outcomes } = flight;
    const nowMs = clock.now();
    const known = outcomes[0]?.kind === "accepted" ? outcomes : outcomes.slice(0, 1);
    const next = decideNextStep(message, known, nowMs, deferrals.countOf(message.messageId));
    if (next.kind === "done") {
      finish(flight, next.outcome);
      return undefined;
    }
    if (hasExpired(flight)) {
      finish(flight, failRemainingParts(message, "parts_not_taken", nowMs));
      return undefined;
    }
    return next.parts.flatMap((index) => flight.parts[index] ?? []);
  }

  /** Whether no further part of a message may be sent: the dispatcher closes, or its time is over. */
  function hasExpired({ startedAtMs }: InFlight): boolean {
    return closing.signal.aborted || steady.now() - startedAtMs > REMAINING_PARTS_MAX_MS;
  }

  function skip({ flight, part, done }: Task): void {
    flight.outcomes[part.index] = { kind: "not_sent", code: "no_link" };
    done();
  }

  /** Submits nothing when closing: there may be no bind left, and no tick that would expire the parts. */
  async function submitAll(flight: InFlight, parts: readonly Part[]): Promise<void> {
    if (closing.signal.aborted) return;
    const ends = parts.map(
      (part) =>
        new Promise<void>((resolve) => {
          const isRetry = flight.outcomes[part.index] !== undefined;
          remainingParts.push({ flight, part, done: resolve, isRetry });
        }),
    );
    pump();
    await Promise.all(ends);
  }

  function finish(flight: InFlight, outcome: Outcome): void {
    const { messageId } = flight.message;
    flights.delete(messageId);
    if (outcome.kind === "unknown") setRecent(inDoubt, messageId, flight, IN_DOUBT_MAX);
    deferrals.note(flight, outcome);
    const before = flight.unknowns;
    flight.unknowns = unknownsOf(flight, options.hasSingleReceipt, clock.now());
    if (outcome.kind === "unknown" && canBeProved(flight)) {
      awaiting.add(flight, outcome);
      return;
    }
    const resolved = before.filter(({ segment }) =>
      flight.submissions.some((one) => one.segment === segment),
    );
    report(withMissing(outcome, flight), flight, { unknowns: flight.unknowns, resolved });
  }

  /** A receipt for the whole message would prove parts that were not submitted. */
  function canBeProved(flight: InFlight): boolean {
    return isFirstAloneInDoubt(flight) && !options.hasSingleReceipt && !closing.signal.aborted;
  }

  function restartPartlyWritten(): void {
    partlyWritten.check(closing.signal.aborted);
    const bound = binds.find(({ link }) => link.status === "bound");
    for (const { flight, isFirstTaken } of partlyWritten.take(bound?.link)) {
      if (isFirstTaken) resume(flight);
      else finish(flight, doubt(flight.message, "restart", clock.now()));
    }
  }

  function report(
    outcome: Outcome,
    flight?: InFlight,
    more: Partial<Pick<OutcomeReport, "unknowns" | "resolved">> = {},
  ): void {
    options.outcomes.report({
      outcome,
      submissions: flight?.submissions ?? [],
      unknowns: [],
      resolved: [],
      ...more,
      ...(flight === undefined ? {} : { onReported: flight.markReported }),
    });
  }

  function returnOverdue(): void {
    const beforeMs = steady.now() - WAITING_MAX_MS;
    const first = waiting.findIndex(({ sinceMs }) => sinceMs > beforeMs);
    const overdue = waiting.splice(0, first < 0 ? waiting.length : first);
    for (const { message } of overdue) returnUnsent(message, "not_going");
  }

  function returnUnsent(message: ClaimedMessage, code: string): void {
    report(returnToQueue(message, code, clock.now()));
  }

  return {
    add(messages) {
      const sinceMs = steady.now();
      waiting.push(...messages.map((message) => ({ message, sinceMs })));
      pump();
    },
    pump,
    get room() {
      const slots = binds.reduce((total, bind) => total + bind.windowRoom, 0);
      return slots - remainingParts.length - waiting.length;
    },
    get waiting() {
      return waiting.length;
    },
    get inFlight() {
      return flights.size;
    },
    beforeWrite: (parts) => journalWrites.before(flights, parts),
    lateAnswer(messageId, partIndex, outcome) {
      const flight = inDoubt.get(messageId) ?? flights.get(messageId);
      const part = flight?.parts[partIndex];
      if (flight === undefined || part === undefined) return;
      // A part that was submitted again is not in doubt: its state is newer than this answer.
      if (flight.outcomes[partIndex]?.kind !== "unknown") return;
      const nowMs = clock.now();
      note(flight, part, outcome, nowMs);
      // While other parts are in flight, their end decides the message.
      if (!inDoubt.has(messageId)) return;
      const isAwaiting = awaiting.remove(messageId);
      if (isAwaiting && flight.outcomes[0]?.kind === "accepted") return resume(flight);
      const lateOutcome = applyLateResponse(flight, nowMs);
      if (lateOutcome === undefined) return;
      inDoubt.delete(messageId);
      log.info({ connector: connectorId, messageId, kind: lateOutcome.kind }, "a late answer came");
      // Several parts may have been answered late, one after the other: resolve all of them.
      const stillOpen = unknownsOf(flight, options.hasSingleReceipt, nowMs);
      const open = new Set(stillOpen.map(({ segment }) => segment));
      report(lateOutcome, flight, {
        unknowns: stillOpen.filter(({ isTaken }) => isTaken),
        resolved: flight.unknowns.filter(({ segment }) => !open.has(segment)),
      });
    },
    setBinds(next) {
      binds = next;
      pump();
    },
    setRateLimiter(next) {
      rateLimiter = next;
      pump();
    },
    returnWaiting(code, unwanted = []) {
      for (const { message } of waiting.splice(0)) returnUnsent(message, code);
      for (const message of unwanted) returnUnsent(message, code);
    },
    returnOverdue,
    expire(isClosing) {
      if (isClosing) closing.abort();
      awaiting.check(isClosing);
      partlyWritten.check(isClosing);
      // Read the clock once for each part: two reads could disagree, and the part would be in neither list.
      const { expired = [], left = [] } = Object.groupBy(remainingParts, ({ flight }) =>
        hasExpired(flight) ? "expired" : "left",
      );
      if (expired.length === 0) return;
      remainingParts.splice(0, remainingParts.length, ...left);
      for (const task of expired) skip(task);
    },
  };
}
