/** One transaction of the command queue: take, load, decide, save. */
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import type { Command, Outcome } from "../domain/command.ts";
import { decide } from "../domain/decide.ts";
import type { Changes } from "../domain/ledger-batch.ts";
import type { CommandQueueOptions } from "./command-queue.ts";
import type { Needs, WalletTransaction } from "./ports.ts";

/** What waits for one wallet. */
export type Lane = {
  readonly tenantId: string;
  readonly waiting: {
    readonly command: Command;
    readonly resolve: (outcome: Outcome) => void;
    readonly reject: (error: unknown) => void;
  }[];
  /** Commands it may take at once. */
  limit: number;
  /** Not to share a transaction with others: something in it is at fault. */
  isAlone: boolean;
};

/** What a transaction did: how many commands of each lane it took, and their answers in order. */
export type Flush = {
  readonly taken: ReadonlyMap<Lane, number>;
  readonly outcomes: ReadonlyMap<Lane, readonly (Outcome | AppError)[]>;
  /** Set when the transaction failed as a whole. */
  readonly error?: unknown;
};

type Batches = ReadonlyMap<Lane, readonly Command[]>;

/** Takes, decides and writes a batch from the head of each lane; never throws. */
export async function flushBatches(
  options: Pick<CommandQueueOptions, "store" | "clock" | "onFlush">,
  lanes: readonly Lane[],
): Promise<Flush> {
  const startedMs = performance.now();
  // Sorted, so that two replicas meet at the first wallet they share and not crosswise.
  const tenantIds = lanes.map(({ tenantId }) => tenantId).sort();
  // Should the transaction fail before it has the wallets, these hear of it.
  const asked = takeBatches(lanes);
  let batches = asked;
  const attempt = (expectNew: boolean) =>
    options.store.transact(tenantIds, (tx) => {
      batches = takeBatches(lanes);
      return decideAndSave(tx, batches, asked, options.clock.now(), expectNew);
    });
  try {
    const outcomes = await attempt(true).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "already_exists") return attempt(false);
      throw error;
    });
    const taken = sizesOf(outcomes);
    const commands = [...taken.values()].reduce((sum, size) => sum + size, 0);
    options.onFlush?.(commands, performance.now() - startedMs);
    return { taken, outcomes };
  } catch (error) {
    return { taken: sizesOf(batches), outcomes: new Map(), error };
  }
}

function sizesOf(lists: ReadonlyMap<Lane, readonly unknown[]>): Map<Lane, number> {
  return new Map([...lists].map(([lane, { length }]) => [lane, length]));
}

function takeBatches(lanes: readonly Lane[]): Batches {
  const commandsOf = (lane: Lane) => lane.waiting.slice(0, lane.limit).map((one) => one.command);
  return new Map(lanes.map((lane) => [lane, commandsOf(lane)]));
}

/**
 * Decides and writes batches inside their transaction. Holds and settlements are expected to be
 * new: their ids are looked up only when one of them was refused (a repeat must hear its first
 * outcome, not "insufficient"), or when a unique index has said that one is not new after all.
 * What is not written proves nothing of a wallet that was only read: there, those that came while it
 * was read are not answered, and wait for the next transaction.
 */
async function decideAndSave(
  tx: WalletTransaction,
  batches: Batches,
  asked: Batches,
  nowMs: number,
  expectNew: boolean,
): Promise<Map<Lane, readonly (Outcome | AppError)[]>> {
  let decided = await decideAll(tx, batches, nowMs, expectNew);
  if (expectNew && decided.hasRefusal) decided = await decideAll(tx, batches, nowMs, false);
  if (decided.changes.length > 0) await tx.save(decided.changes);
  if (tx.isExclusive) return decided.outcomes;
  const written = new Set(decided.changes.map(({ wallet }) => wallet.tenantId));
  const isCertain = ({ tenantId }: Lane) => written.has(tenantId);
  return new Map(
    [...decided.outcomes].map(([lane, outcomes]) => [
      lane,
      isCertain(lane) ? outcomes : outcomes.slice(0, asked.get(lane)?.length),
    ]),
  );
}

async function decideAll(
  tx: WalletTransaction,
  batches: Batches,
  nowMs: number,
  expectNew: boolean,
) {
  const needs = new Map(
    [...batches].map(([lane, commands]) => [lane.tenantId, needsOf(commands, expectNew)]),
  );
  const views = await tx.load(needs);
  const changes: Changes[] = [];
  const outcomes = new Map<Lane, readonly (Outcome | AppError)[]>();
  let hasRefusal = false;
  for (const [lane, commands] of batches) {
    const view = views.get(lane.tenantId);
    if (view === undefined) {
      const missing = new AppError("not_found", "No such wallet.");
      outcomes.set(
        lane,
        commands.map(() => missing),
      );
      continue;
    }
    const decision = decide(view, commands, { nowMs, newId });
    outcomes.set(lane, decision.outcomes);
    if (decision.changes !== undefined) changes.push(decision.changes);
    if (decision.hasRefusal) hasRefusal = true;
  }
  return { changes, outcomes, hasRefusal };
}

function needsOf(commands: readonly Command[], expectNew: boolean): Needs {
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
