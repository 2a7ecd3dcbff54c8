/**
 * Sends the claimed messages of one connector over its binds.
 *
 * Messages wait in `waiting` (claimed, nothing of them written) until a bind has room and the rate
 * has a place; then their first part goes out, and when the carrier has taken it, the others. Parts
 * of begun messages go before new messages. Every message given to `add` ends in exactly one
 * settlement, at the latest when the dispatcher closes.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { pause } from "../../shared/flow/backoff.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import type { Part } from "../adapters/links/link.ts";
import { endSubmitSpan, openSubmitSpan } from "../adapters/submit-span.ts";
import type { JournalEntry } from "../domain/journal-lines.ts";
import {
  type ClaimedMessage,
  JournalError,
  type Outcome,
  type PartOutcome,
} from "../domain/message.ts";
import { failRemainingParts, judgeParts, retryDelayMs, returnToQueue } from "../domain/outcome.ts";
import type { Pacer } from "../store/rate-limiter.ts";
import {
  applyLateResponse,
  type InFlight,
  noteOutcome,
  startInFlight,
  unknownsOf,
  withMissing,
} from "./in-flight.ts";
import type { OutcomeReporter, Settlement } from "./outcome-reporter.ts";
import type { Bind } from "./paced-link.ts";
import type { RecentSubmissions } from "./recent-submissions.ts";
import { savePartialSubmissions } from "./save-partial-submissions.ts";

/** The dispatcher of one connector. */
export type Dispatcher = {
  add(messages: readonly ClaimedMessage[]): void;
  /** Looks again for room: a bind came up, a pause ended. */
  pump(): void;
  /** Messages that could start now, over what already waits. */
  readonly room: number;
  readonly waiting: number;
  readonly inFlight: number;
  /** Notes messages whose octets are about to leave; throws when the journal cannot. */
  beforeWrite(messageIds: readonly string[]): void;
  lateAnswer(messageId: string, partIndex: number, outcome: PartOutcome): void;
  /** Replaces the binds; messages under way keep theirs until answered. */
  setBinds(binds: readonly Bind[]): void;
  setPacer(pacer: Pacer | undefined): void;
  /** Gives back what was never started, and what was claimed when nothing was to be started any more. */
  giveBackWaiting(code: string, unwanted?: readonly ClaimedMessage[]): void;
  /** Gives back what has waited long for its turn: at its queue it can be cancelled, and take another route. */
  giveBackLate(): void;
  /** Ends begun messages whose rest has waited for a bind too long, or all when closing. */
  expire(isClosing: boolean): void;
};

/** What a dispatcher needs. */
export type DispatcherOptions = {
  readonly connectorId: string;
  readonly hasSingleReceipt: boolean;
  readonly journal: { noteWritten(entries: readonly JournalEntry[]): void };
  readonly outcomes: Pick<OutcomeReporter, "report" | "keep">;
  readonly recent: RecentSubmissions;
  readonly clock: Clock;
  /** For waits, which a step of the machine's clock must not end, nor draw out. */
  readonly steady: Clock;
  readonly log: Logger;
  /** Called when there may be room for more. */
  readonly onRoom: () => void;
};

type Task = { readonly flight: InFlight; readonly part: Part; readonly done: () => void };

/**
 * How long the rest of a partly accepted message is tried for, throttled or without a link: messaging takes a
 * claim for lost after ten minutes.
 */
const REST_MAX_MS = 480_000;
/**
 * How long a claimed message waits for a place; more of it is claimed than goes out in a fraction of that, unless
 * the carrier has stopped to answer.
 */
const WAITING_MAX_MS = 5000;
/** The shortest wait before the pacer is asked again; what it grants meanwhile comes together. */
const ASK_AGAIN_MS = 5;
/** Messages in doubt that are remembered for a late answer. */
const DOUBTFUL_MAX = 10_000;
/** Put off messages that are remembered, to wait longer each time; a forgotten one only begins anew. */
const PUT_OFFS_MAX = 10_000;

