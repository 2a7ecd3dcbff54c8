/** Which endpoints were turned off or deleted of late, so that attempts under way can tell. */
import { setRecent } from "../../shared/flow/lru.ts";

export type Stops = {
  note(endpointId: string): void;
  /** A number that changes whenever the endpoint is stopped. */
  of(endpointId: string): number;
  /** No less than any number given so far, and less than any given later. */
  mark(): number;
};

/** More than can be stopped while an attempt lasts; the least recent are forgotten first. */
const STOPS_KEPT = 10_000;

/** Makes the record of stops. */
export function createStops(): Stops {
  const latest = new Map<string, number>();
  let count = 0;

  return {
    note(endpointId) {
      count += 1;
      setRecent(latest, endpointId, count, STOPS_KEPT);
    },
    of: (endpointId) => latest.get(endpointId) ?? 0,
    mark: () => count,
  };
}
