/** Endpoints that were disabled or deleted recently. Running attempts compare versions. */
import { setRecent } from "../../shared/flow/lru.ts";

export type DisabledEndpoints = {
  add(endpointId: string): void;
  /** A number that changes whenever the endpoint is added; 0 before that. */
  versionOf(endpointId: string): number;
  /** The version of the latest endpoint added. */
  currentVersion(): number;
};

/** Endpoints kept, more than can be disabled during one attempt; the least recent are evicted first. */
const ENDPOINTS_KEPT = 10_000;

export function createDisabledEndpoints(): DisabledEndpoints {
  const versions = new Map<string, number>();
  let current = 0;

  return {
    add(endpointId) {
      current += 1;
      setRecent(versions, endpointId, current, ENDPOINTS_KEPT);
    },
    versionOf: (endpointId) => versions.get(endpointId) ?? 0,
    currentVersion: () => current,
  };
}
