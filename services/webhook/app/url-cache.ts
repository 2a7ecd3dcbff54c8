import { setRecent } from "../../shared/flow/lru.ts";
import { readTarget, type Target } from "../domain/url-rules.ts";

const TARGETS_MAX = 2000;

/** Parses the URL of each attempt once, and caches the last 2,000. */
export function createUrlCache(
  allowedPorts: readonly number[],
): (url: string) => Target | undefined {
  const known = new Map<string, Target>();

  return (url) => {
    const found = known.get(url);
    if (found !== undefined) return found;
    const target = readTarget(url, allowedPorts);
    if (target !== undefined) setRecent(known, url, target, TARGETS_MAX);
    return target;
  };
}
