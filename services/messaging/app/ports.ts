/** The ports of the use cases: stores, other services, encoders. */
import type { AuditChange, AuditSource } from "../../shared/core/audit.ts";
import type { MessageStatus } from "../../shared/core/message-status.ts";
import type { TrafficClass } from "../../shared/core/traffic-class.ts";
import type { RouteTable } from "../../shared/routes/route-table.ts";
import type { Draft } from "../domain/build-messages.ts";
import type {
  Claim,
  Message,
  MessageMode,
  OpenSpan,
  PriorityClass,
  StatusEvent,
} from "../domain/message.ts";
import type { CheckedMessage, MessageCharge } from "../domain/message-invariants.ts";
import type { QuietHours } from "../domain/quiet-hours.ts";
import type { SendRequest } from "../domain/send-request.ts";
import type { UsageDimension, UsageGroup } from "../domain/usage.ts";

/** The record of an accepted send, or of a cancel made under an idempotency key. */
export type SendRecord = {
  /** The reservation's id; for a send without a hold, the send's own. */
  readonly id: string;
  readonly tenantId: string;
  readonly firstMessageId: string | undefined;
  readonly lastMessageId: string | undefined;
  /** The scope of the idempotency key; undefined without a key. */
  readonly key: string | undefined;
  readonly fingerprint: Uint8Array;
  /** The first response, encoded, for replays; empty without a key. */
  readonly response: Uint8Array;
  readonly keepMs: number;
  /** The id of an expired record with the same key, to be deleted first. */
  readonly replaces: string | undefined;
};

/** A send ready to be committed: its record and all its messages. */
export type AcceptedSend = {
  readonly record: SendRecord;
  readonly messages: readonly Message[];
};

/** The record of an idempotency key. */
export type StoredSend = {
  readonly id: string;
  readonly fingerprint: Uint8Array;
  readonly expiresAtMs: number;
};

/** The properties of a tenant that messaging needs. */
export type TenantFacts = {
  readonly id: string;
  readonly suspended: boolean;
  readonly emailVerified: boolean;
  readonly recipientsMax: number;
  readonly currency: string;
  readonly plan: string;
  readonly redactBodies: boolean;
  readonly rejectsInQuietHours: boolean;
};

/** A sender ID that can be used now. */
export type UsableSender = {
  /** The registered spelling. */
  readonly name: string;
  readonly trafficClass: TrafficClass;
};

/** The suppressed numbers of a tenant; the sender is in lower case. */
export type SuppressionTable = { has(number: string, sender: string): boolean };

/** The filters of a list; `undefined` and empty lists mean any. */
export type ListFilter = {
  readonly tenantId: string;
  readonly mode: MessageMode | undefined;
  readonly statuses: readonly Message["status"][];
  readonly sources: readonly Message["source"][];
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly clientReference: string | undefined;
  readonly campaignId: string | undefined;
  readonly createdAfterMs: number | undefined;
  readonly createdBeforeMs: number | undefined;
  readonly beforeId: string | undefined;
};

/** Funds to be held for one send. */
export type Hold = {
  readonly tenantId: string;
  readonly reservationId: string;
  readonly amount: bigint;
  readonly messageCount: number;
  readonly firstMessageId: string;
  readonly lastMessageId: string;
  /** The campaign of the send, for the statement; empty for none. */
  readonly campaignId: string;
};

/** Calls to other services. Each throws `service_unavailable` when the service is down. */
export type ServiceClients = {
  /** Undefined when there is no such tenant. */
  tenant(tenantId: string): TenantFacts | undefined | Promise<TenantFacts | undefined>;
  /** The sender ID, when the tenant may send from that name now. */
  usableSender(
    tenantId: string,
    name: string,
  ): UsableSender | undefined | Promise<UsableSender | undefined>;
  /** The suppressions of a tenant; `large` when there are too many for a table: use `checkSuppressed`. */
  suppressions(tenantId: string): SuppressionTable | "large" | Promise<SuppressionTable | "large">;
  /** Returns the suppressed ones of these numbers, for a sender ID in lower case. */
  checkSuppressed(
    tenantId: string,
    sender: string,
    numbers: readonly string[],
  ): Promise<ReadonlySet<string>>;
  routeTable(): RouteTable;
  /** The current quiet hours, the same object until the rules change. Available without the routing service. */
  quietHours(): QuietHours;
  /** Throws `insufficient_balance`. An unknown outcome is `service_unavailable`. */
  placeHold(hold: Hold): Promise<void>;
  /** Places several holds in one call. Never rejects. */
  placeHolds(holds: readonly Hold[]): HoldResults;
  releaseReservation(tenantId: string, reservationId: string): Promise<void>;
};

