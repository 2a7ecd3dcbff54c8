/** What the use cases need of the world: their stores, and the other services. */
import type { MessageStatus } from "../../shared/core/message-status.ts";
import type { IdempotencyLock, LockResult } from "../../shared/io/idempotency-locks.ts";
import type { StreamItem } from "../../shared/io/publisher.ts";
import type { RouteTable } from "../../shared/routes/route-table.ts";
import type { Claim, Message, MessageMode, PriorityClass } from "../domain/message.ts";
import type { CheckedMessage, MessageCharge } from "../domain/message-invariants.ts";

/** The record of an accepted send, or of a cancel made under an idempotency key. */
export type SendRecord = {
  /** The reservation's id; for a send without a hold, the send's own. */
  readonly id: string;
  readonly tenantId: string;
  readonly firstMessageId: string | undefined;
  readonly lastMessageId: string | undefined;
  /** Tenant | endpoint | key; undefined without a key. */
  readonly key: string | undefined;
  readonly fingerprint: Uint8Array;
  /** The first answer, encoded, for replays; empty without a key. */
  readonly response: Uint8Array;
  readonly keepMs: number;
  /** The id of an expired record of the same key, which stands in the way and is to be deleted. */
  readonly replaces: string | undefined;
};

/** A send ready to be committed: its record and all its messages. */
export type AcceptedSend = {
  readonly record: SendRecord;
  readonly messages: readonly Message[];
};

/** What is kept under an idempotency key. */
export type StoredSend = {
  readonly id: string;
  readonly fingerprint: Uint8Array;
  readonly expiresAtMs: number;
};

/** What messaging needs to know of a tenant. */
export type TenantFacts = {
  readonly id: string;
  readonly suspended: boolean;
  readonly emailVerified: boolean;
  readonly recipientsMax: number;
  readonly currency: string;
  readonly plan: string;
  readonly redactBodies: boolean;
};

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
};

/** What messaging asks of other services. Each throws `service_unavailable` when they are away. */
export type ServiceClients = {
  /** Undefined when there is no such tenant. */
  tenant(tenantId: string): TenantFacts | undefined | Promise<TenantFacts | undefined>;
  /** The registered spelling, when the tenant may send from that name now. */
  usableSender(tenantId: string, name: string): string | undefined | Promise<string | undefined>;
  routeTable(): RouteTable;
  /** Throws `insufficient_balance`. An unknown outcome is `service_unavailable`. */
  placeHold(hold: Hold): Promise<void>;
  /** Places several in one call; answers each one's error. Never rejects. */
  placeHolds(holds: readonly Hold[]): HoldResults;
  releaseReservation(tenantId: string, reservationId: string): Promise<void>;
};

/** What becomes of each item of a batch: undefined lets it go on, an error ends it. Never rejects. */
export type HoldResults = Promise<readonly (Error | undefined)[]>;

/** An insert that met a unique index; `at` is the position of the document at fault. */
export class DuplicateDocument extends Error {
  readonly at: number;

  constructor(at: number) {
    super("a unique index refused a document");
    this.name = "DuplicateDocument";
    this.at = at;
  }
}

/** The store of sends and of their idempotency keys. */
export type SendStore = {
  /**
   * Commits sends with their messages in one transaction, which is written while the verdicts on
   * them are awaited, and stays open until they come; `judge` is asked again before each attempt
   * to commit. An item whose verdict is an error fails with that; one whose reservation was fenced
   * off, or whose key another send holds, fails alone with `DuplicateDocument`. Nothing is answered
   * before the verdicts are known.
   */
  commit(
    items: readonly AcceptedSend[],
    judge: () => HoldResults,
    nowMs: number,
  ): Promise<(undefined | Error)[]>;
  /** The send behind each idempotency key; expired ones are told apart by `expiresAtMs`. */
  findByKeys(keys: readonly string[]): Promise<Map<string, StoredSend>>;
  /** The stored answers of sends, by id: up to megabytes each, so a few at a time. */
  readResponses(ids: readonly string[]): Promise<Map<string, Uint8Array>>;
  /**
   * Closes keys whose requests are refused: after this, no request from before stores anything under
   * them, not even one whose commit is under way. Answers what is stored already, and stays open.
   */
  closeKeys(keys: readonly string[], nowMs: number): Promise<Map<string, StoredSend>>;
  /** Which of these reservations have a send or a tombstone. */
  findByIds(ids: readonly string[]): Promise<Map<string, "sent" | "fenced">>;
  /** Writes a tombstone unless the send exists; answers which of the two stands now. */
  fence(id: string, nowMs: number): Promise<"sent" | "fenced">;
  /** Takes the short lease of a running request's key, for callers that could not fence it themselves. */
  takeLock(fence: IdempotencyLock, nowMs: number): Promise<LockResult>;
  releaseLock(fence: IdempotencyLock): Promise<void>;
  /** About how many records there are. */
  count(): Promise<number>;
  /** Deletes records past their time, a bounded number; answers how many. */
  deleteExpired(nowMs: number, olderThanMs: number): Promise<number>;
};

