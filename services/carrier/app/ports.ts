/** The ports of the use cases, except the link (`link.ts`). `store/` and `adapters/` implement them. */
import type { BindFigures } from "../domain/bind-stats.ts";
import type { CountrySums, DeliveryHealth } from "../domain/delivery-health.ts";
import type { HttpInboundSettings } from "../domain/http-inbound.ts";
import type { JournalEntry, PartRef } from "../domain/journal-lines.ts";
import type {
  ClaimedMessage,
  IncomingReceipt,
  MatchedReceipt,
  Outcome,
  PartOutcome,
} from "../domain/message.ts";
import type { Grant } from "../domain/rate-schedule.ts";
import type { HttpReceiptSettings } from "../domain/receipt-url.ts";
import type { Submission, UnknownCandidate, UnknownSubmission } from "../domain/submission.ts";
import type { Link, LinkEvents, LinkStatus } from "./link.ts";

/**
 * The RPCs of messaging. Each call throws when it gets no answer: `service_unavailable` when the same call may
 * succeed later.
 */
export type MessagingClient = {
  /** Claims messages. `wanted` is called when the request leaves and returns how many. */
  claim(
    connectorId: string,
    wanted: () => number,
  ): Promise<{ messages: ClaimedMessage[]; more: boolean }>;
  /** Lists the connectors with queued messages, due or not. */
  waitingConnectors(): Promise<readonly string[]>;
  /**
   * Returns the ids of messages whose claim this carrier had lost, and of those in doubt that a receipt has proved to
   * be with the carrier.
   */
  reportOutcomes(
    outcomes: readonly Outcome[],
  ): Promise<{ readonly stale: readonly string[]; readonly proven: readonly string[] }>;
  /** Returns the message ids that messaging does not know. */
  recordReceipts(receipts: readonly MatchedReceipt[]): Promise<readonly string[]>;
  /** Heartbeat with the claims that this carrier holds; messaging returns all other old claims to the queue. */
  renewClaims(): Promise<void>;
  /**
   * Ends the claims of an earlier process: `written` messages are in doubt, all others return to the queue. Returns
   * those of `partlyWritten` whose other parts may still be submitted.
   */
  recoverClaims(
    written: readonly string[],
    partlyWritten: readonly string[],
  ): Promise<{ givenBack: number; inDoubt: number; partlyWritten: readonly ClaimedMessage[] }>;
};

/** A connector as the routing service describes it. */
export type ConnectorConfig = {
  readonly id: string;
  readonly version: bigint;
  readonly createdAtMs: bigint;
  readonly isActive: boolean;
  /** Submits per second over all replicas; 0 means no limit. */
  readonly ratePerSecond: number;
  readonly binds: number;
  /** The longest time that a submit stays unanswered. */
  readonly answerTimeoutMs: number;
  /** The carrier sends one receipt for all parts of a message. */
  readonly hasSingleReceipt: boolean;
  /** Routing could not decrypt the secrets: no link can be opened with these settings. */
  readonly secretsUnreadable: boolean;
  /** Differs when a setting of the links differs; state and rate are not part of it. */
  readonly linkFingerprint: string;
  /** Settings of HTTP callbacks; undefined for other types of connector. */
  readonly httpCallbacks: (HttpReceiptSettings & HttpInboundSettings) | undefined;
  /** Creates a link that is not started yet. Throws when the settings of its type are missing. */
  createLink(events: LinkEvents): Link;
};

/** The RPCs of routing. */
export type RoutingClient = {
  listConnectors(): Promise<readonly ConnectorConfig[]>;
  /** Reports the health of every bind of this process. */
  reportHealth(health: readonly ConnectorHealth[]): Promise<void>;
  /** Reports the delivery health of every connector. */
  reportDeliveries(health: readonly DeliveryReport[]): Promise<void>;
};

/** The state of one bind, for health reports and metrics. */
export type BindReport = BindFigures & {
  readonly bind: number;
  readonly link: LinkStatus | "paused";
  readonly windowUsed: number;
  readonly window: number;
  /** Submits per second to which throttling limits the bind; infinite without a limit. */
  readonly adaptiveRate: number;
  readonly lastError: string;
};

/** The counts of the submits of five minutes. */
export type DeliverySlot = CountrySums & { readonly atMs: number };

/** Delivery counts of all replicas, by connector, country and five minutes. */
export type DeliveryStore = {
  addDeliveries(slots: readonly DeliverySlot[]): Promise<void>;
  /** The sums of the slots that begin in a span, by connector and country. */
  sumDeliveries(fromMs: number, untilMs: number): Promise<CountrySums[]>;
};

/** The delivery health of a connector or one of its countries, as routing receives it. */
export type DeliveryReport = DeliveryHealth & { readonly reportedAtMs: number };

/** The health of one bind, as routing receives it. */
export type ConnectorHealth = BindReport & {
  readonly connectorId: string;
  /** The bind's name, unique over all replicas: `<CARRIER_ID>/<bind>`. */
  readonly name: string;
  readonly reportedAtMs: number;
};

/**
 * The journal: the messages whose octets may have reached a carrier. After a crash it says which claimed
 * messages were certainly never written and may go to another carrier at once.
 */
