/**
 * One queue per wallet: whatever is asked of a wallet while a transaction is running is decided
 * and written together in the next one (group commit), in the order it came. So a command costs a
 * share of a transaction, and a process never conflicts with itself on a wallet.
 *
 * - A batch is taken only once its transaction has the wallet to itself. While another replica
 *   keeps it waiting, the batch grows: several replicas on one wallet take turns with large
 *   batches instead of collapsing into conflicts.
 * - Fair over wallets: at most `flushesMax` transactions run at once, in order of arrival, and a
 *   wallet has one at a time. A hot wallet queues again behind all others.
 * - Bounded: beyond `queueMax` per wallet and `totalMax` over all, a command is refused with
 *   `service_unavailable` before anything was written.
 * - Fair to neighbours: a batch that fails for a reason of its own is halved and tried again, so
 *   only the command at fault fails. An outage fails the whole batch: halves would meet it too.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import type { Command, Outcome, Outcomes } from "../domain/command.ts";
import { decide } from "../domain/decide.ts";
import { createGate } from "./gate.ts";
import type { Needs, WalletStore, WalletTransaction } from "./ports.ts";

/** The only way to change a wallet. */
export type CommandQueue = {
  /** Answers once the command's effect is durable; throws its `AppError` when it is refused. */
  run<C extends Command>(tenantId: string, command: C): Promise<Outcomes[C["kind"]]>;
  /** Commands waiting or being written. */
  readonly pending: number;
  /** Waits until everything taken so far is settled; later commands are refused. */
  close(): Promise<void>;
};

/** Bounds of the queue and what it reports. */
export type CommandQueueOptions = {
  readonly store: Pick<WalletStore, "transact">;
  readonly clock: Clock;
  readonly batchMax: number;
  readonly queueMax: number;
  readonly totalMax: number;
  readonly flushesMax: number;
  /** Failures of a whole batch that halving cannot cure. */
  readonly isTransient: (error: unknown) => boolean;
  readonly onFlush?: ((commands: number, durationMs: number) => void) | undefined;
};

type Waiting = {
  readonly command: Command;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
};

type Lane = { readonly tenantId: string; readonly waiting: Waiting[] };

/** Starts the queue. */
export function createCommandQueue(options: CommandQueueOptions): CommandQueue {
  const gate = createGate(options.flushesMax);
  const lanes = new Map<string, Lane>();
  let pending = 0;
  let closed = false;
  let onIdle: (() => void) | undefined;

  async function drain(lane: Lane): Promise<void> {
    let limit = options.batchMax;
    while (lane.waiting.length > 0) {
      const flush = await gate.run(() => flushOnce(options, lane, limit));
      const isAtFault = flush.error !== undefined && !options.isTransient(flush.error);
      if (isAtFault && flush.taken.length > 1) {
        limit = flush.taken.length >> 1;
        continue;
      }
      limit = Math.min(options.batchMax, limit * 2);
      lane.waiting.splice(0, flush.taken.length);
      pending -= flush.taken.length;
      answer(flush);
    }
    lanes.delete(lane.tenantId);
    if (lanes.size === 0) onIdle?.();
  }

  function add(tenantId: string, command: Command): Promise<Outcome> {
    if (closed) return Promise.reject(busy("the wallet queue is closing"));
    if (pending >= options.totalMax) return Promise.reject(busy("too many commands in all"));
    let lane = lanes.get(tenantId);
    if (lane !== undefined && lane.waiting.length >= options.queueMax) {
      return Promise.reject(busy("too many commands for one wallet"));
    }
    pending += 1;
    return new Promise<Outcome>((resolve, reject) => {
      if (lane === undefined) {
        lane = { tenantId, waiting: [] };
        lanes.set(tenantId, lane);
        // One turn of the event loop lets requests that were read together be written together.
        setImmediate(drain, lane);
      }
      lane.waiting.push({ command, resolve, reject });
    });
  }

  return {
    run: async <C extends Command>(tenantId: string, command: C) =>
      // `decide` answers each command with the outcome of its own kind.
      (await add(tenantId, command)) as Outcomes[C["kind"]],
    get pending() {
      return pending;
    },
    close() {
      closed = true;
      if (lanes.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        onIdle = resolve;
      });
    },
  };
}

type Flush = {
  readonly taken: readonly Waiting[];
  readonly outcomes: readonly (Outcome | AppError)[];
  readonly error?: unknown;
};

/** Takes, decides and writes one batch from the head of a lane; never throws. */
async function flushOnce(options: CommandQueueOptions, lane: Lane, limit: number): Promise<Flush> {
  const startedMs = performance.now();
  // Should the transaction fail before it has the wallet, this many hear of it.
  let taken: readonly Waiting[] = lane.waiting.slice(0, limit);
  const attempt = (expectNew: boolean) =>
    options.store.transact(lane.tenantId, (tx) => {
      taken = lane.waiting.slice(0, limit);
      const commands = taken.map(({ command }) => command);
      return decideAndSave(tx, commands, options.clock.now(), expectNew);
    });
  try {
    const outcomes = await attempt(true).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "already_exists") return attempt(false);
      throw error;
    });
    options.onFlush?.(taken.length, performance.now() - startedMs);
    return { taken, outcomes };
  } catch (error) {
    return { taken, outcomes: [], error };
  }
}

/**
 * Decides and writes one batch inside its transaction. Holds and settlements are expected to be
 * new: their ids are looked up only when one of them was refused (a repeat must hear its first
 * outcome, not "insufficient"), or when a unique index has said that one is not new after all.
 */
async function decideAndSave(
  tx: WalletTransaction,
  commands: readonly Command[],
  nowMs: number,
  expectNew: boolean,
): Promise<readonly (Outcome | AppError)[]> {
  const context = { nowMs, newId };
  let decision = decide(await tx.load(needsOf(commands, expectNew)), commands, context);
  if (expectNew && decision.hasRefusal) {
    decision = decide(await tx.load(needsOf(commands, false)), commands, context);
  }
  if (decision.changes !== undefined) await tx.save(decision.changes);
  return decision.outcomes;
}

function answer({ taken, outcomes, error }: Flush): void {
  taken.forEach(({ resolve, reject }, at) => {
    const outcome = outcomes[at];
    if (outcome === undefined) reject(error);
    else if (outcome instanceof AppError) reject(outcome);
    else resolve(outcome);
  });
}

function busy(cause: string): AppError {
  return new AppError("service_unavailable", "The service is busy; try again shortly.", { cause });
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
