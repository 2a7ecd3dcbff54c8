import { useCan } from "../core/session-context.ts";

/** A campaign by its name, or by its id where the name is not known; a link for those who may read campaigns. */
export function CampaignLink({
  id,
  names,
}: {
  readonly id: string;
  readonly names: ReadonlyMap<string, string>;
}) {
  const text = names.get(id) ?? id;
  const canRead = useCan("campaigns:read");
  return canRead ? <a href={`/console/campaigns/${id}`}>{text}</a> : <span>{text}</span>;
}
