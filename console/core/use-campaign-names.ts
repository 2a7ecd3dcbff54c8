import { campaigns } from "../api/console.ts";
import { useCan } from "./session-context.ts";
import { useResource } from "./use-resource.ts";

const NONE: ReadonlyMap<string, string> = new Map();

/**
 * The names of the newest campaigns by id; none for a person who may not read campaigns, until they are loaded, and
 * where they are not needed.
 */
export function useCampaignNames(isNeeded = true): ReadonlyMap<string, string> {
  const canRead = useCan("campaigns:read") && isNeeded;
  const found = useResource(`campaign names ${canRead}`, async () =>
    canRead ? (await campaigns.list({})).data.map(({ id, name }) => [id, name] as const) : [],
  );
  return found.data === undefined ? NONE : new Map(found.data);
}
