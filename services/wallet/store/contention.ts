/**
 * Taking turns on wallets that several replicas write. MongoDB answers a conflict at once and has
 * no queue for a document, so replicas that only ask again spend their time on conflicts. They tell
 * each other two things instead: "I wait for this wallet", and, when done, "you are next". Who is
 * named goes at once, everyone else waits to be named; each then finds a large batch.
 *
 * - Notes are hints. One that is lost, late or wrong costs time, never truth: who hears nothing
 *   asks the database again after a few milliseconds, and what is written rests on the transaction.
 * - A wallet that no other replica wants has no line here, and costs no note.
 * - A transaction on many wallets only listens: it asks the database every few milliseconds until
 *   it is named for one of them, since being named for one says little about the others.
 */
import { pause } from "../../shared/flow/backoff.ts";

/** What replicas tell each other. `alone`: the wallet had the sender's transaction to itself. */
export type ContentionHint = {
  readonly from: string;
  readonly tenantIds: readonly string[];
  readonly alone: boolean;
} & (
  | { readonly kind: "waits" }
  /** `from` is done with these; `to` is next, or whoever comes when it is empty. */
  | { readonly kind: "next"; readonly to: string }
);

/** One replica's view of whose turn it is. */
export type Turns = {
  /** Takes in another replica's note. */
  hear(note: ContentionHint): void;
  /** Whether another replica has lately given this wallet transactions of its own. */
  isHotElsewhere(tenantId: string): boolean;
  /** Opens a transaction's turn on these wallets. */
  enter(tenantIds: readonly string[]): Turn;
};

/** A transaction's turn: `begin`, `again` after each conflict, and `leave` at the end, always. */
export type Turn = {
  /** Waits while it is another replica's turn. */
  begin(): Promise<void>;
  /** Whether another replica wants one of the wallets too, as far as is known here. */
  expectsOthers(): boolean;
  /** Waits after a conflict. */
  again(): Promise<void>;
  leave(): void;
};

/** A turn lasts this long at most for those who wait: its owner may be dead. */
const PATIENCE_MS = 60;
/** After this long without a note, replicas are taken not to hear each other. */
const SILENCE_MS = 250;
/** A wallet nobody else has wanted for this long has no line any more. */
const FORGET_MS = 1000;
/** Lines remembered at most; forgetting all of them costs a few conflicts. */
const LINES_MAX = 10_000;

type Line = {
  /** Other replicas that wait, longest first, and since when. */
  readonly waiting: Map<string, number>;
  /** Whose turn it is, when it is another's, and since when. */
  holder: string;
  holderSinceMs: number;
  /** When another replica was last heard of this wallet, and of it alone. */
  heardMs: number;
  hotMs: number;
};

/** A transaction of this replica that has not left its wallets yet. */
type Active = {
  /** Named since it last asked the database. */
  isNamed: boolean;
  wake: () => void;
};

