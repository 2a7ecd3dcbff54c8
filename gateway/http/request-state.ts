import type { OpenSpan } from "../../services/shared/io/tracing.ts";
import type { Caller } from "../auth/caller.ts";
import type { PathMatch } from "../operations/operation-table.ts";
import type { BodyReservation } from "./body-budget.ts";

/** The `context.state` of a request, shared by all middleware. */
export type RequestState = {
  requestId: string;
  startedMs: number;
  /** Path and query string of the request target, as sent. */
  path: string;
  query: string;
  /** The operations of the path, known before the caller is. */
  match: PathMatch | undefined;
  /** Undefined with tracing off. */
  span?: OpenSpan | undefined;
  /** The raw body; empty when there is none. */
  bodyBytes: Buffer;
  /** The body's share of the body budget. */
  bodyReservation?: BodyReservation;
  /** Functions to call after the response; they release the places of a large body. */
  releases?: (() => void)[];
  /** Set when the response is decided. */
  isFinished?: boolean;
  /** Rate limit tokens taken so far. */
  paidTokens: number;
  /** Whether the load limiter counts the request. */
  isCountedIn: boolean;
  /** Set once the caller is known. */
  caller?: Caller;
  /** The caller's network address, set together with `caller`. */
  address?: string;
};
