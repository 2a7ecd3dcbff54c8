/**
 * One queue per wallet, and one transaction for many wallets: whatever is asked while
 * transactions are running is decided and written together in the next one (group commit), per
 * wallet in the order it came. So a command costs a share of a transaction, and a process never
 * conflicts with itself on a wallet.
 *
 * - Where other replicas want the wallet too, a batch is taken only once its transaction has it to
 *   itself. While another replica keeps it waiting, the batch grows: several replicas on one wallet
 *   take turns with large batches instead of collapsing into conflicts.
 * - Fair over wallets: at most `flushesMax` transactions run at once, wallets in order of their
 *   oldest wait, a wallet in one at a time. A wallet with much to do goes alone, so that others
 *   do not wait for its batch, and queues again behind all of them.
 * - Bounded: beyond `queueMax` per wallet and `totalMax` over all, a command is refused with
 *   `service_unavailable` before anything was written.
 * - Fair to neighbours: when a transaction fails for a reason of its own, its wallets go one by
 *   one, and a wallet's batch is halved, so only the command at fault fails. An outage fails the
 *   whole batch: its parts would meet it too.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import type { Command, Outcome, Outcomes } from "../domain/command.ts";
import { type Flush, flushBatches, type Lane } from "./commit-batch.ts";
import type { WalletStore } from "./ports.ts";

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
  /** Commands of one wallet in one transaction. */
  readonly batchMax: number;
  readonly queueMax: number;
  readonly totalMax: number;
  /** Transactions at once. */
  readonly flushesMax: number;
  /** Wallets in one transaction. */
  readonly walletsMax: number;
  /** Failures of a whole batch that parting it cannot cure. */
  readonly isTransient: (error: unknown) => boolean;
  /** Wallets that are hot on another replica: they go alone, so that no neighbour waits with them. */
  readonly isHotElsewhere?: (tenantId: string) => boolean;
  readonly onFlush?: ((commands: number, durationMs: number) => void) | undefined;
};

/** A wallet with more waiting than this goes alone. */
const SHARED_COMMANDS_MAX = 32;

/** Starts the queue. */
export function createCommandQueue(options: CommandQueueOptions): CommandQueue {
  const lanes = new Map<string, Lane>();
  let ready: Lane[] = [];
  let running = 0;
  let pending = 0;
  let isScheduled = false;
  let closed = false;
  let onIdle: (() => void) | undefined;

  function makeReady(lane: Lane): void {
    ready.push(lane);
    if (isScheduled) return;
    isScheduled = true;
    // One turn of the event loop lets requests that were read together be written together.
    setImmediate(() => {
      isScheduled = false;
      startFlushes();
    });
  }

  function startFlushes(): void {
    while (running < options.flushesMax && ready.length > 0) {
      const { group, rest } = nextGroup(ready, options);
      ready = rest;
      running += 1;
      void runGroup(group);
    }
  }

  async function runGroup(group: readonly Lane[]): Promise<void> {
    const flush = await flushBatches(options, group);
    running -= 1;
    const isAtFault = flush.error !== undefined && !options.isTransient(flush.error);
    if (isAtFault && group.length > 1) for (const lane of group) lane.isAlone = true;
    else for (const lane of group) finish(lane, flush, isAtFault);
    for (const lane of group) {
      if (lane.waiting.length > 0) makeReady(lane);
      else lanes.delete(lane.tenantId);
    }
    startFlushes();
    if (lanes.size === 0) onIdle?.();
  }

  /** Answers what a flush did for a lane, or halves what the lane may take next time. */
  function finish(lane: Lane, flush: Flush, isAtFault: boolean): void {
    const taken = flush.taken.get(lane) ?? 0;
    if (isAtFault && taken > 1) {
      lane.limit = taken >> 1;
      return;
    }
    lane.limit = Math.min(options.batchMax, lane.limit * 2);
    lane.isAlone = lane.limit < options.batchMax;
    const outcomes = flush.outcomes.get(lane);
    const done = lane.waiting.splice(0, taken);
    pending -= done.length;
    done.forEach(({ resolve, reject }, at) => {
      const outcome = outcomes?.[at];
      if (outcome === undefined) reject(flush.error);
      else if (outcome instanceof AppError) reject(outcome);
      else resolve(outcome);
    });
  }

  function add(tenantId: string, command: Command): Promise<Outcome> {
    if (closed) return Promise.reject(busy("the wallet queue is closing"));
    if (pending >= options.totalMax) return Promise.reject(busy("too many commands in all"));
    const known = lanes.get(tenantId);
    if (known !== undefined && known.waiting.length >= options.queueMax) {
      return Promise.reject(busy("too many commands for one wallet"));
    }
    pending += 1;
    return new Promise<Outcome>((resolve, reject) => {
      const lane = known ?? { tenantId, waiting: [], limit: options.batchMax, isAlone: false };
      lane.waiting.push({ command, resolve, reject });
      if (known !== undefined) return;
      lanes.set(tenantId, lane);
      makeReady(lane);
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

/** The wallets of the next transaction: the one that waits longest, and others with little to do. */
function nextGroup(
  ready: readonly Lane[],
  { walletsMax, isHotElsewhere }: Pick<CommandQueueOptions, "walletsMax" | "isHotElsewhere">,
): { group: Lane[]; rest: Lane[] } {
  const isSmall = (lane: Lane) =>
    !lane.isAlone &&
    lane.waiting.length <= SHARED_COMMANDS_MAX &&
    isHotElsewhere?.(lane.tenantId) !== true;
  const [first, ...others] = ready;
  if (first === undefined) return { group: [], rest: [] };
  if (!isSmall(first)) return { group: [first], rest: others };
  const group = [first];
  const rest: Lane[] = [];
  for (const lane of others) {
    if (group.length < walletsMax && isSmall(lane)) group.push(lane);
    else rest.push(lane);
  }
  return { group, rest };
}

function busy(cause: string): AppError {
  return new AppError("service_unavailable", "The service is busy; try again shortly.", { cause });
}