/** The error of each hold of a batch; undefined for a hold that was placed. Never rejects. */
export type HoldResults = Promise<readonly (Error | undefined)[]>;

/**
 * Why a send of a batch is not committed:
 * - an error: the wallet refused its hold.
 * - `hold_late`: the wallet has not answered in time; the send leaves the batch.
 * - `given_up`: the caller no longer waits, so the send must not happen.
 * - `duplicate`: the reservation has a tombstone, or another request holds the key.
 */
export type Refusal = Error | "hold_late" | "given_up" | "duplicate";

/** A lock on the idempotency key of a running request. */
export type KeyLock = {
  readonly key: string;
  /** Only the owner releases its lock. */
  readonly owner: string;
  readonly fingerprint: Uint8Array;
  readonly untilMs: number;
};

/** The store of sends and of their idempotency keys. */
export type SendStore = {
  /**
   * Commits sends with their messages in one transaction. The store writes while `admit` is pending and commits
   * when it resolves; `admit` is called again before each further attempt. A refused send fails alone. Returns
   * one refusal or undefined per item, never before `admit` has resolved.
   */
  commit(
    items: readonly AcceptedSend[],
    admit: () => Promise<readonly (Refusal | undefined)[]>,
    nowMs: number,
  ): Promise<(Refusal | undefined)[]>;
  /** The record of each idempotency key, expired ones included. */
  findByKeys(keys: readonly string[]): Promise<Map<string, StoredSend>>;
  /** The stored responses of sends, by id. Up to megabytes each, so request a few at a time. */
  readResponses(ids: readonly string[]): Promise<Map<string, Uint8Array>>;
  /**
   * Writes tombstones under the keys of refused requests: afterwards no earlier request can store anything under
   * them, not even one that is committing. Returns the live records of keys that have one; those stay as they are.
   */
  closeKeys(keys: readonly string[], nowMs: number): Promise<Map<string, StoredSend>>;
  /** Which of these reservations have a send or a tombstone. */
  findByIds(ids: readonly string[]): Promise<Map<string, "sent" | "tombstone">>;
  /** Writes a tombstone unless the send exists; returns which of the two exists now. */
  putTombstone(id: string, nowMs: number): Promise<"sent" | "tombstone">;
  /** Locks a key for a request whose caller holds no lock on it. */
  takeLock(lock: KeyLock, nowMs: number): Promise<"taken" | "running" | "reused">;
  releaseLock(lock: KeyLock): Promise<void>;
  /** About how many records there are. */
  count(): Promise<number>;
  /** Deletes a limited number of records expired by `nowMs`, of ids older than `olderThanMs`; returns how many. */
  deleteExpired(nowMs: number, olderThanMs: number): Promise<number>;
};

/** A status change to publish, with the W3C traceparent of the call that caused it. */
export type CausedEvent = {
  readonly event: StatusEvent;
  readonly traceparent: string | undefined;
};

/** A changed message: as it was loaded, and as it is to be stored. */
export type MessageChange = { readonly before: Message; readonly after: Message };

/** Everything that one transaction of changes writes. */
export type ChangeSet = {
  readonly changes: readonly MessageChange[];
  readonly events: readonly CausedEvent[];
  /** Idempotency records of cancels. */
  readonly records: readonly SendRecord[];
  /** Audit entries of cancels. */
  readonly audits?: readonly Audited[];
};

/** A change that a call made, and the source of the call. */
export type Audited = { readonly change: AuditChange; readonly source: AuditSource };

