import type { Clients } from "../clients.ts";
import { BREACHES_MAX, type CheckReport, type FoundBreach } from "./report.ts";

/**
 * Walks messages, their histories and the outbox (invariants 2, 3, 5 and 6 within messaging); of one tenant or
 * all ("").
 */
export async function checkMessages(
  clients: Clients,
  tenantId: string,
  note: (line: string) => void,
): Promise<CheckReport> {
  const breaches: FoundBreach[] = [];
  let looked = { messages: 0, sends: 0, outbox: 0 };
  note("walking messages and their histories");
  for await (const part of clients.messaging.checkMessages({ tenantId }, { timeoutMs: 0 })) {
    for (const { invariant, what, ids } of part.breaches) {
      if (breaches.length < BREACHES_MAX) breaches.push({ invariant, what, ids });
    }
    looked = {
      messages: Number(part.messages),
      sends: Number(part.sends),
      outbox: Number(part.outbox),
    };
  }
  return { breaches, looked };
}
