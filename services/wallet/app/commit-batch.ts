/** One transaction of the command queue: take the batches, load, decide, save. */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import type { Command, CommandResult } from "../domain/command.ts";
import { decide } from "../domain/decide.ts";
import type { Changes } from "../domain/ledger-batch.ts";
import type { RequiredDocuments, WalletMetrics, WalletStore, WalletTransaction } from "./ports.ts";

/** The commands that wait for one wallet. */
export type WalletQueue = {
  readonly tenantId: string;
  readonly waiting: {
    readonly command: Command;
    readonly resolve: (result: CommandResult) => void;
    readonly reject: (error: unknown) => void;
  }[];
  /** The maximum number of commands in this wallet's next batch. */
  limit: number;
  /** Set after a failure: the wallet shares no transaction until its batches succeed again. */
  isIsolated: boolean;
};

/** The result of one transaction: commands taken per queue, and their results in order. */
export type CommitResult = {
  readonly taken: ReadonlyMap<WalletQueue, number>;
  readonly results: ReadonlyMap<WalletQueue, readonly (CommandResult | AppError)[]>;
  /** Set when the transaction failed as a whole. */
  readonly error?: unknown;
};

type Batches = ReadonlyMap<WalletQueue, readonly Command[]>;

/** Takes a batch from the head of each queue, decides and writes all of them. Never throws. */
export async function commitBatches(
  options: {
    readonly store: Pick<WalletStore, "transact">;
    readonly clock: Clock;
    readonly metrics?: Pick<WalletMetrics, "onCommit">;
  },
  queues: readonly WalletQueue[],
): Promise<CommitResult> {
  const startedMs = performance.now();
  // Sorted: two replicas then conflict at the first wallet they share, and cannot deadlock.
  const tenantIds = queues.map(({ tenantId }) => tenantId).sort();
  // If the transaction fails before it has read the wallets, these commands fail with it.
  const takenFirst = takeBatches(queues);
  let batches = takenFirst;
  const attempt = (expectNew: boolean) =>
    options.store.transact(tenantIds, (tx) => {
      batches = takeBatches(queues);
      return decideAndSave(tx, batches, takenFirst, options.clock.now(), expectNew);
    });
  try {
    const results = await attempt(true).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "already_exists") return attempt(false);
      throw error;
    });
    const taken = sizesOf(results);
    const commands = [...taken.values()].reduce((sum, size) => sum + size, 0);
    options.metrics?.onCommit(commands, performance.now() - startedMs);
    return { taken, results };
  } catch (error) {
    return { taken: sizesOf(batches), results: new Map(), error };
  }
}

function sizesOf(lists: ReadonlyMap<WalletQueue, readonly unknown[]>): Map<WalletQueue, number> {
  return new Map([...lists].map(([queue, { length }]) => [queue, length]));
}

function takeBatches(queues: readonly WalletQueue[]): Batches {
  const commandsOf = (queue: WalletQueue) =>
    queue.waiting.slice(0, queue.limit).map(({ command }) => command);
  return new Map(queues.map((queue) => [queue, commandsOf(queue)]));
}

/**
 * Decides and writes batches inside their transaction. Holds and settlements are assumed to be new. Their ids are
 * looked up only after a refusal, because a repeated hold must get its first result and not `insufficient_balance`, or
 * after a unique index has rejected one of them.
 *
 * A wallet that was read and not written may have changed in another replica since it was read. Its refusals hold for
 * commands that were queued before the read (`takenFirst`). Commands that arrived during the read get no result here
 * and wait for the next transaction.
 *
 * Wallets that were not even read (`isAssumed`) are proved by the save, which fails if one has changed. If the save
 * would not write all of them, they are read first, and their commands are decided again.
 */
async function decideAndSave(
  tx: WalletTransaction,
  batches: Batches,
  takenFirst: Batches,
  nowMs: number,
  expectNew: boolean,
): Promise<Map<WalletQueue, readonly (CommandResult | AppError)[]>> {
  let decided = await decideAll(tx, batches, nowMs, expectNew);
  if (tx.isAssumed && decided.changes.length < batches.size) {
    await tx.read();
    decided = await decideAll(tx, batches, nowMs, expectNew);
  }
  if (expectNew && decided.hasRefusal) decided = await decideAll(tx, batches, nowMs, false);
  if (decided.changes.length > 0) await tx.save(decided.changes);
  if (tx.isExclusive) return decided.results;
  const written = new Set(decided.changes.map(({ wallet }) => wallet.tenantId));
  return new Map(
    [...decided.results].map(([queue, results]) => [
      queue,
      written.has(queue.tenantId) ? results : results.slice(0, takenFirst.get(queue)?.length),
    ]),
  );
}

async function decideAll(
  tx: WalletTransaction,
  batches: Batches,
  nowMs: number,
  expectNew: boolean,
) {
  const required = new Map(
    [...batches].map(([queue, commands]) => [
      queue.tenantId,
      requiredDocuments(commands, expectNew),
    ]),
  );
  const views = await tx.load(required);
  const changes: Changes[] = [];
  const results = new Map<WalletQueue, readonly (CommandResult | AppError)[]>();
  let hasRefusal = false;
  for (const [queue, commands] of batches) {
    const view = views.get(queue.tenantId);
    if (view === undefined) {
      const missing = new AppError("not_found", "No such wallet.");
      results.set(
        queue,
        commands.map(() => missing),
      );
      continue;
    }
    const decision = decide(view, commands, { nowMs, newId });
    results.set(queue, decision.results);
    if (decision.changes !== undefined) changes.push(decision.changes);
    if (decision.hasRefusal) hasRefusal = true;
  }
  return { changes, results, hasRefusal };
}

function requiredDocuments(commands: readonly Command[], expectNew: boolean): RequiredDocuments {
  const reservationIds = new Set<string>();
  const messageIds: string[] = [];
  const references: string[] = [];
  for (const command of commands) {
    switch (command.kind) {
      case "hold":
        if (!expectNew) reservationIds.add(command.reservationId);
        break;
      case "settle":
        reservationIds.add(command.reservationId);
        if (!expectNew) messageIds.push(command.messageId);
        break;
      case "release":
        reservationIds.add(command.reservationId);
        break;
      case "fund":
      case "adjust":
        references.push(command.reference);
        break;
      case "update":
        break;
    }
  }
  return { reservationIds: [...reservationIds], messageIds, references };
}
