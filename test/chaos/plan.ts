/**
 * The plan of faults: a pure function of the seed and the length, so that a run can be repeated. Kinds and
 * targets are drawn in random order without repeats: a short run has some of them, a long one has all.
 */
import { type Random, seededRandom } from "../../services/smsc-simulator/domain/latency.ts";
import { LINKS, PROCESSES, SERVERS } from "./topology.ts";

/** The kinds of fault. */
export type FaultKind =
  | "kill"
  | "pause"
  | "restart"
  | "flush"
  | "cut"
  | "slow"
  | "black_hole"
  | "carrier"
  | "disk_full"
  | "clock";

/** One fault of a plan. */
export type Fault = {
  /** From the start of the storm, in milliseconds. */
  readonly atMs: number;
  /** How long it lasts before it is mended. */
  readonly forMs: number;
  readonly kind: FaultKind;
  /** A process, a server, a link, a disk, or for `carrier` the behaviour. */
  readonly target: string;
  /** For `slow` the added latency, for `clock` the step, in milliseconds; else 0. */
  readonly amountMs: number;
};

/** How carriers can misbehave: bodies of the simulator's `POST /behaviour`. */
export const CARRIER_MOODS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  throttling: { faults: { throttle: { probability: 0.4 } } },
  "full queue": { faults: { queue_full: { probability: 0.5 } } },
  "system errors": { faults: { system_error: { probability: 0.6 } } },
  "no answers": { faults: { no_answer: { probability: 0.3, limit: 20 } } },
  "late answers": { faults: { late_answer: { probability: 0.5, delay_ms: 12_000, limit: 40 } } },
  "links dropped": { faults: { drop_link: { probability: 0.2, limit: 5 } } },
  "links frozen": { faults: { half_open: { probability: 0.2, limit: 2 } } },
  unbinding: { faults: { unbind_on_submit: { probability: 0.2, limit: 5 } } },
  "receipts first": { faults: { receipt_before_answer: { probability: 0.7 } } },
  "negative acknowledgements": { faults: { generic_nack: { probability: 0.5 } } },
  "wrong answers": { faults: { wrong_sequence: { probability: 0.2, limit: 5 } } },
  "no binds": { faults: { bind_refused: {}, drop_link: { probability: 0.5, limit: 2 } } },
  "low rate": { rate_per_second: 5 },
  "slow answers": { latency_ms: { min: 200, max: 3000 } },
  "late receipts": { receipts: { delay_ms: 9000 } },
};

/** Data folders that lie on a small file system of their own. */
export const DISKS = ["mongod", "nats-server", "carrier-journal"] as const;

const SERVICES = PROCESSES.map(({ name }) => name);

type Range = readonly [least: number, most: number];
type Card = { readonly share: number; readonly targets: readonly string[]; readonly forMs: Range };

const CARDS: Readonly<Record<FaultKind, Card>> = {
  kill: { share: 5, targets: [...SERVICES, ...SERVERS], forMs: [100, 4000] },
  pause: { share: 3, targets: [...SERVICES, ...SERVERS, "smsc-simulator"], forMs: [1000, 20_000] },
  restart: { share: 1, targets: [...SERVERS, ...SERVICES], forMs: [0, 1500] },
  flush: { share: 1, targets: ["redis"], forMs: [0, 0] },
  cut: { share: 2, targets: LINKS.map(({ name }) => name), forMs: [300, 6000] },
  slow: { share: 1, targets: LINKS.map(({ name }) => name), forMs: [2000, 8000] },
  black_hole: { share: 1, targets: LINKS.map(({ name }) => name), forMs: [1000, 12_000] },
  carrier: { share: 2, targets: Object.keys(CARRIER_MOODS), forMs: [3000, 10_000] },
  disk_full: { share: 1, targets: DISKS, forMs: [1000, 5000] },
  clock: { share: 1, targets: SERVICES, forMs: [2000, 10_000] },
};

/** No faults before the load runs and none at the end, in milliseconds. */
const CALM_MS = 2000;
/** A healthy endpoint's retries outlast this, so that it never counts as dead. */
const RECEIVERS_AWAY_MS_MAX = 5000;
const CLOCK_STEP_MS_MAX = 30_000;

/** The plan of a run. */
export function makePlan(seed: number, minutes: number): Fault[] {
  const random = seededRandom(seed);
  const kinds = createDeck(
    Object.entries(CARDS).flatMap(([kind, { share }]) =>
      new Array<FaultKind>(share).fill(kind as FaultKind),
    ),
    random,
  );
  const targets = new Map<FaultKind, () => string>();
  for (const [kind, card] of Object.entries(CARDS)) {
    targets.set(kind as FaultKind, createDeck(card.targets, random));
  }
  const plan: Fault[] = [];
  const endMs = minutes * 60_000 - CALM_MS;
  const busyUntil = new Map<string, number>();
  for (let atMs = CALM_MS; atMs < endMs; ) {
    const kind = kinds();
    const target = targets.get(kind)?.() ?? "";
    const forMs = Math.min(durationOf(kind, target, random), endMs - atMs);
    const amountMs = amountOf(kind, random);
    // One fault at a time per target; drop faults that overlap.
    const place = kind === "carrier" ? "carrier" : target;
    const isFree = (busyUntil.get(place) ?? 0) <= atMs;
    if (isFree) {
      plan.push({ atMs, forMs, kind, target, amountMs });
      busyUntil.set(place, atMs + forMs + 1000);
    }
    const isOverlapping = random() < 0.6;
    const waitMs = isOverlapping
      ? Math.min(forMs, 4000) * random()
      : Math.min(forMs, 6000) + 1000 * random();
    atMs += Math.round(300 + waitMs);
  }
  return plan;
}

function durationOf(kind: FaultKind, target: string, random: Random): number {
  const [least, most] = CARDS[kind].forMs;
  const forMs = Math.round(least + (most - least) * random());
  return target.endsWith(">receivers") ? Math.min(forMs, RECEIVERS_AWAY_MS_MAX) : forMs;
}

function amountOf(kind: FaultKind, random: Random): number {
  if (kind === "slow") return Math.round(50 + 750 * random());
  if (kind !== "clock") return 0;
  const step = Math.round(1000 + (CLOCK_STEP_MS_MAX - 1000) * random());
  return random() < 0.5 ? step : -step;
}

/** Deals every card once, in random order, before any comes again. */
function createDeck<T>(cards: readonly T[], random: Random): () => T {
  let deck: T[] = [];
  return () => {
    if (deck.length === 0) deck = shuffled(cards, random);
    return deck.pop() as T;
  };
}

function shuffled<T>(cards: readonly T[], random: Random): T[] {
  const deck = [...cards];
  for (let at = deck.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [deck[at], deck[other]] = [deck[other] as T, deck[at] as T];
  }
  return deck;
}

/** One line for the report. */
export function describeFault({ atMs, forMs, kind, target, amountMs }: Fault): string {
  const amount = amountMs === 0 ? "" : ` by ${amountMs} ms`;
  const length = forMs === 0 ? "" : ` for ${forMs} ms`;
  return `${(atMs / 1000).toFixed(1).padStart(7)} s  ${kind} ${target}${amount}${length}`;
}
