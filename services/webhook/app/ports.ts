/** What the use cases need from the outside; the stores and the sender provide it. */
import type { Attempt, Claimed, Delivery, DeliveryStatus, Outcome } from "../domain/delivery.ts";
import type { ChangedEndpoint, Endpoint } from "../domain/endpoint.ts";

/** A delivery to be stored. */
export type NewDelivery = {
  readonly id: string;
  readonly tenantId: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly body: string;
  readonly attemptsLeft: number;
  /** The time inside the id; what the log is filtered by. */
  readonly createdAtMs: number;
  /** When the event became known; an endpoint enabled later drops it. */
  readonly activatedAtMs: number;
  /** W3C traceparent of the event, when it is traced. */
  readonly trace?: string | undefined;
  readonly redacts?: boolean | undefined;
  /** Leased to this process from the start, or due for whoever claims it. */
  readonly lease: Lease | undefined;
  readonly dueAtMs: number;
  /** What its first attempt led to, when it was made before this. */
  readonly result?: Settlement | undefined;
};

/** Until when a process alone may work on a delivery. */
export type Lease = { readonly id: string; readonly untilMs: number };

/** An event that can never be stored, because no body can be made of it. */
export class UndeliverableError extends Error {
  override readonly name = "UndeliverableError";
}

/** What became of storing one delivery. */
export type Inserted = "stored" | "known" | Error;

/** What is written after an attempt. */
export type Settlement = {
  readonly claimed: Claimed;
  /** Absent when no request was made, because the endpoint is off or gone. */
  readonly attempt: Attempt | undefined;
  readonly outcome: Outcome;
  readonly atMs: number;
};

/** An endpoint with deliveries waiting, and when its first one is due. */
export type DueEndpoint = { readonly endpointId: string; readonly firstDueAtMs: number };

/** How many due deliveries of an endpoint to take. */
export type ClaimRequest = { readonly endpointId: string; readonly max: number };

/** Deliveries at work. */
export type DeliveryQueue = {
  /** Stores deliveries; answers for each in order. One already there is left as it is. */
  insert(deliveries: readonly NewDelivery[]): Promise<readonly Inserted[]>;
  /** Endpoints whose first pending delivery is due by then, earliest first. */
  findDueEndpoints(byMs: number): Promise<readonly DueEndpoint[]>;
  /**
   * Leases deliveries to this process, oldest first within an endpoint: those that nobody works on and
   * that are due by `byMs`, and those whose lease is over by `nowMs`.
   */
  claim(
    requests: readonly ClaimRequest[],
    lease: Lease,
    nowMs: number,
    byMs: number,
  ): Promise<Claimed[]>;
  /** Writes what attempts led to; answers how many leases had been lost meanwhile. */
  settle(settlements: readonly Settlement[]): Promise<number>;
  /** Lengthens the leases that are still held; answers the ids of those. */
  renew(claimed: readonly Claimed[], untilMs: number): Promise<ReadonlySet<string>>;
  /** Gives leases back: the deliveries are due again, now or when they were to be. */
  release(claimed: readonly Claimed[], nowMs: number): Promise<void>;
  /** As `release`, for what an earlier run of this instance had leased, for `leaseMs` at most. */
  releaseOwn(nowMs: number, leaseMs: number): Promise<number>;
  /**
   * Drops an endpoint's deliveries that nobody is working on; of an endpoint that was disabled, those
   * activated by then: it may have been enabled again, and have new ones.
   */
  dropWaiting(endpointId: string, nowMs: number, disabledAtMs?: number): Promise<number>;
};

/** How a log page is asked for. */
export type DeliveryFilter = {
  readonly tenantId: string;
  readonly endpointId: string;
  readonly statuses: readonly DeliveryStatus[];
  readonly eventType: string;
  /** 0 means open. */
  readonly createdAfterMs: number;
  readonly createdBeforeMs: number;
  readonly limit: number;
  /** Empty for the first page. */
  readonly beforeId: string;
};

/** Deliveries as the log shows them. */
export type DeliveryLog = {
  list(filter: DeliveryFilter): Promise<{ deliveries: Delivery[]; hasMore: boolean }>;
  get(tenantId: string, endpointId: string, deliveryId: string): Promise<Delivery | undefined>;
};

/** Endpoints at rest. */
export type EndpointStore = {
  /** The enabled endpoints of these tenants. */
  findEnabled(tenantIds: readonly string[]): Promise<readonly Endpoint[]>;
  findByIds(ids: readonly string[]): Promise<readonly Endpoint[]>;
  get(tenantId: string, endpointId: string): Promise<Endpoint | undefined>;
  list(tenantId: string): Promise<Endpoint[]>;
  /** Saves a change of the version before it; answers false when someone else was first. */
  save(changed: ChangedEndpoint): Promise<boolean>;
  delete(tenantId: string, endpointId: string): Promise<boolean>;
};

/** Counts of what happens, without tenants in the labels. */
export type WebhookEvents = {
  onStored(count: number): void;
  onAttempt(outcome: string, durationMs: number): void;
  onFinal(status: DeliveryStatus): void;
  onLeaseLost(count: number): void;
  onDisabled(): void;
};
