/** Compares messages with holds, settlements and the recomputed ledger (invariants 1, 2 and 3). */
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import type { MessageRow, MovementRow, SettlementRow, StoredData } from "./database-reader.ts";

/** A tenant and its payments, as counted by the payers. */
export type Payer = { readonly id: string; readonly funded: bigint };

/** The messages and payments explain every amount. */
export function checkMoney(storedData: StoredData, payers: readonly Payer[]): FoundBreach[] {
  return [
    ...checkSettlements(storedData),
    ...checkHolds(storedData),
    ...checkLedger(storedData),
    ...payers.flatMap((payer) => checkBalance(storedData, payer)),
  ];
}

function wasSent({ history }: MessageRow): boolean {
  return history.some(({ status }) => status === "sent");
}

function checkSettlements({ messages, settlements }: StoredData): FoundBreach[] {
  const byMessage = new Map(settlements.map((row) => [row._id, row]));
  const ids = new Set(messages.map(({ _id }) => _id));
  const found = messages.flatMap((message) => checkCharge(message, byMessage.get(message._id)));
  for (const { _id } of settlements) {
    if (!ids.has(_id)) found.push(breach(2, "a settlement without a message", _id));
  }
  return found;
}

function checkCharge(message: MessageRow, settlement: SettlementRow | undefined): FoundBreach[] {
  const { _id, held, amount, unit_price: price, segments, routes } = message;
  const isSent = wasSent(message);
  if (isSent !== (amount !== undefined)) return [breach(2, "sent and charged disagree", _id)];
  if (amount !== undefined) {
    const isOnRoute = routes?.some((route) => route.price === price) === true;
    if (amount > held || amount !== (price ?? -1n) * BigInt(segments) || !isOnRoute) {
      return [breach(2, `charged ${amount} of ${held} at ${price} for ${segments} parts`, _id)];
    }
  }
  if (held === 0n) {
    return settlement === undefined ? [] : [breach(2, "settled without a hold", _id)];
  }
  if (settlement === undefined) return [breach(2, `${message.status}, and not settled`, _id)];
  const due = isSent ? (amount ?? 0n) : 0n;
  if (settlement.captured_amount !== due || settlement.held_amount !== held) {
    const { captured_amount: captured } = settlement;
    return [breach(2, `captured ${captured} where ${due} was due`, _id)];
  }
  return settlement.reservation_id === message.reservation_id
    ? []
    : [breach(2, "settled under another hold", _id)];
}

function checkHolds({ messages, sends, reservations }: StoredData): FoundBreach[] {
  const heldBy = new Map<string, bigint>();
  for (const { reservation_id: id, held } of messages) {
    if (id !== undefined && held > 0n) heldBy.set(id, (heldBy.get(id) ?? 0n) + held);
  }
  const committed = new Set(sends.filter(({ fenced }) => fenced !== true).map(({ _id }) => _id));
  const known = new Set(reservations.map(({ _id }) => _id));
  const found: FoundBreach[] = [];
  for (const { _id, amount, open_amount: open, fenced_amount: fenced } of reservations) {
    const isSend = committed.has(_id);
    const wanted = heldBy.get(_id) ?? 0n;
    if (open !== 0n) found.push(breach(3, `${open} of a hold is open at the end`, _id));
    if (isSend && (amount !== wanted || fenced !== 0n)) {
      found.push(breach(3, `a hold of ${amount} (${fenced} fenced) for ${wanted}`, _id));
    }
    if (!isSend && (wanted !== 0n || (open === 0n && fenced !== amount))) {
      found.push(breach(3, `a hold without a send: ${fenced} of ${amount} fenced`, _id));
    }
  }
  for (const id of heldBy.keys()) {
    if (!known.has(id)) found.push(breach(3, "a send without its hold", id));
  }
  return found;
}

/** Recomputes the ledger from its first entry; every movement must have exactly one cause. */
function checkLedger({ movements, reservations, settlements, wallets }: StoredData): FoundBreach[] {
  const found: FoundBreach[] = [];
  for (const wallet of wallets) {
    const own = movements
      .filter(({ tenantId }) => tenantId === wallet._id)
      .toSorted((a, b) => a.sequence - b.sequence);
    let balance = 0n;
    let held = 0n;
    for (const movement of own) {
      const { amount } = movement;
      if (movement.kind === "fund" || movement.kind === "adjust") balance += amount;
      else if (movement.kind === "hold") held += amount;
      else held -= amount;
      if (movement.kind === "capture") balance -= amount;
      if (held < 0n || balance - held < 0n) {
        found.push(breach(1, `balance ${balance}, held ${held}`, wallet._id, movement.messageId));
      }
    }
    if (balance !== wallet.balance || held !== wallet.held) {
      const says = `${wallet.balance} and ${wallet.held}`;
      found.push(
        breach(1, `the wallet says ${says}, its ledger ${balance} and ${held}`, wallet._id),
      );
    }
  }
  const holds = sumBy(movements, "hold", ({ reservationId }) => reservationId);
  for (const { _id, amount } of reservations) {
    if (holds.get(_id) !== amount) found.push(breach(1, "a hold and its ledger disagree", _id));
  }
  const captures = sumBy(movements, "capture", ({ messageId }) => messageId);
  const releases = sumBy(movements, "release", ({ messageId }) => messageId);
  for (const { _id, captured_amount: captured, held_amount: held } of settlements) {
    const isRight =
      (captures.get(_id) ?? 0n) === captured && (releases.get(_id) ?? 0n) === held - captured;
    if (!isRight) found.push(breach(2, "a settlement and its ledger disagree", _id));
  }
  return found;
}

function sumBy(
  movements: readonly MovementRow[],
  kind: string,
  keyOf: (movement: MovementRow) => string,
): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const movement of movements) {
    if (movement.kind !== kind) continue;
    const key = keyOf(movement);
    sums.set(key, (sums.get(key) ?? 0n) + movement.amount);
  }
  return sums;
}

/** The balance is the payments minus the messages' prices. */
function checkBalance({ messages, wallets, movements }: StoredData, { id, funded }: Payer) {
  const charged = messages
    .filter((message) => message.tenant_id === id && message.held > 0n)
    .reduce((sum, { amount = 0n }) => sum + amount, 0n);
  const balance = wallets.find(({ _id }) => _id === id)?.balance;
  const found: FoundBreach[] = [];
  if (balance !== funded - charged) {
    found.push(breach(1, `${funded} paid in, ${charged} charged, ${balance} there`, id));
  }
  const references = movements.filter((row) => row.tenantId === id && row.kind === "fund");
  if (new Set(references.map(({ reference }) => reference)).size !== references.length) {
    found.push(breach(1, "a payment was taken twice", id));
  }
  return found;
}

function breach(invariant: number, what: string, ...ids: string[]): FoundBreach {
  return { invariant, what, ids: ids.filter((id) => id !== "") };
}
