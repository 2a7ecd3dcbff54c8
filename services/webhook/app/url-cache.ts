import { setRecent } from "../../shared/flow/lru.ts";
import { readTarget, type Target } from "../domain/url-rules.ts";

const TARGETS_MAX = 2000;

/** Makes a reader of URLs that remembers the last ones: one is read at each attempt. */
export function createTargetReader(
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
