/**
 * Hand-over of wallets that several replicas write (ADR 12). MongoDB reports a write conflict at
 * once and queues nothing, so replicas that only retry spend their time on conflicts. Replicas
 * therefore exchange two hints: "I wait for this wallet" and, after a transaction, "you are next".
 * The named replica continues at once, the others wait to be named, and each finds a large batch.
 *
 * - Hints are only hints. A lost, late or wrong hint costs time, never correctness: a replica that
 *   receives none retries after a few milliseconds, and MongoDB's transactions guard every write.
 * - A wallet that only one replica writes has no state here and costs no hint.
 * - A transaction on several wallets retries every few milliseconds until it is named for one of
 *   them: being named for one wallet says little about the others.
 */
import { pause } from "../../shared/flow/backoff.ts";
import type { Contention, ContentionHint, WalletAccess } from "./ports.ts";

/** Longest ownership that waiting replicas respect: the owner may be dead. */
const OWNERSHIP_MAX_MS = 60;
/** Hints older than this do not count: the replicas may have lost their connection. */
const HINT_FRESH_MS = 250;
/** A wallet without a hint for this long is no longer contended. */
const FORGET_MS = 1000;
/** Most contended wallets kept in memory. Dropping all of them costs a few conflicts. */
const CONTENDED_MAX = 10_000;

/** A wallet that another replica wants or wanted a moment ago. */
type ContendedWallet = {
  /** Other replicas that wait, longest first, and since when. */
  readonly waiting: Map<string, number>;
  /** The other replica that was named next, or empty, and since when. */
  owner: string;
  ownerSinceMs: number;
  /** Time of the last hint, and of the last one about a transaction on this wallet alone. */
  lastHintMs: number;
  lastAloneMs: number;
};

/** A transaction of this replica on a wallet. */
type ActiveTransaction = {
  /** Named since its last attempt. */
  isNamed: boolean;
  wake: () => void;
};