/** Makes the dispatcher of one connector. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { connectorId, clock, steady, log } = options;
  const waiting: { readonly message: ClaimedMessage; readonly sinceMs: number }[] = [];
  const continuing: Task[] = [];
  const flights = new Map<string, InFlight>();
  const doubtful = new Map<string, InFlight>();
  const putOffs = new Map<string, number>();
  /** Aborted when closing: it also ends the pauses between two rounds. */
  const closing = new AbortController();
  let binds: readonly Bind[] = [];
  let pacer: Pacer | undefined;
  let isAsking = false;
  let timer: NodeJS.Timeout | undefined;

  function pump(): void {
    if (pacer !== undefined) return void askPacer(pacer);
    start(Number.POSITIVE_INFINITY);
  }

  async function askPacer(current: Pacer): Promise<void> {
    if (isAsking) return;
    const wanted = Math.min(roomNow(), waiting.length + continuing.length);
    if (wanted === 0) return start(0);
    isAsking = true;
    const { count, waitMs } = await current.ask(wanted);
    isAsking = false;
    start(count);
    if (waiting.length + continuing.length > 0) wakeIn(Math.max(ASK_AGAIN_MS, Math.ceil(waitMs)));
  }

  /** Starts up to `places` parts, as far as binds have room. */
  function start(places: number): void {
    // After a standstill of the process this may come before the tick that looks for what is too old.
    giveBackLate();
    for (let left = places; left > 0; left -= 1) {
      if (waiting.length + continuing.length === 0) break;
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
    if (waiting.length + continuing.length === 0) return;
    const pauses = binds.map(({ pauseLeftMs }) => pauseLeftMs).filter((leftMs) => leftMs > 0);
    if (pauses.length > 0) wakeIn(Math.min(...pauses));
  }

  function roomNow(): number {
    return binds.reduce((total, bind) => total + bind.room, 0);
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

  /** The next part to send: of a begun message first. Undefined when that one is not to be sent. */
  function nextTask(bind: Bind): Task | undefined {
    const task = continuing.shift();
    if (task === undefined) return firstTask(bind);
    if (!isOver(task.flight)) return task;
    leaveOut(task);
    return undefined;
  }

  /** Begins the next waiting message; undefined when it turned out to be unfit for this link. */
  function firstTask(bind: Bind): Task | undefined {
    const { message } = waiting.shift() ?? {};
    if (message === undefined) return undefined;
    try {
      const flight = startInFlight(message, connectorId, bind.link, steady.now());
      flights.set(message.messageId, flight);
      return { flight, part: flight.parts[0] as Part, done: () => void goOn(flight) };
    } catch (error) {
      log.warn({ error, messageId: message.messageId }, "the message does not fit the connector");
      const outcome = returnToQueue(message, "unencodable", clock.now());
      settle({ ...outcome, kind: "refused", errorCode: "carrier_rejected" });
      return undefined;
    }
  }

  async function submit(bind: Bind, { flight, part, done }: Task): Promise<void> {
    const span = openSubmitSpan(flight.message, connectorId, part.index, clock.now());
    const outcome = await bind.submit(part);
    endSubmitSpan(span, outcome);
    const nowMs = clock.now();
    note(flight, part, outcome, nowMs);
    done();
    pump();
  }

  function note(flight: InFlight, part: Part, outcome: PartOutcome, nowMs: number): void {
    const submission = noteOutcome(flight, part, outcome, options.hasSingleReceipt, nowMs);
    if (submission !== undefined) options.recent.add(submission, flight.reported);
  }

  /** After the first part: the others when it was taken, else the end. */
  async function goOn(flight: InFlight): Promise<void> {
    const keeping = savePartialSubmissions(flight, options.outcomes);
    const rest = flight.parts.slice(1);
    if (rest.length > 0 && flight.outcomes[0]?.kind === "accepted") await submitAll(flight, rest);
    for (let round = 0; ; round += 1) {
      const parts = pickRest(flight);
      if (parts === undefined) return keeping.end();
      keeping.now();
      await pause(retryDelayMs(round), closing.signal);
      await submitAll(flight, parts);
    }
  }

  /** Ends the message when its parts say how; else answers the parts to try again. */
  function pickRest(flight: InFlight): Part[] | undefined {
    const { message, outcomes } = flight;
    const nowMs = clock.now();
    const known = outcomes[0]?.kind === "accepted" ? outcomes : outcomes.slice(0, 1);
    const verdict = judgeParts(message, known, nowMs, putOffs.get(message.messageId));
    if (verdict.kind === "done") {
      finish(flight, verdict.outcome);
      return undefined;
    }
    if (isOver(flight)) {
      finish(flight, failRemainingParts(message, "parts_not_taken", nowMs));
      return undefined;
    }
    return verdict.parts.flatMap((index) => flight.parts[index] ?? []);
  }

  /** Whether no part of it is to be sent any more. */
  function isOver({ startedAtMs }: InFlight): boolean {
    return closing.signal.aborted || steady.now() - startedAtMs > REST_MAX_MS;
  }

  function leaveOut({ flight, part, done }: Task): void {
    flight.outcomes[part.index] = { kind: "not_sent", code: "no_link" };
    done();
  }

  /** When closing there may be no bind any more, and nothing that looks for one: the parts stay as they are. */
  async function submitAll(flight: InFlight, parts: readonly Part[]): Promise<void> {
    if (closing.signal.aborted) return;
    const ends = parts.map(
      (part) =>
        new Promise<void>((resolve) => {
          continuing.push({ flight, part, done: resolve });
        }),
    );
    pump();
    await Promise.all(ends);
  }

  function finish(flight: InFlight, outcome: Outcome): void {
    const { messageId } = flight.message;
    flights.delete(messageId);
    if (outcome.kind === "unknown") setRecent(doubtful, messageId, flight, DOUBTFUL_MAX);
    notePutOff(flight, outcome);
    flight.unknowns = unknownsOf(flight, options.hasSingleReceipt, clock.now());
    settle(withMissing(outcome, flight), flight, { unknowns: flight.unknowns });
  }

  function settle(
    outcome: Outcome,
    flight?: InFlight,
    more: Partial<Pick<Settlement, "unknowns" | "resolved">> = {},
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

  function giveBackLate(): void {
    const beforeMs = steady.now() - WAITING_MAX_MS;
    const first = waiting.findIndex(({ sinceMs }) => sinceMs > beforeMs);
    const late = waiting.splice(0, first < 0 ? waiting.length : first);
    for (const { message } of late) returnUnsent(message, "not_going");
  }

  function returnUnsent(message: ClaimedMessage, code: string): void {
    settle(returnToQueue(message, code, clock.now()));
  }

  /** Throws `JournalError` when it cannot: then nothing is sent, and its messages go back. */
  function writeJournal(fresh: readonly InFlight[]): void {
    const atMs = clock.now();
    try {
      options.journal.noteWritten(
        fresh.map(({ message: { messageId, to, from, segments }, parts }) => ({
          ...{ messageId, connectorId, to, from, parts: parts.length, atMs },
          segments: options.hasSingleReceipt ? 0 : segments,
        })),
      );
    } catch (error) {
      log.error(
        { error, connector: connectorId, messages: fresh.length },
        "the journal cannot be written",
      );
      throw new JournalError(error);
    }
  }

  function notePutOff({ message: { messageId }, outcomes }: InFlight, outcome: Outcome): void {
    if (outcome.kind !== "not_sent") putOffs.delete(messageId);
    else if (outcomes[0]?.kind === "refused") {
      setRecent(putOffs, messageId, (putOffs.get(messageId) ?? 0) + 1, PUT_OFFS_MAX);
    }
  }

  return {
    add(messages) {
      const sinceMs = steady.now();
      waiting.push(...messages.map((message) => ({ message, sinceMs })));
      pump();
    },
    pump,
    get room() {
      return roomNow() - continuing.length - waiting.length;
    },
    get waiting() {
      return waiting.length;
    },
    get inFlight() {
      return flights.size;
    },
    beforeWrite(messageIds) {
      const fresh = new Set<InFlight>();
      for (const messageId of messageIds) {
        const flight = flights.get(messageId);
        if (flight !== undefined && !flight.isJournaled) fresh.add(flight);
      }
      if (fresh.size === 0) return;
      writeJournal([...fresh]);
      for (const flight of fresh) flight.isJournaled = true;
    },
    lateAnswer(messageId, partIndex, outcome) {
      const flight = doubtful.get(messageId) ?? flights.get(messageId);
      const part = flight?.parts[partIndex];
      if (flight === undefined || part === undefined) return;
      // A part that is out again is not in doubt: what is known of it is newer than this answer.
      if (flight.outcomes[partIndex]?.kind !== "unknown") return;
      const nowMs = clock.now();
      note(flight, part, outcome, nowMs);
      // With other parts still out, the message is judged when they have ended.
      if (!doubtful.has(messageId)) return;
      const judged = applyLateResponse(flight, nowMs);
      if (judged === undefined) return;
      doubtful.delete(messageId);
      log.info({ connector: connectorId, messageId, kind: judged.kind }, "a late answer came");
      // Each of them may have been answered late, one after the other: all of it is out of doubt now.
      const stillOpen = unknownsOf(flight, options.hasSingleReceipt, nowMs);
      const open = new Set(stillOpen.map(({ segment }) => segment));
      settle(judged, flight, {
        unknowns: stillOpen.filter(({ isTaken }) => isTaken),
        resolved: flight.unknowns.filter(({ segment }) => !open.has(segment)),
      });
    },
    setBinds(next) {
      binds = next;
      pump();
    },
    setPacer(next) {
      pacer = next;
      pump();
    },
    giveBackWaiting(code, unwanted = []) {
      for (const { message } of waiting.splice(0)) returnUnsent(message, code);
      for (const message of unwanted) returnUnsent(message, code);
    },
    giveBackLate,
    expire(isClosing) {
      if (isClosing) closing.abort();
      // One look at each: the clock goes on between two, and a part must be left out or stay.
      const { over = [], left = [] } = Object.groupBy(continuing, ({ flight }) =>
        isOver(flight) ? "over" : "left",
      );
      if (over.length === 0) return;
      continuing.splice(0, continuing.length, ...left);
      for (const task of over) leaveOut(task);
    },
  };
}
