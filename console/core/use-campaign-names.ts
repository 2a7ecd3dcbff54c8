import { campaigns } from "../api/console.ts";
import { useCan } from "./session-context.ts";
import { useResource } from "./use-resource.ts";

const NONE: ReadonlyMap<string, string> = new Map();

/** The names of the newest campaigns by id; none for a person who may not read campaigns, and until they are loaded. */
export function useCampaignNames(): ReadonlyMap<string, string> {
  const canRead = useCan("campaigns:read");
  const found = useResource(`campaign names ${canRead}`, async () =>
    canRead ? (await campaigns.list({})).data.map(({ id, name }) => [id, name] as const) : [],
  );
  return found.data === undefined ? NONE : new Map(found.data);
}
