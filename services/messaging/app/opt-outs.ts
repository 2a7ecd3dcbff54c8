/**
 * Finds recipients that have opted out. Opt-outs do not block traffic classes that need no consent. While they cannot
 * be read, promotional messages are refused and others are accepted: a lost alert does more harm than an unwanted one.
 */
import { normaliseNumber } from "../../shared/core/phone.ts";
import type { TrafficClass } from "../../shared/core/traffic-class.ts";
import { needsConsent } from "../domain/traffic-class.ts";
import type { ServiceClients } from "./ports.ts";

/** True for a number that must not be sent to. */
type IsOptedOut = (number: string) => boolean;

type Query = {
  readonly tenantId: string;
  /** The sender ID's registered spelling. */
  readonly sender: string;
  readonly trafficClass: TrafficClass;
  readonly numbers: readonly string[];
};

const NEVER: IsOptedOut = () => false;

/** Throws for promotional messages while opt-outs cannot be read: `service_unavailable`, unless there is a defect. */
export async function findOptOuts(
  services: Pick<ServiceClients, "suppressions" | "checkSuppressed">,
  { tenantId, sender, trafficClass, numbers }: Query,
): Promise<IsOptedOut> {
  if (!needsConsent(trafficClass)) return NEVER;
  const name = sender.toLowerCase();
  try {
    const table = await services.suppressions(tenantId);
    if (table !== "large") return (number) => table.has(number, name);
    const normal = [...new Set(numbers.flatMap((number) => normaliseNumber(number) ?? []))];
    const suppressed = await services.checkSuppressed(tenantId, name, normal);
    return (number) => suppressed.has(number);
  } catch (error) {
    if (trafficClass === "promotional") throw error;
    return NEVER;
  }
}
