import { type CheckReport, type CheckRun, createBreachList } from "./report.ts";

/** Looks for inbound messages that are stored twice (invariant 16). */
export async function checkInbound(run: CheckRun): Promise<CheckReport> {
  const { clients, tenantId, note, signal } = run;
  const found = createBreachList();
  let messages = 0;
  note("comparing inbound messages with their repeats");
  const parts = clients.consent.checkInbound({ tenantId }, { timeoutMs: 0, signal });
  for await (const part of parts) {
    found.add(...part.breaches.map(({ invariant, what, ids }) => ({ invariant, what, ids })));
    if (part.done) messages = Number(part.messages);
  }
  return { ...found.listed(), compared: { inbound_messages: messages } };
}
