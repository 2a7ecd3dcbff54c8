/**
 * Runs the connectors that the routing service lists: creates a runner for each, applies changes, stops removed
 * ones, and shares the binds with other replicas. A change of link settings closes the links and opens new ones;
 * a change of rate or state leaves them up.
 */
import type { Logger } from "../../shared/core/logger.ts";
import { type Loop, startLoop } from "../../shared/flow/periodic.ts";
import type { ConnectorRunner } from "./connector.ts";
import type { BindLeases, ConnectorConfig, RateLimiter } from "./ports.ts";

/** The connectors of this process. */
export type Supervisor = {
  /** Reads the connectors and opens their links. */
  start(): void;
  /** Messages may wait at a connector. */
  notify(connectorId: string): void;
  /** Settings may have changed. */
  refresh(): void;
  find(
    connectorId: string,
  ): { readonly connector: ConnectorConfig; readonly runner: ConnectorRunner } | undefined;
  /**
   * The settings of a connector; the old ones while its runner is replaced. `not_read` while the connector may
   * exist unread: before the first read, and after a read that could not decrypt its secrets.
   */
  settingsOf(connectorId: string): ConnectorConfig | "not_read" | undefined;
  readonly runners: ReadonlyMap<string, ConnectorRunner>;
  /** How long after a receipt came its own submit may still be unanswered. */
  answerTimeoutMs(connectorId: string): number;
  close(drainMs: number): Promise<void>;
};

export type SupervisorOptions = {
  readonly listConnectors: () => Promise<readonly ConnectorConfig[]>;
  readonly leases: BindLeases;
  readonly createRunner: (connector: ConnectorConfig) => ConnectorRunner;
  readonly createRateLimiter: (connector: ConnectorConfig) => RateLimiter | undefined;
  readonly pollMs: number;
  readonly drainMs: number;
  readonly log: Logger;
};

type Entry = { connector: ConnectorConfig; runner: ConnectorRunner };

const LEASE_INTERVAL_MS = 1000;
const LEASE_CHECK_MS = 250;

