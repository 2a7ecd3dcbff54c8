/** Customers' records against the messages at rest (invariants 3, 4 and 5 of the design). */
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import type { Cancel, Sent } from "./customers.ts";
import type { MessageRow, StoredData } from "./database-reader.ts";

/** The transitions of docs/contract.md#statuses, repeated here on purpose. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  scheduled: ["queued", "failed", "cancelled"],
  queued: ["sent", "failed", "cancelled"],
  sent: ["delivered", "undelivered", "expired"],
  undelivered: ["delivered"],
  expired: ["delivered", "undelivered"],
};
const FIRST = new Set(["scheduled", "queued", "rejected"]);
const FINAL = new Set(["delivered", "undelivered", "expired", "rejected", "failed", "cancelled"]);

/** Every response to a customer must be true, and no other change may have happened. */
export function checkMessages(
  sent: readonly Sent[],
  cancels: readonly Cancel[],
  tenantIds: readonly string[],
  { messages, sends }: StoredData,
): FoundBreach[] {
  const tenants = new Set(tenantIds);
  const own = messages.filter(({ tenant_id }) => tenants.has(tenant_id));
  const byReference = Map.groupBy(own, (row) => row.client_reference ?? "");
  const byId = new Map(own.map((row) => [row._id, row]));
  const known = new Set(sent.map(({ order }) => order.reference));
  const stored = new Map(sends.map((row) => [row._id, row]));
  const invented = own.filter((row) => !known.has(row.client_reference ?? ""));
  return [
    ...sent.flatMap((one) => checkSend(one, byReference.get(one.order.reference) ?? [])),
    ...cancels.flatMap((cancel) => checkCancel(cancel, byId.get(cancel.messageId))),
    ...own.flatMap(checkPath),
    ...own.flatMap((row) => checkSendRow(row, stored.get(row.reservation_id ?? ""))),
    ...invented.map((row) => breach(4, "a message that nobody asked for", row._id)),
  ];
}

function checkSend({ order, tenantId, isTest, isTwin, answer }: Sent, rows: readonly MessageRow[]) {
  const { reference, recipients } = order;
  const found: FoundBreach[] = [];
  const add = (invariant: number, what: string) =>
    void found.push(breach(invariant, what, reference, ...rows.slice(0, 4).map(({ _id }) => _id)));
  const strangers = rows.filter(
    (row) => row.tenant_id !== tenantId || (row.mode === "test") !== isTest,
  );
  if (strangers.length > 0) add(9, "a message belongs to another tenant or mode");
  const isAccepted = answer?.status === 202;
  if (answer !== undefined && !isAccepted && !isTwin && rows.length > 0) {
    add(3, `refused with ${answer.status} ${answer.code}, and yet accepted`);
  }
  if (isAccepted) {
    const ids = new Set(rows.map(({ _id }) => _id));
    const missing = answer.messages.filter(({ id }) => !ids.has(id)).map(({ id }) => id);
    if (missing.length > 0) {
      found.push(breach(3, "a 202 whose messages are not stored", reference, ...missing));
    }
  }
  if (rows.length === 0) return found;
  if (rows.length !== recipients.length) {
    add(4, `${rows.length} messages are stored for ${recipients.length} recipients`);
  }
  const wanted = recipients.filter(({ isGood }) => isGood).map(({ to }) => to);
  const taken = rows.filter(({ status }) => status !== "rejected").map(({ to }) => to);
  if (wanted.toSorted().join() !== taken.toSorted().join()) add(4, "other recipients are stored");
  return found;
}

function checkCancel({ messageId, answer }: Cancel, row: MessageRow | undefined): FoundBreach[] {
  if (answer === undefined) return [];
  const isCancelled = row?.status === "cancelled";
  if (answer.status === 200 && !isCancelled) {
    return [breach(5, `a cancel was confirmed, and the message is ${row?.status}`, messageId)];
  }
  if (answer.status === 409 && isCancelled) {
    return [breach(5, "a cancel was refused, and the message is cancelled", messageId)];
  }
  return [];
}

function checkPath({ _id, status, phase, history }: MessageRow): FoundBreach[] {
  const path = history.map((change) => change.status);
  const reported = path.join(" > ");
  const found: FoundBreach[] = [];
  if (!FIRST.has(path[0] ?? "")) found.push(breach(5, `the path begins wrongly: ${reported}`, _id));
  path.forEach((next, at) => {
    const before = path[at - 1];
    if (before !== undefined && MOVES[before]?.includes(next) !== true) {
      found.push(breach(5, `not in the table: ${reported}`, _id));
    }
  });
  history.forEach(({ at }, place) => {
    const before = history[place - 1]?.at;
    if (before !== undefined && at < before) {
      found.push(breach(5, `the history runs backwards: ${reported}`, _id));
    }
  });
  if (path.at(-1) !== status) found.push(breach(5, `${status} after ${reported}`, _id));
  if (!FINAL.has(status)) found.push(breach(5, `still ${status} (${phase ?? "no phase"})`, _id));
  return found;
}

function checkSendRow(
  { _id, status, held, reservation_id: id }: MessageRow,
  send: { readonly fenced?: boolean } | undefined,
): FoundBreach[] {
  if (status === "rejected" || held === 0n) return [];
  if (send === undefined) return [breach(3, "a message without its send record", _id, id ?? "")];
  return send.fenced === true ? [breach(3, "a message of a fenced send", _id, id ?? "")] : [];
}

function breach(invariant: number, what: string, ...ids: string[]): FoundBreach {
  return { invariant, what, ids };
}
