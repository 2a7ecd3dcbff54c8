/** Checks the storm: faults that hit nothing, and processes that exited by themselves. */
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import type { Crash } from "./chaos-stack.ts";
import type { Done } from "./storm.ts";
import { PROCESSES, serversOf } from "./topology.ts";

/** Planned faults of a kind, and those that hit the stack. */
export type Strikes = { readonly planned: number; readonly struck: number };

/** By kind, in the order of their names. */
export function countStrikes(faults: readonly Done[]): Record<string, Strikes> {
  const byKind = Map.groupBy(faults, ({ fault }) => fault.kind);
  const counts = [...byKind].map(([kind, all]) => {
    return [
      kind,
      { planned: all.length, struck: all.filter(({ struck }) => struck).length },
    ] as const;
  });
  return Object.fromEntries(counts.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Shorter runs plan few faults of a kind, and all of them may hit processes that are already down. */
const CHECKED_MINUTES_MIN = 10;

/** A long storm whose faults of one kind all missed proves nothing about them; `missing` may. */
export function checkStrikes(
  faults: readonly Done[],
  minutes: number,
  missing: readonly string[],
): FoundBreach[] {
  if (minutes < CHECKED_MINUTES_MIN) return [];
  return Object.entries(countStrikes(faults))
    .filter(([kind, { struck }]) => struck === 0 && !missing.includes(kind))
    .map(([kind, { planned }]) => {
      return { invariant: 0, what: `none of ${planned} faults ${kind} struck`, ids: [] };
    });
}

/** A service that cannot reach its servers while it starts may give up this much later. */
const START_MS = 60_000;
/** An exit is noticed within 2 s, and a server needs time to serve again. */
const SLACK_MS = 20_000;

/** Both carrier processes keep their journals on it. */
const JOURNAL = "carrier-journal";

/**
 * A service never exits by itself. Exceptions: its disk was full, or it had just restarted while one of its
 * servers, or the link to it, was hit.
 */
export function checkEnds(crashes: readonly Crash[], faults: readonly Done[]): FoundBreach[] {
  const found: FoundBreach[] = [];
  for (const crash of crashes) {
    const service = PROCESSES.find(({ name }) => name === crash.name)?.service;
    if (service === undefined || wasDiskFull(service, crash, faults)) continue;
    const isNew = wasJustStarted(crash, crashes, faults);
    if (isNew && wasWithoutServer(serversOf(service), crash, crashes, faults)) continue;
    const at = new Date(crash.atMs).toISOString();
    found.push({ invariant: 8, what: `${crash.name} ended by itself at ${at}`, ids: [] });
  }
  return found;
}

function wasDiskFull(service: string, { atMs }: Crash, faults: readonly Done[]): boolean {
  const isJournal = ({ fault }: Done) => fault.kind === "disk_full" && fault.target === JOURNAL;
  return (
    service === "carrier" && faults.some((done) => isJournal(done) && isNear(done, atMs, SLACK_MS))
  );
}

/** Restarted by the storm, or after an exit of its own. */
function wasJustStarted(
  { name, atMs }: Crash,
  crashes: readonly Crash[],
  faults: readonly Done[],
): boolean {
  const isStart = ({ fault: { kind, target } }: Done) =>
    target === name && (kind === "kill" || kind === "restart");
  return (
    faults.some((done) => isStart(done) && isNear(done, atMs, START_MS)) ||
    crashes.some((before) => before.name === name && isEarlier(before, atMs))
  );
}

function wasWithoutServer(
  servers: readonly string[],
  { name, atMs }: Crash,
  crashes: readonly Crash[],
  faults: readonly Done[],
): boolean {
  const targets = new Set(servers.flatMap((server) => [server, `${name}>${server}`]));
  return (
    faults.some(
      ({ fault: { target }, ...when }) => targets.has(target) && isNear(when, atMs, START_MS),
    ) || crashes.some((server) => servers.includes(server.name) && isEarlier(server, atMs))
  );
}

function isNear(done: Pick<Done, "fromMs" | "toMs">, atMs: number, withinMs: number): boolean {
  return done.fromMs <= atMs && done.toMs + withinMs >= atMs;
}

function isEarlier(before: Crash, atMs: number): boolean {
  return before.atMs < atMs && before.atMs + START_MS >= atMs;
}
