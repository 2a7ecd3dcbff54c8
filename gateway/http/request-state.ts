import type { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import type { OpenSpan } from "../../services/shared/io/tracing.ts";
import type { PathMatch } from "../operations/operation-table.ts";
import type { BodyReservation } from "./body-budget.ts";

/** Who is calling: the key and its tenant, as last confirmed by the tenant service. */
export type Caller = {
  readonly keyId: string;
  readonly tenantId: string;
  readonly mode: Mode.LIVE | Mode.TEST;
  readonly scopes: ReadonlySet<string>;
  readonly allowsAddress: (address: string) => boolean;
  readonly isSuspended: boolean;
  readonly isEmailVerified: boolean;
  readonly rateLimit: number;
  readonly burst: number;
  readonly bulkMax: number;
  readonly currency: string;
};

/** What middleware leaves on `context.state` for those after it. */
export type RequestState = {
  requestId: string;
  startedMs: number;
  /** The target's path and query string, as sent. */
  path: string;
  query: string;
  /** What the path stands for, before anything is known of the caller. */
  match: PathMatch | undefined;
  /** The request's span; undefined with traces off. */
  span?: OpenSpan | undefined;
  /** The raw body; empty when there was none. */
  bodyBytes: Buffer;
  /** What the body counts for among all that are kept. */
  bodyReservation?: BodyReservation;
  /** Set once the request counts as one in progress. */
  isCountedIn: boolean;
  /** Set once the caller is known. */
  caller?: Caller;
};
