import { type CheckReport, type CheckRun, createBreachList } from "./report.ts";

/** Walks messages, their histories and the outbox (invariants 2, 3, 5 and 6 within messaging). */
export async function checkMessages(run: CheckRun): Promise<CheckReport> {
  const { clients, tenantId, note, signal } = run;
  const found = createBreachList();
  let compared = { messages: 0, sends: 0, outbox: 0 };
  note("walking messages and their histories");
  const parts = clients.messaging.checkMessages({ tenantId }, { timeoutMs: 0, signal });
  for await (const part of parts) {
    found.add(...part.breaches.map(({ invariant, what, ids }) => ({ invariant, what, ids })));
    compared = {
      messages: Number(part.messages),
      sends: Number(part.sends),
      outbox: Number(part.outbox),
    };
  }
  return { ...found.listed(), compared };
}
