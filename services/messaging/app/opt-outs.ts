/**
 * Finds recipients that have opted out. Opt-outs do not block traffic classes that need no consent. While they cannot
 * be read, promotional messages are refused and others are accepted: a lost alert does more harm than an unwanted one.
 */
import { normaliseNumber } from "../../shared/core/phone.ts";
import type { TrafficClass } from "../../shared/core/traffic-class.ts";
import { needsConsent } from "../domain/traffic-class.ts";
import type { ServiceClients, SuppressionTable } from "./ports.ts";

/** True for a number that has opted out. */
type IsOptedOut = (number: string) => boolean;

type Query = {
  readonly tenantId: string;
  /** The sender ID's registered spelling. */
  readonly sender: string;
  readonly trafficClass: TrafficClass;
  readonly numbers: readonly string[];
};

const NEVER: IsOptedOut = () => false;

/**
 * Answers at once when the table is known, as it nearly always is. Throws for promotional messages while opt-outs
 * cannot be read: `service_unavailable`, unless there is a defect.
 */
export function findOptOuts(
  services: Pick<ServiceClients, "suppressions" | "checkSuppressed">,
  query: Query,
): IsOptedOut | Promise<IsOptedOut> {
  if (!needsConsent(query.trafficClass)) return NEVER;
  const known = services.suppressions(query.tenantId);
  if (known instanceof Promise || known === "large") return waitForOptOuts(services, known, query);
  return inTable(known, query.sender.toLowerCase());
}

function inTable(table: SuppressionTable, sender: string): IsOptedOut {
  return (number) => table.has(number, sender);
}

async function waitForOptOuts(
  services: Pick<ServiceClients, "checkSuppressed">,
  known: "large" | Promise<SuppressionTable | "large">,
  { tenantId, sender, trafficClass, numbers }: Query,
): Promise<IsOptedOut> {
  const name = sender.toLowerCase();
  try {
    const table = await known;
    if (table !== "large") return inTable(table, name);
    const normal = [...new Set(numbers.flatMap((number) => normaliseNumber(number) ?? []))];
    const suppressed = await services.checkSuppressed(tenantId, name, normal);
    return (number) => suppressed.has(number);
  } catch (error) {
    if (trafficClass === "promotional") throw error;
    return NEVER;
  }
}