export type Journal = {
  /** `<CARRIER_ID>.<random>`: the same for as long as the file exists. */
  readonly carrierId: string;
  /** The number of processes that have started with this identity, counted from 1. */
  readonly start: number;
  /** Entries that an earlier process of this identity wrote and never settled; read once at the start. */
  readonly inherited: ReadonlyMap<string, JournalEntry>;
  /** Such entries of earlier identities: their messages are in doubt already, and late receipts must find them. */
  readonly orphaned: ReadonlyMap<string, JournalEntry>;
  /**
   * Appends messages, and further parts of open ones, before their octets leave; one synchronous write. Throws when
   * the write fails.
   */
  append(entries: readonly JournalEntry[], parts?: readonly PartRef[]): void;
  /** Notes that the carrier has refused a further part of an open message. Throws when the write fails. */
  markRefused(part: PartRef): void;
  /**
   * The open entry of a message. An outcome created now is about this entry: messaging hands a message out again
   * only after its outcome was reported.
   */
  entryOf(messageId: string): JournalEntry | undefined;
  /**
   * Settles exactly these entries: messaging knows their outcomes. An entry that a later claim of its message
   * has replaced stays open, because the octets of that claim may have left.
   *
   * Throws when the write fails, which is safe. After a crash the carrier reports the message as written once
   * more; messaging keeps an outcome that it has. If the message was claimed again and not written yet,
   * it is then in doubt, and never submitted twice.
   */
  markReported(entries: readonly JournalEntry[]): void;
  /** Settles the current entries of these messages. Call it only before anything new is claimed. */
  markSettled(messageIds: readonly string[]): void;
  /** Deletes the journals of earlier identities. Call it when their entries are stored elsewhere. */
  removeEarlier(): void;
  /** The number of entries that are not settled. */
  readonly open: number;
  close(): void;
};

/** A receipt that waits for its message. */
export type ParkedReceipt = {
  readonly id: string;
  readonly receipt: IncomingReceipt;
  readonly parkedAtMs: number;
};

/** A receipt that never found its message, for operators. */
export type UnmatchedReceipt = {
  readonly receipt: IncomingReceipt;
  readonly receivedAtMs: number;
};

/** The store of submissions and of receipts without a message. */
export type SubmissionStore = {
  /** Saves submissions; keeps the newest thousand of one id when a carrier uses the id again. */
  saveSubmissions(items: readonly Submission[]): Promise<void>;
  /** Finds submissions by their names (`submissionName`). */
  findSubmissions(names: readonly string[]): Promise<Map<string, readonly Submission[]>>;
  /** A connector's newest submissions since an instant, for the restart of the test route. */
  listSubmissions(connectorId: string, sinceMs: number, max: number): Promise<Submission[]>;
  /** Saves submits without a carrier id, so that a receipt finds them by recipient and sender. */
  saveUnknowns(items: readonly UnknownSubmission[]): Promise<void>;
  /**
   * Submits without a carrier id from one sender to one recipient: in doubt since `inDoubtSinceMs`, or taken
   * since `takenSinceMs`. Those known to be submitted after `submittedUntilMs` are left out.
   */
  findUnknowns(query: {
    readonly connectorId: string;
    readonly to: string;
    readonly from: string;
    readonly inDoubtSinceMs: number;
    readonly takenSinceMs: number;
    readonly submittedUntilMs: number;
  }): Promise<UnknownCandidate[]>;
  /** Assigns a carrier id to a submit; false when it has one already, or is gone. */
  assignKey(unknown: UnknownSubmission, key: string): Promise<boolean>;
  removeUnknowns(items: readonly UnknownSubmission[]): Promise<void>;
  /**
   * Parks receipts durably. The first retry of a receipt is due at once, or `waitMs` after the receipt came. Its first
   * match by recipient and sender is due `partiesAfterMs` after it came.
   */
  park(
    receipts: readonly IncomingReceipt[],
    nowMs: number,
    partiesAfterMs: (connectorId: string) => number,
    waitMs?: number,
  ): Promise<void>;
  /** Parked receipts that may belong to these submissions. */
  findParked(names: readonly string[]): Promise<ParkedReceipt[]>;
  /**
   * Takes parked receipts that are due and schedules their next retry. One process takes each receipt: two
   * processes that match one receipt without an id would count it for two parts of its message.
   */
  takeDueParked(nowMs: number, max: number): Promise<ParkedReceipt[]>;
  removeParked(ids: readonly string[]): Promise<void>;
  /** Moves parked receipts to the unmatched ones, which operators can list for three days. */
  giveUpParked(receipts: readonly ParkedReceipt[]): Promise<void>;
  countParked(): Promise<number>;
  /** The newest unmatched receipts. */
  listUnmatched(max: number): Promise<UnmatchedReceipt[]>;
};

/** The leases of one process on binds; the implementation is `store/bind-leases.ts`. */
export type BindLeases = {
  /** Live carrier processes, this one included. */
  readonly replicas: number;
  /**
   * Renews the leases that this process holds and takes free ones, up to its fair share of the wanted binds of
   * each connector. Returns the indexes that this process may open. It releases the surplus, except binds for
   * which `isLinked` is true: a later call releases those, when their links are closed.
   */
  sync(
    wanted: ReadonlyMap<string, number>,
    isLinked?: (connectorId: string, index: number) => boolean,
  ): Promise<ReadonlyMap<string, number[]>>;
  /** Turns false shortly before unrenewed leases end. */
  readonly isValid: boolean;
  releaseAll(): Promise<void>;
};

/** Keeps the submits of one connector within its rate, over all binds and replicas. */
export type RateLimiter = {
  /** Requests permits for at most `wanted` submits. Use them at once or not at all. */
  acquire(wanted: number): Promise<Grant>;
};

/** Trace spans of submits. */
export type SubmitSpans = {
  /** Opens the span of one submit; undefined when the message is not traced. */
  open(
    message: ClaimedMessage,
    connectorId: string,
    partIndex: number,
    nowMs: number,
  ): { end(outcome: PartOutcome): void } | undefined;
};
