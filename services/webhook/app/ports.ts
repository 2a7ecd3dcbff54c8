/** The ports of the use cases: stores, the HTTP client, spans, alerts and metrics. */
import type {
  Attempt,
  Claimed,
  Delivery,
  DeliveryStatus,
  NextState,
  RequestResult,
} from "../domain/delivery.ts";
import type { ChangedEndpoint, Endpoint, EndpointKey } from "../domain/endpoint.ts";
import type { Target } from "../domain/url-rules.ts";

/** A delivery to be stored. */
export type NewDelivery = {
  readonly id: string;
  readonly tenantId: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly body: string;
  readonly attemptsLeft: number;
  /** The time inside the id; the log filters by it. */
  readonly createdAtMs: number;
  /** When the event was recorded; an endpoint enabled later drops it. */
  readonly activatedAtMs: number;
  /** W3C traceparent of the event, when it is traced. */
  readonly trace?: string | undefined;
  readonly redacts?: boolean | undefined;
  /** The message that its event is about. */
  readonly messageId?: string | undefined;
  /** Leased to this process from the start; undefined when any process may claim it. */
  readonly lease: Lease | undefined;
  readonly dueAtMs: number;
  /** The result of its first attempt, when that was made before the delivery is stored. */
  readonly result?: AttemptResult | undefined;
};

/** The right of one process to work on a delivery until a time. */
export type Lease = { readonly id: string; readonly untilMs: number };

/** An event that can never be stored, because its body cannot be rendered. */
export class UndeliverableError extends Error {
  override readonly name = "UndeliverableError";
}

/** The result of storing one delivery; `known` means that it was stored before. */
export type Inserted = "stored" | "known" | Error;

/** The result of one attempt, with the next state of its delivery. */
export type AttemptResult = {
  readonly claimed: Claimed;
  /** Undefined when no request was made, because the endpoint is disabled or deleted. */
  readonly attempt: Attempt | undefined;
  readonly next: NextState;
  readonly atMs: number;
};

/** An endpoint with pending deliveries, and when its first one is due. */
export type DueEndpoint = { readonly endpointId: string; readonly firstDueAtMs: number };

/** How many due deliveries of an endpoint to claim. */
export type ClaimRequest = { readonly endpointId: string; readonly max: number };

/** The queue of pending deliveries. */
export type DeliveryQueue = {
  /** Stores deliveries; returns one result each, in order. A stored one is left unchanged. */
  insert(deliveries: readonly NewDelivery[]): Promise<readonly Inserted[]>;
  /** Endpoints whose first pending delivery is due by then, earliest first. */
  findDueEndpoints(byMs: number): Promise<readonly DueEndpoint[]>;
  /**
   * Leases deliveries to this process, oldest first within an endpoint: those without a lease that
   * are due by `byMs`, and those whose lease ended by `nowMs`.
   */
  claim(
    requests: readonly ClaimRequest[],
    lease: Lease,
    nowMs: number,
    byMs: number,
  ): Promise<Claimed[]>;
  /** Writes the results of attempts; returns how many leases had ended meanwhile. */
  writeResults(results: readonly AttemptResult[]): Promise<number>;
  /** Extends the leases that are still held; returns the ids of those. */
  renew(claimed: readonly Claimed[], untilMs: number): Promise<ReadonlySet<string>>;
  /** Ends leases: the deliveries are due again, at their old due time but not before now. */
  release(claimed: readonly Claimed[], nowMs: number): Promise<void>;
  /** Ends the leases that an earlier run of this instance held, each at most `leaseMs` long. */
  releaseOwn(nowMs: number, leaseMs: number): Promise<number>;
  /**
   * Drops the deliveries of an endpoint that have no lease. With `disabledAtMs`, drops only those
   * activated by then: the endpoint may be enabled again, with new deliveries.
   */
  dropWaiting(endpointId: string, nowMs: number, disabledAtMs?: number): Promise<number>;
};

