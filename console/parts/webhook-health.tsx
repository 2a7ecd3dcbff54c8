import type { Endpoint } from "../api/types.ts";
import { describeHealth } from "../core/endpoint-health.ts";
import { useResource } from "../core/use-resource.ts";
import { readHealth } from "./warnings.tsx";

/** Why it is off, or the failures of the last day. */
export function WebhookHealth({
  endpoint: { id, status, disabled_reason },
}: {
  readonly endpoint: Endpoint;
}) {
  const isOn = status === "enabled";
  const found = useResource(
    `health ${id} ${status}`,
    async () => (isOn ? (describeHealth(await readHealth(id)) ?? "") : ""),
    60_000,
  );
  if (!isOn) return <>{disabled_reason?.replaceAll("_", " ")}</>;
  if (found.data === undefined) return null;
  return found.data === "" ? (
    <span class="muted">no failure in the last day</span>
  ) : (
    <span class="fault">{found.data}</span>
  );
}
