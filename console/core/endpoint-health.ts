import type { Delivery } from "../api/types.ts";

/** The recent deliveries to an endpoint that did not succeed. */
export type EndpointHealth = {
  /** Given up. */
  readonly failed: number;
  /** Failed at least once, and tried again later. */
  readonly retried: number;
  /** Why the newest of them did not succeed; empty when there is none. */
  readonly reason: string;
};

/** Deliveries of one answer; there may be more. */
const PAGE = 50;

/** Counts the newest failed and pending deliveries, since an instant. */
export function endpointHealth(
  failed: readonly Delivery[],
  pending: readonly Delivery[],
  sinceMs: number,
): EndpointHealth {
  const isRecent = ({ created_at }: Delivery) => Date.parse(created_at) >= sinceMs;
  const lost = failed.filter(isRecent);
  const waiting = pending.filter((one) => isRecent(one) && one.attempts.length > 0);
  const newest = [...lost, ...waiting].sort((a, b) => b.created_at.localeCompare(a.created_at))[0];
  return {
    failed: lost.length,
    retried: waiting.length,
    reason: newest === undefined ? "" : lastAnswer(newest),
  };
}

/** The answer of the endpoint to the last attempt. */
export function lastAnswer({ attempts }: Delivery): string {
  const last = attempts.at(-1);
  return last === undefined ? "not tried yet" : answerText(last.http_status, last.error);
}

/** The result of one attempt: `HTTP 500`, `time out`. */
export function answerText(
  httpStatus: number | null | undefined,
  failure: string | null | undefined,
): string {
  if (httpStatus != null) return `HTTP ${httpStatus}`;
  return failure === "connection" ? "no connection" : (failure ?? "").replaceAll("_", " ");
}

/** A sentence about an endpoint in trouble; undefined for one that is well. */
export function describeHealth({ failed, retried, reason }: EndpointHealth): string | undefined {
  if (failed + retried === 0) return undefined;
  const count = (number: number) => (number < PAGE ? String(number) : `${PAGE} or more`);
  const parts = [
    ...(failed === 0 ? [] : [`${count(failed)} failed`]),
    ...(retried === 0 ? [] : [`${count(retried)} not taken yet`]),
  ];
  return `deliveries of the last day: ${parts.join(", ")}. The last answer was: ${reason}`;
}