/** Makes one replica's turns. `tell` sends a note to the others, or loses it. */
export function createRoundRobin(options: {
  readonly replica: string;
  readonly tell: (note: ContentionHint) => void;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}): Turns {
  const { replica: from, tell, nowMs = () => performance.now() } = options;
  const lines = new Map<string, Line>();
  const active = new Map<string, Set<Active>>();

  function lineOf(tenantId: string): Line | undefined {
    const line = lines.get(tenantId);
    if (line === undefined || nowMs() - line.heardMs < FORGET_MS) return line;
    lines.delete(tenantId);
    return undefined;
  }

  /** The line of a wallet that another replica was just heard of. */
  function hearOf(tenantId: string, alone: boolean): Line {
    const now = nowMs();
    let line = lineOf(tenantId);
    if (line === undefined) {
      if (lines.size >= LINES_MAX) lines.clear();
      const never = Number.NEGATIVE_INFINITY;
      line = { waiting: new Map(), holder: "", holderSinceMs: 0, heardMs: now, hotMs: never };
      lines.set(tenantId, line);
    }
    line.heardMs = now;
    if (alone) line.hotMs = now;
    return line;
  }

  function isOthersTurn(tenantId: string): boolean {
    const line = lineOf(tenantId);
    return line !== undefined && line.holder !== "" && nowMs() - line.holderSinceMs < PATIENCE_MS;
  }

  const isHeard = (tenantId: string) =>
    nowMs() - (lines.get(tenantId)?.heardMs ?? Number.NEGATIVE_INFINITY) < SILENCE_MS;

  /** Names those that wait longest, or says that wallets are free. */
  function passOn(tenantIds: readonly string[], alone: boolean): void {
    const now = nowMs();
    const byNext = new Map<string, string[]>();
    for (const tenantId of tenantIds) {
      const line = lineOf(tenantId);
      if (line === undefined) continue;
      const to = takeLongest(line, now);
      line.holder = to;
      line.holderSinceMs = now;
      byNext.set(to, [...(byNext.get(to) ?? []), tenantId]);
    }
    for (const [to, ids] of byNext) tell({ kind: "next", from, tenantIds: ids, to, alone });
  }

  /** Takes in whose turn it is; answers whether this replica is named and has nothing to do. */
  function isIdleTurn(line: Line, tenantId: string, named: string): boolean {
    line.waiting.delete(named);
    line.holder = named === from ? "" : named;
    line.holderSinceMs = line.heardMs;
    if (named !== "" && named !== from) return false;
    const own = active.get(tenantId);
    for (const one of own ?? []) {
      one.isNamed = true;
      one.wake();
    }
    return own === undefined && named === from;
  }

  function enter(tenantIds: readonly string[]): Turn {
    const self: Active = { isNamed: false, wake: () => {} };
    const alone = tenantIds.length === 1;
    let conflicts = 0;
    for (const id of tenantIds) active.set(id, (active.get(id) ?? new Set()).add(self));

    /** Waits to be named, or for some time. */
    async function wait(wanted: readonly string[]): Promise<void> {
      if (!self.isNamed) {
        const isPatient = alone && wanted.some(isHeard);
        // Said once; and again where it is heard, for it may have been forgotten.
        if (conflicts < 2 || isPatient) tell({ kind: "waits", from, tenantIds: wanted, alone });
        const woken = new AbortController();
        self.wake = () => woken.abort();
        const ms = isPatient ? PATIENCE_MS * (0.5 + Math.random()) : retryDelayMs(conflicts);
        await pause(ms, woken.signal);
      }
      self.isNamed = false;
    }

    return {
      async begin() {
        const busy = tenantIds.filter(isOthersTurn);
        if (busy.length > 0) await wait(busy);
      },
      expectsOthers: () => conflicts > 0 || tenantIds.some((id) => lineOf(id) !== undefined),
      again() {
        conflicts += 1;
        return wait(tenantIds);
      },
      leave() {
        for (const tenantId of tenantIds) {
          const own = active.get(tenantId);
          own?.delete(self);
          if (own?.size === 0) active.delete(tenantId);
        }
        passOn(tenantIds, alone);
      },
    };
  }

  return {
    hear(note) {
      if (note.from === from) return;
      const idle: string[] = [];
      for (const tenantId of note.tenantIds) {
        const line = hearOf(tenantId, note.alone);
        if (note.kind === "waits") {
          if (!line.waiting.has(note.from)) line.waiting.set(note.from, line.heardMs);
          continue;
        }
        line.waiting.delete(note.from);
        if (isIdleTurn(line, tenantId, note.to)) idle.push(tenantId);
      }
      // The next one must not wait for who has nothing to do here any more.
      passOn(idle, note.alone);
    },
    isHotElsewhere: (tenantId) => {
      const line = lineOf(tenantId);
      return line !== undefined && nowMs() - line.hotMs < SILENCE_MS;
    },
    enter,
  };
}

/** Takes who has waited longest out of the line; empty when nobody has waited lately. */
function takeLongest(line: Line, nowMs: number): string {
  for (const [other, sinceMs] of line.waiting) {
    line.waiting.delete(other);
    if (nowMs - sinceMs < FORGET_MS) return other;
  }
  return "";
}

/** How long to wait before asking the database again, after that many conflicts unheard. */
export function retryDelayMs(conflicts: number): number {
  return Math.min(8, 1 + conflicts * 0.25) * (0.5 + Math.random());
}
