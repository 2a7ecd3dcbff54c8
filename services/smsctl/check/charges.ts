/**
 * Reconciles messaging with the wallet: two streams ordered by message id, merged, so memory
 * follows what is in flight and not what is stored. Each stream is one snapshot, the wallet's a
 * moment after messaging's, so what looks wrong is looked at once more before it is called a
 * breach. What is late is judged by the instant of the snapshots: reading them takes minutes.
 */
import { create } from "@bufbuild/protobuf";
import {
  type Charge,
  ChargeSchema,
  MessageStatus,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { Settlement } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { idTimeMs, isId } from "../../shared/core/ids.ts";
import type { Clients } from "../clients.ts";
import { judge } from "./judge.ts";
import { BREACHES_MAX, type CheckReport, createProgress, type FoundBreach } from "./report.ts";

/** A hold without a send may live this long: the grace time and one sweep. */
const ORPHAN_AGE_MS = 600_000;

/** Messages are kept twelve months; a settlement may outlive its message. */
const RETENTION_MS = 365 * 86_400_000;

/** Compares messages' charges with their settlements, and open holds with open messages; of one tenant or all (""). */
export async function checkCharges(
  clients: Clients,
  tenantId: string,
  note: (line: string) => void,
): Promise<CheckReport> {
  note("comparing charges with settlements");
  const progress = createProgress(note);
  const atMs = Date.now();
  const breaches: FoundBreach[] = [];
  const openByReservation = new Map<string, bigint>();
  const looked = { charges: 0, settlements: 0, open_reservations: 0 };
  const settlements = createCursor(streamSettlements(clients, tenantId));
  const suspects: { charge: Charge; settlement: Settlement | undefined }[] = [];

  for await (const charge of streamCharges(clients, tenantId)) {
    looked.charges += 1;
    progress(`${looked.charges} messages compared`);
    let settlement = await settlements.peek();
    while (settlement !== undefined && settlement.messageId < charge.messageId) {
      reportOrphan(settlement, atMs, breaches);
      settlement = await settlements.next();
    }
    const match = settlement?.messageId === charge.messageId ? settlement : undefined;
    if (match !== undefined) {
      looked.settlements += 1;
      await settlements.next();
    }
    const verdict = judge(charge, match, atMs);
    if (verdict.kind === "breach") suspects.push({ charge, settlement: match });
    if (match === undefined && charge.reservationId !== "" && charge.heldAmount > 0n) {
      const open = openByReservation.get(charge.reservationId) ?? 0n;
      openByReservation.set(charge.reservationId, open + charge.heldAmount);
    }
    if (suspects.length > BREACHES_MAX) break;
  }
  const isWhole = suspects.length <= BREACHES_MAX;
  if (isWhole) {
    // What is left lies behind the last message.
    let settlement = await settlements.peek();
    while (settlement !== undefined) {
      reportOrphan(settlement, atMs, breaches);
      settlement = await settlements.next();
    }
  }
  for (const { charge, settlement } of suspects) {
    const again = await judgeAgain(clients, charge, settlement, atMs);
    if (again !== undefined) breaches.push(again);
  }
  if (!isWhole) {
    // Holds of messages that were not reached would look like holds that nothing explains.
    const ended = `comparing ended after ${looked.charges} messages`;
    const why = `more than ${BREACHES_MAX} look wrong; open holds were not compared`;
    return { breaches, looked, unfinished: `${ended}, of which ${why}` };
  }
  const open = { tenantId, byReservation: openByReservation, atMs };
  looked.open_reservations = await checkOpen(clients, open, breaches);
  return { breaches, looked };
}

function reportOrphan(settlement: Settlement, atMs: number, breaches: FoundBreach[]): void {
  // Messages are deleted by when they were made, which for a scheduled one is long before its settlement.
  const { messageId } = settlement;
  const madeMs = isId("message", messageId) ? idTimeMs(messageId) : Number(settlement.settledAtMs);
  if (atMs - madeMs > RETENTION_MS - 86_400_000) return;
  const ageMs = atMs - Number(settlement.settledAtMs);
  // Its message may have been accepted after the charges' snapshot: only old ones are breaches.
  if (ageMs < ORPHAN_AGE_MS) return;
  if (breaches.length >= BREACHES_MAX) return;
  breaches.push({
    invariant: 2,
    what: "a settlement whose message does not exist",
    ids: [settlement.messageId],
  });
}

/** Looks at a suspect's message as it is now; answers a breach only if it still is one. */
async function judgeAgain(
  clients: Clients,
  charge: Charge,
  settlement: Settlement | undefined,
  atMs: number,
): Promise<FoundBreach | undefined> {
  const { message } = await clients.messaging.getMessage({
    tenantId: charge.tenantId,
    messageId: charge.messageId,
  });
  const now = create(ChargeSchema, {
    ...charge,
    status: message?.status ?? MessageStatus.UNSPECIFIED,
    updatedAtMs: message?.updatedAtMs ?? charge.updatedAtMs,
    ...(message?.amount === undefined ? {} : { amount: message.amount }),
  });
  const verdict = judge(now, settlement, atMs);
  if (verdict.kind !== "breach") return undefined;
  return { invariant: verdict.invariant, what: verdict.what, ids: [charge.messageId] };
}

/** What the messages that are not settled hold, by reservation, of one tenant or of all (""). */
type OpenHolds = {
  readonly tenantId: string;
  readonly byReservation: ReadonlyMap<string, bigint>;
  readonly atMs: number;
};

/**
 * Every old open hold must be explained, in full, by messages that are still open. Holds are read after
 * the messages, and only become less.
 */
async function checkOpen(
  clients: Clients,
  { tenantId, byReservation, atMs }: OpenHolds,
  breaches: FoundBreach[],
): Promise<number> {
  let count = 0;
  const before = BigInt(atMs - ORPHAN_AGE_MS);
  const stream = clients.wallets.streamReservations({ createdBeforeMs: before }, { timeoutMs: 0 });
  for await (const { reservations } of stream) {
    for (const reservation of reservations) {
      if (reservation.openAmount === 0n) continue;
      if (tenantId !== "" && reservation.tenantId !== tenantId) continue;
      count += 1;
      const explained = byReservation.get(reservation.id) ?? 0n;
      if (reservation.openAmount <= explained || breaches.length >= BREACHES_MAX) continue;
      breaches.push({
        invariant: 3,
        what:
          explained === 0n
            ? "a hold that no open message explains has outlived the grace time"
            : `a hold of ${reservation.openAmount} where open messages explain ${explained}`,
        ids: [reservation.id],
      });
    }
  }
  return count;
}

async function* streamCharges(clients: Clients, tenantId: string): AsyncGenerator<Charge> {
  const stream = clients.messaging.streamCharges({ tenantId }, { timeoutMs: 0 });
  for await (const { charges } of stream) {
    yield* charges;
  }
}

async function* streamSettlements(clients: Clients, tenantId: string): AsyncGenerator<Settlement> {
  const stream = clients.wallets.streamSettlements({ tenantId }, { timeoutMs: 0 });
  for await (const { settlements } of stream) {
    yield* settlements;
  }
}

/** Reads a stream with one item of lookahead. */
function createCursor<T>(stream: AsyncGenerator<T>) {
  let current: Promise<T | undefined> | undefined;
  async function read(): Promise<T | undefined> {
    const item = await stream.next();
    return item.done === true ? undefined : item.value;
  }
  return {
    peek(): Promise<T | undefined> {
      current ??= read();
      return current;
    },
    next(): Promise<T | undefined> {
      current = read();
      return current;
    },
  };
}