/** Creates one replica's view. `publish` sends a hint to the other replicas, or loses it. */
export function createContention(options: {
  readonly replica: string;
  readonly publish: (hint: ContentionHint) => void;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}): Contention {
  const { replica: from, publish, nowMs = () => performance.now() } = options;
  const contended = new Map<string, ContendedWallet>();
  const active = new Map<string, Set<ActiveTransaction>>();

  function find(tenantId: string): ContendedWallet | undefined {
    const wallet = contended.get(tenantId);
    if (wallet === undefined || nowMs() - wallet.lastHintMs < FORGET_MS) return wallet;
    contended.delete(tenantId);
    return undefined;
  }

  /** Records that a hint about the wallet has just arrived. */
  function recordHint(tenantId: string, alone: boolean): ContendedWallet {
    const now = nowMs();
    let wallet = find(tenantId);
    if (wallet === undefined) {
      if (contended.size >= CONTENDED_MAX) contended.clear();
      const never = Number.NEGATIVE_INFINITY;
      wallet = {
        waiting: new Map(),
        owner: "",
        ownerSinceMs: 0,
        lastHintMs: now,
        lastAloneMs: never,
      };
      contended.set(tenantId, wallet);
    }
    wallet.lastHintMs = now;
    if (alone) wallet.lastAloneMs = now;
    return wallet;
  }

  function isOwnedElsewhere(tenantId: string): boolean {
    const wallet = find(tenantId);
    if (wallet === undefined || wallet.owner === "") return false;
    return nowMs() - wallet.ownerSinceMs < OWNERSHIP_MAX_MS;
  }

  const hasFreshHint = (tenantId: string) =>
    nowMs() - (contended.get(tenantId)?.lastHintMs ?? Number.NEGATIVE_INFINITY) < HINT_FRESH_MS;

  /** Names the longest waiting replica of each wallet, or publishes that the wallet is free. */
  function handOver(tenantIds: readonly string[], alone: boolean): void {
    const now = nowMs();
    const byNext = new Map<string, string[]>();
    for (const tenantId of tenantIds) {
      const wallet = find(tenantId);
      if (wallet === undefined) continue;
      const to = takeLongestWaiting(wallet, now);
      wallet.owner = to;
      wallet.ownerSinceMs = now;
      byNext.set(to, [...(byNext.get(to) ?? []), tenantId]);
    }
    for (const [to, ids] of byNext) publish({ kind: "next", from, tenantIds: ids, to, alone });
  }

  /** Records the named replica. Returns whether this replica is named and has no transaction. */
  function isNamedWhileIdle(wallet: ContendedWallet, tenantId: string, named: string): boolean {
    wallet.waiting.delete(named);
    wallet.owner = named === from ? "" : named;
    wallet.ownerSinceMs = wallet.lastHintMs;
    if (named !== "" && named !== from) return false;
    const own = active.get(tenantId);
    for (const transaction of own ?? []) {
      transaction.isNamed = true;
      transaction.wake();
    }
    return own === undefined && named === from;
  }

  function enter(tenantIds: readonly string[]): WalletAccess {
    const self: ActiveTransaction = { isNamed: false, wake: () => {} };
    const alone = tenantIds.length === 1;
    let conflicts = 0;
    for (const id of tenantIds) active.set(id, (active.get(id) ?? new Set()).add(self));

    /** Waits until this transaction is named or a delay has passed. */
    async function wait(wanted: readonly string[]): Promise<void> {
      if (!self.isNamed) {
        const expectsName = alone && wanted.some(hasFreshHint);
        // Published after each of the first conflicts, and again while the other replicas publish
        // hints themselves, because they may have forgotten it.
        if (conflicts < 2 || expectsName)
          publish({ kind: "waits", from, tenantIds: wanted, alone });
        const woken = new AbortController();
        self.wake = () => woken.abort();
        const delayMs = expectsName
          ? OWNERSHIP_MAX_MS * (0.5 + Math.random())
          : retryDelayMs(conflicts);
        await pause(delayMs, woken.signal);
      }
      self.isNamed = false;
    }

    return {
      async waitForOwner() {
        const owned = tenantIds.filter(isOwnedElsewhere);
        if (owned.length > 0) await wait(owned);
      },
      expectsConflict: () => conflicts > 0 || tenantIds.some((id) => find(id) !== undefined),
      waitAfterConflict() {
        conflicts += 1;
        return wait(tenantIds);
      },
      leave() {
        for (const tenantId of tenantIds) {
          const own = active.get(tenantId);
          own?.delete(self);
          if (own?.size === 0) active.delete(tenantId);
        }
        handOver(tenantIds, alone);
      },
    };
  }

  return {
    receive(hint) {
      if (hint.from === from) return;
      const unused: string[] = [];
      for (const tenantId of hint.tenantIds) {
        const wallet = recordHint(tenantId, hint.alone);
        if (hint.kind === "waits") {
          if (!wallet.waiting.has(hint.from)) wallet.waiting.set(hint.from, wallet.lastHintMs);
          continue;
        }
        wallet.waiting.delete(hint.from);
        if (isNamedWhileIdle(wallet, tenantId, hint.to)) unused.push(tenantId);
      }
      // This replica needs those wallets no longer: without a hand-over the next one would wait.
      handOver(unused, hint.alone);
    },
    isContended: (tenantId) => {
      const wallet = find(tenantId);
      return wallet !== undefined && nowMs() - wallet.lastAloneMs < HINT_FRESH_MS;
    },
    enter,
  };
}

/** Removes and returns the longest waiting replica; empty when none has waited recently. */
function takeLongestWaiting(wallet: ContendedWallet, nowMs: number): string {
  for (const [replica, sinceMs] of wallet.waiting) {
    wallet.waiting.delete(replica);
    if (nowMs - sinceMs < FORGET_MS) return replica;
  }
  return "";
}

/** Delay before the next attempt after that many conflicts, when no hint has arrived. */
export function retryDelayMs(conflicts: number): number {
  return Math.min(8, 1 + conflicts * 0.25) * (0.5 + Math.random());
}
