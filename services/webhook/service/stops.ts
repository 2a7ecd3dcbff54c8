/** Which endpoints were turned off or deleted of late, so that attempts under way can tell. */
export type Stops = {
  note(endpointId: string): void;
  /** A number that changes whenever the endpoint is stopped. */
  of(endpointId: string): number;
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
      latest.delete(endpointId);
      latest.set(endpointId, count);
      if (latest.size <= STOPS_KEPT) return;
      const [oldest] = latest.keys();
      if (oldest !== undefined) latest.delete(oldest);
    },
    of: (endpointId) => latest.get(endpointId) ?? 0,
  };
}
