/** The records of a webhook storm, the input of its checks, and their result. */
import type { Request } from "../support/webhook-receiver-process.ts";

/**
 * An endpoint's behaviour. `disabled` ones are good and disabled for a while. `drip` ones respond 200 and
 * never end their body, which is success.
 */
export type EndpointKind = "ok" | "disabled" | "hang" | "fail" | "reset" | "drip";

/** One endpoint of a storm. */
export type EndpointRecord = {
  readonly id: string;
  readonly tenantId: string;
  readonly path: string;
  readonly kind: EndpointKind;
  /**
   * The first call to disable it and its response, and the same for enabling it; 0 if never. A call may take
   * effect long before its response, because its process may be killed and the call repeated.
   */
  disableAskedMs: number;
  disabledAtMs: number;
  enableAskedMs: number;
  enabledAtMs: number;
};

/** A period of an outage. */
export type Outage = { readonly fromMs: number; readonly toMs: number };

/** The faults and their times. */
export type Storm = {
  /** From each kill until the next process was ready. */
  readonly kills: Outage[];
  /** From each server's stop until it served again. */
  readonly stops: Outage[];
  readonly events: { readonly id: string; readonly endpointId: string; readonly atMs: number }[];
};

/** A stored delivery. */
export type LoggedDelivery = {
  readonly _id: string;
  readonly endpoint_id: string;
  readonly event_id: string;
  readonly status: string;
  readonly attempts: readonly {
    readonly number: number;
    readonly started_at: Date;
    readonly duration_ms: number;
    readonly http_status: number;
    readonly error: string;
  }[];
};

/** The inputs of the checks. */
export type Evidence = {
  readonly endpoints: readonly EndpointRecord[];
  readonly storm: Storm;
  readonly requests: readonly Request[];
  readonly deliveries: readonly LoggedDelivery[];
  readonly overlaps: number;
  readonly retryDelaysMs: readonly number[];
  readonly timeoutMs: number;
  /** How late a retry may be. */
  readonly lateMsMax: number;
};

/** The result of a storm; `faults` is empty when every promise held. */
export type ChaosReport = {
  readonly faults: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
};
