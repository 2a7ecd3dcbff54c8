/** The ports of the use cases: the store, messaging and the wallet. */
import type { CampaignStatus, RowStatus } from "../../shared/core/campaign-status.ts";
import type { KeyedAnswer } from "../../shared/core/run-once.ts";
import type { Campaign, CampaignMode, PauseReason, Transition } from "../domain/campaign.ts";
import type { FeedResult, Row, RowError, RowState } from "../domain/row.ts";

/** The tenant and mode whose campaigns a caller sees; undefined means all. */
export type Scope = {
  readonly tenantId: string | undefined;
  readonly mode: CampaignMode | undefined;
};

/** All campaigns, for the service's own work. */
export const ANY_SCOPE: Scope = { tenantId: undefined, mode: undefined };

/** Rows that are fed in one request. */
export type Chunk = {
  readonly campaignId: string;
  readonly number: number;
  /** Places of its rows, rising. */
  readonly indexes: readonly number[];
  /** The most that its messages may hold; undefined without a budget. */
  readonly heldMax: bigint | undefined;
};

/** The stored state of a row, and the state that replaces it. */
export type RowChange = { readonly before: RowState; readonly after: RowState };

/** The reads and writes of one transaction. It has read the campaign already. */
export type CampaignTransaction = {
  readonly campaign: Campaign;
  /** States of the rows at these places, by place; a place without a row is left out. */
  statesByIndex(indexes: readonly number[]): Promise<Map<number, RowState>>;
  /** States of the rows with these numbers, by number; a number without a row is left out. */
  statesByNumber(numbers: readonly string[]): Promise<Map<string, RowState>>;
  firstWaiting(limit: number): Promise<Row[]>;
  /** States of the same rows, in the same order. */
  firstWaitingStates(limit: number): Promise<RowState[]>;
  insertRows(rows: readonly Row[]): Promise<void>;
  saveRows(changes: readonly RowChange[]): Promise<void>;
  /** Leaves all rows to `removeOld`; the campaign gets a new set of rows in this transaction. */
  discardRows(): Promise<void>;
  insertChunk(chunk: Chunk): Promise<void>;
};

/** The result of a transaction's work, and what it writes of the campaign; undefined changes nothing. */
export type Work<T> = {
  readonly result: T;
  readonly campaign?: Campaign | undefined;
  /** The change of state, for its event. */
  readonly transition?: Transition | undefined;
};

/** A page of campaigns, newest first. */
export type CampaignFilter = Scope & {
  readonly tenantId: string;
  readonly statuses: readonly CampaignStatus[];
  readonly limit: number;
  /** Empty for the first page. */
  readonly beforeId: string;
};

/** A page of rows, by place. */
export type RowFilter = {
  readonly rowSet: string;
  readonly statuses: readonly RowStatus[];
  readonly afterIndex: number;
  readonly limit: number;
};

/** Stored campaigns, rows and chunks. */
export type CampaignStore = {
  /** Throws `validation_error` when the tenant has `openMax` open campaigns in this mode. */
  create(campaign: Campaign, openMax: number, answer: KeyedAnswer | undefined): Promise<void>;
  find(scope: Scope, id: string): Promise<Campaign | undefined>;
  list(filter: CampaignFilter): Promise<Campaign[]>;
  rows(filter: RowFilter): Promise<Row[]>;
  rowsByNumber(rowSet: string, numbers: readonly string[]): Promise<Row[]>;
  /** In the order of their places. */
  rowsByIndex(rowSet: string, indexes: readonly number[]): Promise<Row[]>;
  chunk(campaignId: string, number: number): Promise<Chunk | undefined>;
  /**
   * Runs work in one transaction, with the event of its transition. The work may run more than once. Returns
   * undefined when the campaign does not exist.
   */
  transact<T>(
    id: string,
    work: (tx: CampaignTransaction) => Promise<Work<T>>,
  ): Promise<T | undefined>;
  /** Hides a draft; its rows are removed later. */
  hide(id: string): Promise<boolean>;
  /** Takes or extends leases on campaigns that have work; at most `limit`. */
  leaseWork(owner: string, nowMs: number, untilMs: number, limit: number): Promise<Campaign[]>;
  releaseLeases(owner: string): Promise<void>;
  /** Scheduled campaigns whose time has come. */
  findDue(nowMs: number, limit: number): Promise<string[]>;
  /** Campaigns that the service paused before an instant. */
  findPausedBefore(beforeMs: number, limit: number): Promise<string[]>;
  /**
   * Removes some of the rows that no call reads any more: discarded sets, and the rows and chunks of hidden campaigns
   * and of those that ended before that time. True when more is left.
   */
  removeOld(endedBeforeMs: number): Promise<boolean>;
};

/** A text for one recipient. */
export type RecipientText = {
  readonly to: string;
  readonly body: string;
  readonly clientReference: string | undefined;
};

/** A request to send to recipients of a campaign. */
export type ChunkRequest = {
  readonly campaign: Campaign;
  readonly key: string;
  readonly heldMax: bigint | undefined;
  readonly recipients: readonly RecipientText[];
};

/** Why messaging refuses a whole chunk. Nothing was queued, and nothing can be queued under its key any more. */
export type ChunkRefusal =
  | { readonly kind: "pause"; readonly reason: PauseReason }
  /** No recipient passes, or the chunk would hold more than its limit. */
  | { readonly kind: "refused" };

/** Messaging's answer to a chunk: a result for each recipient, in order. */
export type ChunkAnswer =
  | { readonly kind: "accepted"; readonly results: readonly FeedResult[] }
  | ChunkRefusal;

/** The cost of one recipient. */
export type Estimated = {
  readonly error: RowError | undefined;
  readonly segments: number;
  readonly held: bigint;
};

/** The total cost of several recipients. */
export type EstimatedSums = {
  readonly recipients: number;
  readonly segments: number;
  readonly held: bigint;
  readonly rejected: readonly RowError[];
};

/** The messaging service. Calls throw `AppError`. */
export type Messaging = {
  send(request: ChunkRequest): Promise<ChunkAnswer>;
  /**
   * The answer of a chunk that was queued; undefined when it was not, and then never will be. Throws `conflict` while
   * the chunk is being accepted.
   */
  close(request: ChunkRequest): Promise<readonly FeedResult[] | undefined>;
  /** Throws what a send would throw for its tenant or sender ID. */
  estimate(campaign: Campaign, recipients: readonly RecipientText[]): Promise<readonly Estimated[]>;
  /** The sums of `estimate`, which cost a fraction of it. */
  estimateSums(campaign: Campaign, recipients: readonly RecipientText[]): Promise<EstimatedSums>;
  /** Cancels the campaign's messages that wait; returns how many. */
  cancelWaiting(campaign: Campaign): Promise<number>;
  /** Sends test messages; `source` is `test_send`. */
  sendTest(
    campaign: Campaign,
    recipients: readonly RecipientText[],
    keyed: { readonly key: string; readonly fingerprint: Uint8Array },
  ): Promise<{ readonly results: readonly FeedResult[]; readonly replayed: boolean }>;
  /** The stored answer of a keyed test; undefined when there is none, and then never will be. */
  closeTest(
    campaign: Campaign,
    keyed: { readonly key: string; readonly fingerprint: Uint8Array },
  ): Promise<readonly FeedResult[] | undefined>;
};

/** The wallet service. */
export type Wallets = { available(tenantId: string): Promise<bigint> };

/** The tenant service. */
export type Tenants = {
  /** Throws `not_found`. */
  currencyOf(tenantId: string): Promise<string>;
};