/** A changed message: what was loaded, and what it is to become. */
export type MessageChange = { readonly before: Message; readonly after: Message };

/** Everything that one transaction of changes writes. */
export type ChangeSet = {
  readonly changes: readonly MessageChange[];
  readonly events: readonly StreamItem[];
  /** Idempotency records of cancels; a key that another request holds throws `DuplicateDocument`. */
  readonly records: readonly SendRecord[];
};

/**
 * A message whose state ends by time, and what must be asked about it first. Only a hint of what
 * to change: what is changed is read again in its transaction.
 */
export type DueMessage = Pick<Message, "id" | "tenantId" | "from" | "status">;

/** The store of messages, beside the queue (`queue.ts`) and the list (`lists.ts`). */
export type MessageStore = {
  find(id: string): Promise<Message | undefined>;
  /** The messages of a tenant that share a hold, whose ids lie in a closed range; at most `limit`. */
  findReserved(
    tenantId: string,
    reservationId: string,
    range: { readonly firstId: string; readonly lastId: string },
    limit: number,
  ): Promise<Message[]>;
  /**
   * Reads messages, lets `decide` say what becomes of them, and writes that with its events, all
   * in one transaction. Meets another hand's change by starting again, so `decide` may be called
   * more than once; what it said last is what was written.
   */
  change(
    ids: readonly string[],
    decide: (loaded: readonly Message[]) => ChangeSet,
    nowMs: number,
  ): Promise<void>;
  /** What ends by time, the longest overdue first; of these statuses only, where they are named. */
  findDue(nowMs: number, limit: number, statuses?: readonly MessageStatus[]): Promise<DueMessage[]>;
  /** Ids of a tenant's campaign after an id, in order. */
  findCampaign(
    tenantId: string,
    campaignId: string,
    afterId: string,
    limit: number,
  ): Promise<string[]>;
  /** Deletes messages made before an instant, a bounded number; answers how many. */
  deleteBefore(beforeMs: number): Promise<number>;
};

/** One queue's figures, for scaling and operators. */
export type QueueFigures = {
  readonly connectorId: string;
  readonly waiting: number;
  readonly sending: number;
  /** Since when the longest waiting one does, in milliseconds since 1970; a scheduled one since its time. */
  readonly oldestMs: number | undefined;
};

/** A look at the queues of tenants, from a message on; from the start when it is empty. */
export type QueueScan = {
  readonly tenantIds: readonly string[];
  readonly fromId: string;
  readonly nowMs: number;
  readonly limit: number;
};

/** Messages that are known by name to wait in a queue. */
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
};

/** The connectors' queues, and who is sending what. */
export type QueueStore = {
  /** Names of the queues that hold anything (`queueName`, `sendingName`); one index seek each. */
  queueNames(): Promise<string[]>;
  /** The tenants with messages in a queue; one index seek each. */
  waitingTenants(connectorId: string, priority: PriorityClass): Promise<string[]>;
  /** Messages of tenants that may be claimed now, tenant by tenant, each one's oldest first. */
  findWaiting(connectorId: string, priority: PriorityClass, look: QueueScan): Promise<Message[]>;
  /** Of each look, the messages that wait there and may be claimed; one query for all of them. */
  findByIds(looks: readonly QueueQuery[]): Promise<Message[][]>;
  /**
   * Moves those that still wait to sending, in one statement a taking; answers of each the ones that
   * moved. Repeated it answers the same.
   */
  claim(takings: readonly ClaimBatch[]): Promise<Message[][]>;
  /** Names under which a carrier is sending anything (`sendingName`). */
  sendingNames(carrierId: string): Promise<string[]>;
  /** Messages that are being sent under these names, in order of id, after one. */
  findSending(names: readonly string[], afterId: string, limit: number): Promise<Message[]>;
  /** How many messages wait in one lane of a connector, counted no further than `max`. */
  countIn(connectorId: string, priority: PriorityClass, max: number): Promise<number>;
  /** Every queue's figures. */
  figures(): Promise<QueueFigures[]>;
  /** Notes that a carrier is alive. */
  beat(carrierId: string, nowMs: number): Promise<void>;
  /** Carriers last heard before an instant. */
  carriersHeardBefore(beforeMs: number): Promise<string[]>;
  /** Forgets a carrier unless it has been heard since. */
  forgetCarrier(carrierId: string, beforeMs: number): Promise<void>;
};

/** Ordered reads over many messages. */
export type MessageLists = {
  /** Newest first; at most `size`, fewer when their texts are very long. */
  page(filter: ListFilter, size: number): Promise<{ messages: Message[]; hasMore: boolean }>;
};

/** All messages at one instant, of one tenant or of all, oldest first, in chunks. */
export type MessageSnapshot = {
  messages(tenantId: string | undefined): AsyncIterable<readonly CheckedMessage[]>;
  charges(tenantId: string | undefined): AsyncIterable<readonly MessageCharge[]>;
  close(): Promise<void>;
};