/** Creates a supervisor that runs nothing until `start`. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { leases, log } = options;
  const entries = new Map<string, Entry>();
  const runners = new Map<string, ConnectorRunner>();
  /** Stopped runners that have not ended, with the promises of their ends. */
  const closing = new Map<Entry, Promise<void>>();
  const rateLimiters = new Map<
    string,
    { readonly rate: number; readonly rateLimiter: RateLimiter | undefined }
  >();
  let hasRead = false;
  /** Connectors whose secrets routing could not decrypt at the last read. */
  let unreadable: ReadonlySet<string> = new Set();
  let leaseCheck: NodeJS.Timeout | undefined;
  let leaseLoop: Loop | undefined;
  let settingsLoop: Loop | undefined;

  async function readSettings(): Promise<boolean> {
    const connectors = await options.listConnectors();
    const listed = new Set(connectors.map(({ id }) => id));
    for (const [id, entry] of entries) if (!listed.has(id)) stop(entry);
    for (const id of rateLimiters.keys()) if (!listed.has(id)) rateLimiters.delete(id);
    logUnreadable(connectors.filter(({ secretsUnreadable }) => secretsUnreadable));
    for (const connector of connectors) {
      if (connector.secretsUnreadable) applyStateAndRate(connector);
      else apply(connector);
    }
    hasRead = true;
    leaseLoop?.nudge();
    return false;
  }

  function apply(connector: ConnectorConfig): void {
    const entry = entries.get(connector.id);
    if (entry !== undefined && isSameRevision(entry.connector, connector)) return;
    if (entry !== undefined && entry.connector.linkFingerprint !== connector.linkFingerprint) {
      stop(entry);
    }
    // The next runner starts when the old one has ended, because leases name binds by number.
    if ([...closing.keys()].some((ending) => ending.connector.id === connector.id)) return;
    const runner = entries.get(connector.id)?.runner ?? options.createRunner(connector);
    runners.set(connector.id, runner);
    set(connector, runner);
  }

  /** Applies the settings that need no secret: an existing link stays up, and no link is opened. */
  function applyStateAndRate({ id, isActive, ratePerSecond }: ConnectorConfig): void {
    const entry = entries.get(id);
    if (entry === undefined) return;
    const { connector, runner } = entry;
    if (connector.isActive === isActive && connector.ratePerSecond === ratePerSecond) return;
    // Keep the old version: the next readable revision then compares the link settings as well.
    set({ ...connector, isActive, ratePerSecond }, runner);
  }

  function set(connector: ConnectorConfig, runner: ConnectorRunner): void {
    entries.set(connector.id, { connector, runner });
    runner.setRateLimiter(rateLimiterOf(connector), connector.ratePerSecond);
    runner.setActive(connector.isActive);
    log.info({ connector: connector.id, version: String(connector.version) }, "connector set");
  }

  function logUnreadable(found: readonly ConnectorConfig[]): void {
    for (const { id } of found) {
      if (unreadable.has(id)) continue;
      const links = entries.has(id) ? "its links stay as they are" : "it has no link";
      log.error({ connector: id }, `a connector's secrets cannot be opened: ${links}`);
    }
    unreadable = new Set(found.map(({ id }) => id));
  }

  /** Keeps the limiter while the rate stays the same: it knows the submits of the last second. */
  function rateLimiterOf(connector: ConnectorConfig): RateLimiter | undefined {
    const known = rateLimiters.get(connector.id);
    if (known?.rate === connector.ratePerSecond) return known.rateLimiter;
    const rateLimiter = options.createRateLimiter(connector);
    rateLimiters.set(connector.id, { rate: connector.ratePerSecond, rateLimiter });
    return rateLimiter;
  }

  /**
   * Removes a runner at once and lets it finish its submits; its binds stay leased. Settings of other connectors
   * apply meanwhile. The settings of this one are read again when it has ended.
   */
  function stop(entry: Entry): void {
    const { connector, runner } = entry;
    entries.delete(connector.id);
    runners.delete(connector.id);
    const ended = runner
      .close(options.drainMs)
      .catch((error: unknown) => {
        log.error({ error, connector: connector.id }, "a connector did not close");
      })
      .then(() => {
        closing.delete(entry);
        settingsLoop?.nudge();
      });
    closing.set(entry, ended);
  }

  function allEntries(): Entry[] {
    return [...entries.values(), ...closing.keys()];
  }

  function isLinked(connectorId: string, index: number): boolean {
    return allEntries().some(
      ({ connector, runner }) => connector.id === connectorId && runner.isLinked(index),
    );
  }

  async function syncLeases(): Promise<boolean> {
    if (!hasRead) return false;
    const wanted = new Map<string, number>();
    for (const [id, { connector }] of entries) wanted.set(id, connector.binds);
    try {
      const owned = await leases.sync(wanted, isLinked);
      for (const [id, indexes] of owned) entries.get(id)?.runner.setOwned(indexes);
    } catch (error) {
      log.warn({ error }, "leases could not be renewed");
    }
    return false;
  }

  function checkLeases(): void {
    if (leases.isValid || !hasRead) return;
    for (const { runner } of allEntries()) runner.dropBinds();
  }

  return {
    start() {
      // A timer of its own, because a renewal may hang for as long as the database does.
      leaseCheck = setInterval(checkLeases, LEASE_CHECK_MS);
      leaseLoop = startLoop({
        name: "leases",
        intervalMs: LEASE_INTERVAL_MS,
        log,
        work: syncLeases,
      });
      settingsLoop = startLoop({
        name: "connector settings",
        intervalMs: options.pollMs,
        log,
        work: readSettings,
      });
    },
    notify: (connectorId) => entries.get(connectorId)?.runner.notify(),
    refresh: () => settingsLoop?.nudge(),
    find: (connectorId) => entries.get(connectorId),
    settingsOf(connectorId) {
      if (!hasRead) return "not_read";
      const known = allEntries().find(({ connector }) => connector.id === connectorId)?.connector;
      return known ?? (unreadable.has(connectorId) ? "not_read" : undefined);
    },
    runners,
    answerTimeoutMs(connectorId) {
      return 1500 + (entries.get(connectorId)?.connector.answerTimeoutMs ?? 10_000);
    },
    async close(drainMs) {
      await settingsLoop?.close();
      const ends = [...runners.values()].map((runner) => runner.close(drainMs));
      await Promise.all([...ends, ...closing.values()]);
      clearInterval(leaseCheck);
      await leaseLoop?.close();
      await leases.releaseAll();
    },
  };
}

/** A connector that was removed and created again counts its versions from 1 again. */
function isSameRevision(known: ConnectorConfig, read: ConnectorConfig): boolean {
  return known.version === read.version && known.createdAtMs === read.createdAtMs;
}
