/**
 * The ledger: movements, written in batches (ADR 10). A batch has all movements of one transaction
 * in one wallet. It contains the hash of the batch before it, so the check detects a batch that was
 * edited, removed or inserted later. Batches are never changed.
 */
import { createHash } from "node:crypto";
import { addMovement, type EntryKind, type Totals, zeroTotals } from "./account.ts";
import type { Wallet } from "./wallet.ts";

/** One movement. Absent texts are empty. */
export type Movement = {
  /** `led_` + ULID. */
  readonly id: string;
  readonly kind: EntryKind;
  readonly amount: bigint;
  readonly reservationId: string;
  readonly messageId: string;
  /** The campaign of a hold, and of the captures and releases of its messages. */
  readonly campaignId: string;
  /** The idempotency reference of a funding or an adjustment. */
  readonly reference: string;
  readonly reason: string;
  readonly actor: string;
};

/** All movements of one transaction in one wallet. */
export type EntryBatch = {
  readonly tenantId: string;
  readonly currency: string;
  /** Counts a wallet's batches from 1, without gaps. */
  readonly sequence: number;
  readonly createdAtMs: number;
  readonly balanceAfter: bigint;
  readonly heldAfter: bigint;
  readonly movements: readonly Movement[];
  /** Net amounts per account; their sum is zero. */
  readonly totals: Totals;
  readonly hash: string;
};

/** One line of a statement: a movement with the balances right after it. */
export type Entry = Movement & {
  readonly tenantId: string;
  readonly currency: string;
  readonly sequence: number;
  /** Index in its batch, from 0. */
  readonly position: number;
  readonly balanceAfter: bigint;
  readonly heldAfter: bigint;
  readonly createdAtMs: number;
};

/** The effect of a movement on a wallet's balance and held amount. */
export function effectOf(
  kind: EntryKind,
  amount: bigint,
): { readonly balance: bigint; readonly held: bigint } {
  switch (kind) {
    case "fund":
    case "adjust":
      return { balance: amount, held: 0n };
    case "hold":
      return { balance: 0n, held: amount };
    case "capture":
      return { balance: -amount, held: -amount };
    case "release":
      return { balance: 0n, held: -amount };
  }
}

/** Sums a batch's movements by account. */
export function totalsOf(movements: readonly Movement[]): Totals {
  const totals = zeroTotals();
  for (const { kind, amount } of movements) addMovement(totals, kind, amount);
  return totals;
}

/** The batch after a wallet's last one. `after` has the figures after its movements. */
export function nextBatch(
  wallet: Wallet,
  after: Pick<Wallet, "balance" | "held">,
  movements: readonly Movement[],
  createdAtMs: number,
): EntryBatch {
  const unsealed = {
    tenantId: wallet.tenantId,
    currency: wallet.currency,
    sequence: wallet.sequence + 1,
    createdAtMs,
    balanceAfter: after.balance,
    heldAfter: after.held,
    movements,
    totals: totalsOf(movements),
  };
  return { ...unsealed, hash: hashBatch(wallet.lastHash, unsealed) };
}

/** SHA-256 (hex) over the previous batch's hash and all fields of this batch. */
export function hashBatch(
  previousHash: string,
  batch: Omit<EntryBatch, "hash" | "totals">,
): string {
  const lines = [
    JSON.stringify([
      previousHash,
      batch.tenantId,
      batch.currency,
      batch.sequence,
      batch.createdAtMs,
      String(batch.balanceAfter),
      String(batch.heldAfter),
    ]),
  ];
  for (const movement of batch.movements) {
    lines.push(
      JSON.stringify([
        movement.id,
        movement.kind,
        String(movement.amount),
        movement.reservationId,
        movement.messageId,
        storedReference(movement),
        movement.reason,
        movement.actor,
      ]),
    );
  }
  return createHash("sha256").update(lines.join("\n")).digest("hex");
}

/**
 * The text that a movement stores as its reference, and that the hash covers: a funding or an adjustment has an
 * idempotency reference, any other may have a campaign, and none has both. So the hashes of batches that were written
 * without campaigns stay right, and a process of the release before can check a batch with one.
 */
export function storedReference({ reference, campaignId }: Movement): string {
  return reference === "" ? campaignId : reference;
}

/** A batch's statement lines, oldest first, with the balances after each. */
export function entriesOf(batch: EntryBatch): Entry[] {
  let balance = batch.balanceAfter;
  let held = batch.heldAfter;
  const entries: Entry[] = [];
  for (let position = batch.movements.length - 1; position >= 0; position -= 1) {
    const movement = batch.movements[position];
    if (movement === undefined) continue;
    entries.push({
      ...movement,
      tenantId: batch.tenantId,
      currency: batch.currency,
      sequence: batch.sequence,
      position,
      balanceAfter: balance,
      heldAfter: held,
      createdAtMs: batch.createdAtMs,
    });
    const effect = effectOf(movement.kind, movement.amount);
    balance -= effect.balance;
    held -= effect.held;
  }
  return entries.reverse();
}