/** The filter of one page of the log. */
export type DeliveryFilter = EndpointKey & {
  readonly statuses: readonly DeliveryStatus[];
  readonly eventType: string;
  /** Bounds of the creation time; 0 means no bound. */
  readonly createdAfterMs: number;
  readonly createdBeforeMs: number;
  readonly limit: number;
  /** Empty for the first page. */
  readonly beforeId: string;
};

/** The delivery log. */
export type DeliveryLog = {
  list(filter: DeliveryFilter): Promise<{ deliveries: Delivery[]; hasMore: boolean }>;
  get(
    tenantId: string,
    endpointId: string,
    deliveryId: string,
    withBody?: boolean,
  ): Promise<Delivery | undefined>;
  /** The deliveries of one message's events, oldest first; at most `limit`. */
  ofMessage(tenantId: string, messageId: string, limit: number): Promise<Delivery[]>;
};

/** Stored endpoints. */
export type EndpointStore = {
  /** The enabled endpoints of these tenants. */
  findEnabled(tenantIds: readonly string[]): Promise<readonly Endpoint[]>;
  findByIds(ids: readonly string[]): Promise<readonly Endpoint[]>;
  get(key: EndpointKey): Promise<Endpoint | undefined>;
  list(owner: Omit<EndpointKey, "endpointId">): Promise<Endpoint[]>;
  /** Saves a change if the stored version is the one before it; returns whether it did. */
  save(changed: ChangedEndpoint): Promise<boolean>;
  delete(key: EndpointKey): Promise<boolean>;
};

/** Counts what happens to deliveries. No label names a tenant: their number has no limit. */
export type DeliveryMetrics = {
  onStored(count: number): void;
  onAttempt(resultClass: string, durationMs: number): void;
  onFinal(status: DeliveryStatus): void;
  onLeaseLost(count: number): void;
  onDisabled(): void;
};

/** One request to an endpoint. */
export type WebhookRequest = {
  readonly endpointId: string;
  readonly target: Target;
  /** All headers but `Host`, `Content-Length` and `Connection`, which the client adds. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as UTF-8. Text leaves in one write with the headers; bytes would need two. */
  readonly body: string;
  readonly timeoutMs: number;
};

/** Makes requests to endpoints. Every fault of the network or the receiver is a result. */
export type HttpClient = {
  /**
   * Returns `undefined` when the endpoint was stopped before the request was written. Rejects when
   * a path or header cannot be sent, which is a mistake in this program.
   */
  send(request: WebhookRequest): Promise<RequestResult | undefined>;
  /**
   * Ends the requests of an endpoint that are not written yet: resolving a name and connecting may
   * take seconds, and nothing may leave after the endpoint was disabled. Requests that were written
   * still get their response.
   */
  stop(endpointId: string): void;
  close(): void;
};

/** The span of one attempt. */
export type AttemptSpan = {
  /** W3C traceparent for the request's header. */
  readonly traceparent: string;
  /** Ends the span with the request's result; without one the request was not made. */
  end(result: RequestResult | undefined): void;
};

/** Opens spans of attempts; returns `undefined` for events that are not traced. */
export type AttemptTracer = {
  start(claimed: Claimed, nowMs: number): AttemptSpan | undefined;
};

/** An alert for operators about an endpoint. */
export type OperatorAlert = {
  readonly kind: "endpoint_failing" | "endpoint_disabled";
  readonly tenantId: string;
  readonly endpointId: string;
  readonly reason: string;
  readonly atMs: number;
};

/** Sends alerts to operators. */
export type OperatorAlerts = { send(alert: OperatorAlert): void };

/** Publishes to other replicas that an endpoint was disabled or deleted. Messages may be lost. */
export type StopPublisher = { publish(endpointId: string): void };

/** Stops the requests of a disabled or deleted endpoint that have not left, on every replica. */
export type EndpointStopper = { stop(endpointId: string): void };