/** A message whose state ends by time. Only a hint: the transaction that changes it reads it again. */
export type DueMessage = Pick<
  Message,
  "id" | "tenantId" | "from" | "to" | "status" | "trafficClass"
>;

/** The store of messages, without the queue (`queue.ts`) and the lists (`lists.ts`). */
export type MessageStore = {
  find(id: string): Promise<Message | undefined>;
  /** The charges of the messages of these ids that exist, in any order; at most 1,000 ids. */
  findCharges(ids: readonly string[]): Promise<MessageCharge[]>;
  /**
   * The charges of a tenant's messages under one hold, with ids in a closed range, in order of id; at most `limit`.
   * `omitWaiting` leaves out queued and scheduled messages.
   */
  findReserved(
    tenantId: string,
    reservationId: string,
    range: { readonly firstId: string; readonly lastId: string },
    options: { readonly limit: number; readonly omitWaiting?: boolean },
  ): Promise<MessageCharge[]>;
  /**
   * Reads messages, calls `decide`, and writes its changes, events and records in one transaction. When
   * another writer changes a message meanwhile, the store reads again and calls `decide` again; it writes the
   * last result. When another request holds the key of a record, the store writes nothing and returns the
   * position of that record.
   */
  change(
    ids: readonly string[],
    decide: (loaded: readonly Message[]) => ChangeSet,
    nowMs: number,
  ): Promise<number | undefined>;
  /** Due messages, longest overdue first, optionally only of these statuses. */
  findDue(nowMs: number, limit: number, statuses?: readonly MessageStatus[]): Promise<DueMessage[]>;
  /**
   * Messages whose quiet hours have ended, those of the earliest end first, with an equal share for each tenant; at
   * most about `limit`.
   */
  findQuiet(nowMs: number, limit: number): Promise<DueMessage[]>;
  /** Lets every message in quiet hours be checked again at an instant, because the rules have changed. */
  endQuietAt(nowMs: number): Promise<void>;
  /** The number of messages that wait for the end of quiet hours, at most `max`. */
  countQuiet(max: number): Promise<number>;
  /** Message ids of a campaign after an id, in order, optionally only of these statuses. */
  findCampaign(
    tenantId: string,
    campaignId: string,
    page: { readonly afterId: string; readonly statuses: readonly MessageStatus[] | undefined },
    limit: number,
  ): Promise<string[]>;
  /** Deletes a limited number of messages created before an instant; returns how many. */
  deleteBefore(beforeMs: number): Promise<number>;
  /** Deletes a limited number of each tenant's test messages that were final before an instant; returns how many. */
  deleteTestBefore(beforeMs: number): Promise<number>;
};

/** One queue's figures, for scaling and operators. */
export type QueueFigures = {
  readonly connectorId: string;
  readonly waiting: number;
  readonly sending: number;
  /**
   * When the oldest waiting message began to wait, in milliseconds since 1970; a scheduled one at its due time,
   * one that was in quiet hours at their end.
   */
  readonly oldestMs: number | undefined;
};

/** A scan of some tenants' messages in a queue, from an id on; an empty id means from the start. */
export type QueueScan = {
  readonly tenantIds: readonly string[];
  readonly fromId: string;
  readonly nowMs: number;
  readonly limit: number;
  /** Only messages that no carrier has put off. */
  readonly isFresh?: boolean;
};

/** A read of messages by id that should wait in a queue. */
export type QueueQuery = {
  readonly connectorId: string;
  readonly priority: PriorityClass;
  readonly ids: readonly string[];
  readonly nowMs: number;
};

/** Messages of a queue that a claim is to move to sending. */
export type ClaimBatch = {
  readonly connectorId: string;
  readonly priority: PriorityClass;
  readonly found: readonly Message[];
  readonly claim: Claim;
  readonly spanOf: (message: Message) => OpenSpan | undefined;
};

