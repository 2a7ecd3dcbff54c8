import { Long, type MongoClient } from "mongodb";
import { encodeTime } from "ulid";
import { type MessageDocument, SEARCH } from "../../services/messaging/store/documents.ts";
import type { MessageStatus } from "../../services/shared/core/message-status.ts";

/** The parts of the history. */
export type HistoryPlan = {
  readonly tenantId: string;
  readonly senderId: string;
  readonly count: number;
  /** How many of them are there already; 0 unless given. */
  readonly from?: number;
  readonly onProgress?: (done: number) => void;
};

/** How far back the first message lies. */
export const HISTORY_DAYS = 80;

/** Every hundredth number, and every thousandth reference, repeats: filters find some of each. */
const RECIPIENTS = 100_000;

/** Of a hundred messages, how many ended in each status. */
const STATUSES: readonly (readonly [MessageStatus, number])[] = [
  ["delivered", 90],
  ["undelivered", 5],
  ["expired", 2],
  ["failed", 2],
  ["cancelled", 1],
];

const BATCH = 5000;
const WRITERS = 3;
const DAY_MS = 86_400_000;

/** Inserts the messages, oldest first, several batches at once. */
export async function seedHistory(client: MongoClient, plan: HistoryPlan): Promise<void> {
  const messages = client.db("sms_messaging").collection<MessageDocument>("messages", {
    writeConcern: { w: 1, j: false },
  });
  const firstMs = Date.now() - HISTORY_DAYS * DAY_MS;
  const stepMs = (HISTORY_DAYS * DAY_MS - 60_000) / plan.count;
  let next = plan.from ?? 0;
  let done = next;
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (next < plan.count) {
        const from = next;
        next = Math.min(plan.count, next + BATCH);
        const documents = Array.from({ length: next - from }, (_, at) =>
          pastMessage(plan, from + at, Math.floor(firstMs + (from + at) * stepMs)),
        );
        await messages.insertMany(documents, { ordered: false });
        done += documents.length;
        plan.onProgress?.(done);
      }
    }),
  );
}

/** The nth past message: one of a fixed mix of statuses, senders, recipients and references. */
function pastMessage(plan: HistoryPlan, number: number, atMs: number): MessageDocument {
  const status = statusOf(number);
  const at = new Date(atMs);
  const to = pastRecipient(number);
  const from = number % 10 === 0 ? "HISTORY" : plan.senderId;
  const reference = `past-${number % 1_000_000}`;
  return {
    _id: `msg_${encodeTime(atMs, 10)}${String(number).padStart(16, "0")}`,
    tenant_id: plan.tenantId,
    mode: "live",
    source: number % 20 === 0 ? "quick_send" : "api",
    status,
    to,
    from,
    search: [SEARCH.from(from), SEARCH.to(to), SEARCH.reference(reference)],
    body: "A message of the past.",
    encoding: "gsm7",
    segments: 1,
    held: Long.ZERO,
    unit_price: Long.ZERO,
    amount: Long.ZERO,
    currency: "NGN",
    client_reference: reference,
    sent_at: at,
    completed_at: at,
    updated_at: at,
    history: pastOf(status).map((step) => ({ status: step, at })),
    revision: 3,
  };
}

/** The way to a status that the transition table has. */
function pastOf(status: MessageStatus): MessageStatus[] {
  if (status === "failed" || status === "cancelled") return ["queued", status];
  return ["queued", "sent", status];
}

/** A recipient of the history; the same ones come again and again. */
export function pastRecipient(number: number): string {
  return `+234803${String(1_000_000 + (number % RECIPIENTS)).slice(0, 7)}`;
}

function statusOf(number: number): MessageStatus {
  let place = (number * 61) % 100;
  for (const [status, share] of STATUSES) {
    if (place < share) return status;
    place -= share;
  }
  return "delivered";
}
