/**
 * Checks waiting messages right before a carrier gets them, because they may have waited for hours since their
 * acceptance:
 *
 * - A recipient that has opted out ends the message: `failed` with `recipient_opted_out`, uncharged.
 * - While opt-outs cannot be read, a promotional message is put off; others go (`opt-outs.ts`).
 * - A route that does not carry the message's class any more gives it to another of its routes, or to none.
 */
import type { TrafficClass } from "../../shared/core/traffic-class.ts";
import type { AvailabilityOf } from "../domain/choose-route.ts";
import { currentRoute, type Decision, type Message, moveTo, unchanged } from "../domain/message.ts";
import { leaveForbiddenRoute } from "../domain/queue-transitions.ts";
import { needsConsent } from "../domain/traffic-class.ts";
import { findOptOuts } from "./opt-outs.ts";
import type { ServiceClients } from "./ports.ts";
import type { Changes, Decide } from "./update-messages.ts";

/** The messages that may be claimed, and those that wait in their queue until later. */
export type CheckedClaim = {
  readonly passed: readonly Message[];
  readonly putOff: readonly Message[];
};

export type ClaimChecks = (messages: readonly Message[]) => Promise<CheckedClaim>;

/** Checks nothing. */
export const passAll: ClaimChecks = async (messages) => ({ passed: messages, putOff: [] });

/** The delay until the next try of a message, when the opt-out of its recipient cannot be read. */
const PUT_OFF_MS = 5000;

export function createClaimChecks(options: {
  readonly services: Pick<ServiceClients, "suppressions" | "checkSuppressed">;
  readonly changes: Pick<Changes, "change">;
  readonly availability: {
    readonly availabilityOf: AvailabilityOf;
    carries(routeId: string, trafficClass: TrafficClass): boolean;
  };
}): ClaimChecks {
  const { services, changes, availability } = options;

  function isForbidden(message: Message): boolean {
    const route = currentRoute(message);
    return route !== undefined && !availability.carries(route.routeId, message.trafficClass);
  }

  /** The reason why a message may not be sent, by message; messages without an entry may be sent. */
  async function findObstacles(messages: readonly Message[]): Promise<Map<Message, Decide>> {
    const found = new Map<Message, Decide>();
    const asked = messages.filter((message) => needsConsent(message.trafficClass));
    const bySender = Map.groupBy(asked, ({ tenantId, from, trafficClass }) =>
      [tenantId, trafficClass, from].join("|"),
    );
    for (const some of bySender.values()) {
      const isOptedOut = await readOptOuts(services, some);
      for (const message of some) {
        if (message.isConsentReply) continue;
        if (isOptedOut === undefined) found.set(message, putOff);
        else if (isOptedOut(message.to)) found.set(message, endOptedOut);
      }
    }
    for (const message of messages) {
      if (isForbidden(message) && found.get(message) !== endOptedOut) {
        found.set(message, (current) => leaveForbiddenRoute(current, availability.availabilityOf));
      }
    }
    return found;
  }

  return async (messages) => {
    const obstacles = await findObstacles(messages);
    if (obstacles.size === 0) return { passed: messages, putOff: [] };
    const decided = await Promise.all(
      [...obstacles].map(([{ id }, decide]) => changes.change(id, decide)),
    );
    const isStillThere = ({ message }: Decision) =>
      message.phase === "waiting" && message.notBeforeMs > 0;
    return {
      passed: messages.filter((message) => !obstacles.has(message)),
      putOff: decided.flatMap((decision) =>
        decision !== undefined && isStillThere(decision) ? [decision.message] : [],
      ),
    };
  };
}

/**
 * Reads the opt-outs for messages of one tenant, sender ID and class; undefined when promotional messages must wait
 * because the read has failed.
 */
async function readOptOuts(
  services: Pick<ServiceClients, "suppressions" | "checkSuppressed">,
  messages: readonly Message[],
) {
  const [first] = messages;
  if (first === undefined) return undefined;
  const { tenantId, from, trafficClass } = first;
  const numbers = messages.map(({ to }) => to);
  const query = { tenantId, sender: from, trafficClass, numbers };
  try {
    return await findOptOuts(services, query);
  } catch {
    return undefined;
  }
}

function endOptedOut(message: Message, nowMs: number): Decision {
  if (message.phase !== "waiting") return unchanged(message);
  return moveTo(unchanged(message), "failed", nowMs, "recipient_opted_out");
}

function putOff(message: Message, nowMs: number): Decision {
  if (message.phase !== "waiting") return unchanged(message);
  return unchanged({ ...message, notBeforeMs: nowMs + PUT_OFF_MS });
}