/** The queues of connectors, and the claims of carriers. */
export type QueueStore = {
  /** Names of queues that are not empty (`queueName`, `sendingName`); one index seek each. */
  queueNames(): Promise<string[]>;
  /** The tenants with messages in a queue; one index seek each. */
  waitingTenants(connectorId: string, priority: PriorityClass): Promise<string[]>;
  /** Messages of tenants that may be claimed now, tenant by tenant, each one's oldest first. */
  findWaiting(connectorId: string, priority: PriorityClass, scan: QueueScan): Promise<Message[]>;
  /** For each query, those of its messages that wait in its queue and are due; one database query for all. */
  findByIds(queries: readonly QueueQuery[]): Promise<Message[][]>;
  /**
   * Moves the messages that still wait to `sending`, with one statement per batch; returns the moved messages of
   * each batch. Idempotent.
   */
  claim(batches: readonly ClaimBatch[]): Promise<Message[][]>;
  /** Names of the queues in which a carrier is sending messages (`sendingName`). */
  sendingNames(carrierId: string): Promise<string[]>;
  /** Messages that are being sent under these names, in order of id, after an id. */
  findSending(names: readonly string[], afterId: string, limit: number): Promise<Message[]>;
  /** The number of waiting messages of a connector and priority class, at most `max`. */
  countIn(connectorId: string, priority: PriorityClass, max: number): Promise<number>;
  figures(): Promise<QueueFigures[]>;
  /** Stores a heartbeat of a carrier. */
  beat(carrierId: string, nowMs: number): Promise<void>;
  /** Carriers whose last heartbeat was before an instant. */
  carriersReportedBefore(beforeMs: number): Promise<string[]>;
  /** Deletes a carrier unless it has sent a heartbeat since. */
  forgetCarrier(carrierId: string, beforeMs: number): Promise<void>;
};

/** A page of a list. */
export type ListPage = {
  readonly messages: readonly Message[];
  readonly hasMore: boolean;
  /** The id before which the next page begins; undefined when it is the id of this page's last message. */
  readonly nextBeforeId?: string | undefined;
};

/** Ordered reads over many messages. */
export type MessageLists = {
  /**
   * Newest first; at most `size` messages, fewer when their texts are very long. With `allowsShort` a page is also
   * shorter, or empty, when its filters match few of very many messages.
   */
  page(
    filter: ListFilter,
    size: number,
    options: { readonly allowsShort: boolean },
  ): Promise<ListPage>;
  /** Ids of tenants that have messages, in order, after an id; at most `limit`. */
  tenantsAfter(tenantId: string, limit: number): Promise<string[]>;
};

/** All messages at one instant, of one tenant or of all, oldest first, in chunks. */
export type MessageSnapshot = {
  messages(tenantId: string | undefined): AsyncIterable<readonly CheckedMessage[]>;
  charges(tenantId: string | undefined): AsyncIterable<readonly MessageCharge[]>;
  close(): Promise<void>;
};

/** The trace of the call that is being served. */
export type CallTrace = {
  /** The W3C traceparent of the trace; undefined outside a call. */
  current(): string | undefined;
  /** The same traceparent, only if the trace is recorded; messages store this one. */
  recorded(): string | undefined;
};

/** Encodes the responses that are stored under idempotency keys and replayed. */
export type ResponseEncoder = {
  send(request: SendRequest, draft: Draft): Uint8Array;
  cancel(message: Message): Uint8Array;
};

/** Event batches that are committed and not yet published. */
export type EventBacklog = {
  /** The number of these batches, and the age of the oldest in milliseconds. */
  backlog(): Promise<{ readonly count: number; readonly oldestMs: number }>;
};

/** A query of the counts of messages. */
export type UsageQuery = {
  readonly tenantId: string;
  readonly mode: MessageMode;
  /** The range of creation times, from `fromMs` and before `toMs`, in whole quarter hours. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly groupBy: readonly UsageDimension[];
  /** The time zone in which days and hours begin. */
  readonly timeZone: string;
  readonly nowMs: number;
};

/** The answer: the counts contain every change made until `asOfMs`. */
export type UsageResult = { readonly groups: readonly UsageGroup[]; readonly asOfMs: number };

/** The counts of messages. */
export type UsageStore = {
  /** Counts appended changes; returns whether more wait. Throws `conflict` when another process counts them. */
  fold(): Promise<boolean>;
  /** Throws `validation_error` for an unknown time zone, and for too many groups. */
  query(query: UsageQuery): Promise<UsageResult>;
};
