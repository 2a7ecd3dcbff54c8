/**
 * One queue of commands per wallet. Each transaction decides and writes all commands that arrived
 * while earlier transactions ran (group commit), in the order of arrival per wallet. A command
 * therefore costs a share of a transaction, and a process never conflicts with itself on a wallet.
 *
 * - Contention: where other replicas write the wallet too, a batch is taken only after its
 *   transaction owns the wallet. The batch grows while another replica owns it, so replicas
 *   alternate with large batches (ADR 103).
 * - Fairness: at most `transactionsMax` transactions run at once. They take wallets in the order of
 *   the oldest waiting command, and a wallet is in one transaction at a time. A wallet with many
 *   commands gets a transaction of its own and then queues again behind all other wallets.
 * - Bounds: beyond `queueMax` per wallet and `totalMax` for all wallets a command is refused with
 *   `service_unavailable` before anything is written.
 * - Isolation of bad commands: when a transaction fails and the database is available, its wallets
 *   are retried one by one, then the wallet's batch is halved until only the bad command fails.
 *   An outage fails the whole batch, because smaller batches would fail too.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError, isUnavailable } from "../../shared/core/errors.ts";
import type { Command, CommandResult, CommandResults } from "../domain/command.ts";
import { type CommitResult, commitBatches, type WalletQueue } from "./commit-batch.ts";
import type { Contention } from "./contention.ts";
import type { WalletMetrics, WalletStore } from "./ports.ts";

/** The only way to change a wallet. */
export type CommandQueue = {
  /** Resolves when the command's effect is durable; rejects with its `AppError` on refusal. */
  execute<C extends Command>(tenantId: string, command: C): Promise<CommandResults[C["kind"]]>;
  /** Commands waiting or being written. */
  readonly pending: number;
  /** Refuses new commands and resolves when all accepted ones are finished. */
  close(): Promise<void>;
};

/** The queue's ports and bounds. */
export type CommandQueueOptions = {
  readonly store: Pick<WalletStore, "transact">;
  readonly clock: Clock;
  /** Commands of one wallet in one transaction. */
  readonly batchMax: number;
  readonly queueMax: number;
  readonly totalMax: number;
  /** Concurrent transactions. */
  readonly transactionsMax: number;
  /** Wallets in one transaction. */
  readonly walletsMax: number;
  /** Contended wallets get their own transaction, so that other wallets do not wait with them. */
  readonly contention?: Pick<Contention, "isContended">;
  readonly metrics?: Pick<WalletMetrics, "onCommit">;
};

/** A wallet with more waiting commands than this gets its own transaction. */
const SHARED_COMMANDS_MAX = 32;

/** Creates an empty queue. */
export function createCommandQueue(options: CommandQueueOptions): CommandQueue {
  const queues = new Map<string, WalletQueue>();
  let ready: WalletQueue[] = [];
  let running = 0;
  let pending = 0;
  let isScheduled = false;
  let closed = false;
  let onIdle: (() => void) | undefined;

  function makeReady(queue: WalletQueue): void {
    ready.push(queue);
    if (isScheduled) return;
    isScheduled = true;
    // One iteration of the event loop: requests that were read together are written together.
    setImmediate(() => {
      isScheduled = false;
      startCommits();
    });
  }

  function startCommits(): void {
    while (running < options.transactionsMax && ready.length > 0) {
      const { group, rest } = nextGroup(ready, options);
      ready = rest;
      running += 1;
      void commitGroup(group);
    }
  }

  async function commitGroup(group: readonly WalletQueue[]): Promise<void> {
    const commit = await commitBatches(options, group);
    running -= 1;
    const hasBadCommand = commit.error !== undefined && !isUnavailable(commit.error);
    if (hasBadCommand && group.length > 1) for (const queue of group) queue.isIsolated = true;
    else for (const queue of group) finish(queue, commit, hasBadCommand);
    for (const queue of group) {
      if (queue.waiting.length > 0) makeReady(queue);
      else queues.delete(queue.tenantId);
    }
    startCommits();
    if (queues.size === 0) onIdle?.();
  }

  /** Resolves the callers of a batch, or halves the queue's next batch after a bad command. */
  function finish(queue: WalletQueue, commit: CommitResult, hasBadCommand: boolean): void {
    const taken = commit.taken.get(queue) ?? 0;
    if (hasBadCommand && taken > 1) {
      queue.limit = taken >> 1;
      return;
    }
    queue.limit = Math.min(options.batchMax, queue.limit * 2);
    queue.isIsolated = queue.limit < options.batchMax;
    const results = commit.results.get(queue);
    const done = queue.waiting.splice(0, taken);
    pending -= done.length;
    done.forEach(({ resolve, reject }, at) => {
      const result = results?.[at];
      if (result === undefined) reject(commit.error);
      else if (result instanceof AppError) reject(result);
      else resolve(result);
    });
  }

  function add(tenantId: string, command: Command): Promise<CommandResult> {
    if (closed) return Promise.reject(busy("the wallet queue is closing"));
    if (pending >= options.totalMax) return Promise.reject(busy("too many commands in all"));
    const known = queues.get(tenantId);
    if (known !== undefined && known.waiting.length >= options.queueMax) {
      return Promise.reject(busy("too many commands for one wallet"));
    }
    pending += 1;
    return new Promise<CommandResult>((resolve, reject) => {
      const queue = known ?? { tenantId, waiting: [], limit: options.batchMax, isIsolated: false };
      queue.waiting.push({ command, resolve, reject });
      if (known !== undefined) return;
      queues.set(tenantId, queue);
      makeReady(queue);
    });
  }

  return {
    execute: async <C extends Command>(tenantId: string, command: C) =>
      // `decide` gives each command a result of its own kind.
      (await add(tenantId, command)) as CommandResults[C["kind"]],
    get pending() {
      return pending;
    },
    close() {
      closed = true;
      if (queues.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        onIdle = resolve;
      });
    },
  };
}

/** The wallets of the next transaction: the longest waiting one, and others with few commands. */
function nextGroup(
  ready: readonly WalletQueue[],
  { walletsMax, contention }: Pick<CommandQueueOptions, "walletsMax" | "contention">,
): { group: WalletQueue[]; rest: WalletQueue[] } {
  const canShare = (queue: WalletQueue) =>
    !queue.isIsolated &&
    queue.waiting.length <= SHARED_COMMANDS_MAX &&
    contention?.isContended(queue.tenantId) !== true;
  const [first, ...others] = ready;
  if (first === undefined) return { group: [], rest: [] };
  if (!canShare(first)) return { group: [first], rest: others };
  const group = [first];
  const rest: WalletQueue[] = [];
  for (const queue of others) {
    if (group.length < walletsMax && canShare(queue)) group.push(queue);
    else rest.push(queue);
  }
  return { group, rest };
}

function busy(cause: string): AppError {
  return new AppError("service_unavailable", "The service is busy; try again shortly.", { cause });
}
