/**
 * Keeps the connectors of this process as the routing service describes them: makes runners for new
 * ones, changes, pauses and removes those that changed, and shares their binds with other replicas.
 * A change of the settings behind a link closes it in good order and opens another; a change of the
 * rate or of the state leaves it up.
 */
import { toBinary } from "@bufbuild/protobuf";
import {
  type Connector,
  ConnectorState,
  HttpSettingsSchema,
  SmppSettingsSchema,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import type { Logger } from "../../shared/core/logger.ts";
import { startLoop } from "../../shared/flow/periodic.ts";
import { answerTimeoutMs, bindCount } from "../adapters/links/make-link.ts";
import type { Leases } from "../store/bind-leases.ts";
import type { Pacer } from "../store/rate-limiter.ts";
import type { ConnectorRunner } from "./connector.ts";

/** The connectors of this process. */
export type Supervisor = {
  /** Messages may wait at a connector. */
  ring(connectorId: string): void;
  /** Settings may have changed. */
  refresh(): void;
  find(connectorId: string): { connector: Connector; runner: ConnectorRunner } | undefined;
  /**
   * What a connector is set to, also while its runner is being exchanged: then what it was set to.
   * `not_read` before the connectors have been read, when each may exist, and of one whose secrets could not
   * be opened since.
   */
  settingsOf(connectorId: string): Connector | "not_read" | undefined;
  readonly runners: ReadonlyMap<string, ConnectorRunner>;
  /** How long after its arrival a receipt's own submit may still be unanswered. */
  patienceMs(connectorId: string): number;
  close(drainMs: number): Promise<void>;
};

/** What the supervisor needs. */
export type SupervisorOptions = {
  readonly listConnectors: () => Promise<Connector[]>;
  readonly leases: Leases;
  readonly makeRunner: (connector: Connector) => ConnectorRunner;
  readonly makePacer: (connector: Connector) => Pacer | undefined;
  readonly pollMs: number;
  readonly drainMs: number;
  readonly log: Logger;
};

type Entry = { connector: Connector; runner: ConnectorRunner };

const LEASE_INTERVAL_MS = 1000;

/** Starts supervising; the first look happens at once. */
export function startSupervisor(options: SupervisorOptions): Supervisor {
  const { leases, log } = options;
  const entries = new Map<string, Entry>();
  const runners = new Map<string, ConnectorRunner>();
  /** Stopped runners that have not ended, with their ends. */
  const closing = new Map<Entry, Promise<void>>();
  const pacers = new Map<string, { readonly rate: number; readonly pacer: Pacer | undefined }>();
  let isSettled = false;
  /** Connectors whose secrets could not be opened at the last look. */
  let unreadable: ReadonlySet<string> = new Set();

  async function readSettings(): Promise<boolean> {
    const connectors = await options.listConnectors();
    const seen = new Set(connectors.map(({ id }) => id));
    for (const [id, entry] of entries) if (!seen.has(id)) stop(entry);
    for (const id of pacers.keys()) if (!seen.has(id)) pacers.delete(id);
    noteUnreadable(connectors.filter(({ secretsUnreadable }) => secretsUnreadable));
    for (const connector of connectors) {
      if (connector.secretsUnreadable) keep(connector);
      else apply(connector);
    }
    isSettled = true;
    leaseLoop.nudge();
    return false;
  }

  function apply(connector: Connector): void {
    const entry = entries.get(connector.id);
    if (entry !== undefined && isSameRevision(entry.connector, connector)) return;
    if (entry !== undefined && linkSettings(entry.connector) !== linkSettings(connector)) {
      stop(entry);
    }
    // Its next runner waits until the one before has ended: binds are leased by number.
    if ([...closing.keys()].some((ending) => ending.connector.id === connector.id)) return;
    const kept = entries.get(connector.id);
    const runner = kept?.runner ?? options.makeRunner(connector);
    runners.set(connector.id, runner);
    set(connector, runner);
  }

  /** One that cannot be read keeps its link, and gets none when it has none. State and rate are no secrets. */
  function keep({ id, state, ratePerSecond }: Connector): void {
    const entry = entries.get(id);
    if (entry === undefined) return;
    const { connector, runner } = entry;
    if (connector.state === state && connector.ratePerSecond === ratePerSecond) return;
    // Under its old version: when it can be read its link is looked at, too.
    set({ ...connector, state, ratePerSecond }, runner);
  }

  function set(connector: Connector, runner: ConnectorRunner): void {
    entries.set(connector.id, { connector, runner });
    runner.setPacer(pacerOf(connector), connector.ratePerSecond);
    runner.setActive(connector.state === ConnectorState.ACTIVE);
    log.info({ connector: connector.id, version: String(connector.version) }, "connector set");
  }

  function noteUnreadable(found: readonly Connector[]): void {
    for (const { id } of found) {
      if (unreadable.has(id)) continue;
      const links = entries.has(id) ? "its links stay as they are" : "it has no link";
      log.error({ connector: id }, `a connector's secrets cannot be opened: ${links}`);
    }
    unreadable = new Set(found.map(({ id }) => id));
  }

  /** A pacer knows what has just gone out, so other changes than the rate's leave it in its place. */
  function pacerOf(connector: Connector): Pacer | undefined {
    const known = pacers.get(connector.id);
    if (known?.rate === connector.ratePerSecond) return known.pacer;
    const pacer = options.makePacer(connector);
    pacers.set(connector.id, { rate: connector.ratePerSecond, pacer });
    return pacer;
  }

  /**
   * The runner leaves the list at once and finishes what it has under way; its binds stay leased. Other
   * connectors' settings do not wait for it; its own are looked at again when it has ended.
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
        settingsLoop.nudge();
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

  async function shareBinds(): Promise<boolean> {
    if (!isSettled) return false;
    const wanted = new Map<string, number>();
    for (const [id, { connector }] of entries) wanted.set(id, bindCount(connector));
    try {
      const owned = await leases.sync(wanted, isLinked);
      for (const [id, indexes] of owned) entries.get(id)?.runner.setOwned(indexes);
    } catch (error) {
      log.warn({ error }, "leases could not be renewed");
    }
    return false;
  }

  /** Checked apart from renewing, which may hang for as long as the database does. */
  const guard = setInterval(() => {
    if (leases.isValid || !isSettled) return;
    for (const { runner } of allEntries()) runner.fence();
  }, 250);

  const leaseLoop = startLoop({
    name: "leases",
    intervalMs: LEASE_INTERVAL_MS,
    log,
    work: shareBinds,
  });
  const settingsLoop = startLoop({
    name: "connector settings",
    intervalMs: options.pollMs,
    log,
    work: readSettings,
  });

  return {
    ring: (connectorId) => entries.get(connectorId)?.runner.ring(),
    refresh: () => settingsLoop.nudge(),
    find: (connectorId) => entries.get(connectorId),
    settingsOf(connectorId) {
      if (!isSettled) return "not_read";
      const known = allEntries().find(({ connector }) => connector.id === connectorId)?.connector;
      return known ?? (unreadable.has(connectorId) ? "not_read" : undefined);
    },
    runners,
    patienceMs(connectorId) {
      const entry = entries.get(connectorId);
      return 1500 + (entry === undefined ? 10_000 : answerTimeoutMs(entry.connector));
    },
    async close(drainMs) {
      await settingsLoop.close();
      const ends = [...runners.values()].map((runner) => runner.close(drainMs));
      await Promise.all([...ends, ...closing.values()]);
      clearInterval(guard);
      await leaseLoop.close();
      await leases.releaseAll();
    },
  };
}

/** A connector that was removed and created again counts its versions from the beginning. */
function isSameRevision(known: Connector, read: Connector): boolean {
  return known.version === read.version && known.createdAtMs === read.createdAtMs;
}

/** What a link is made from, as a comparable text; everything but state and rate. */
function linkSettings({ type, smpp, http }: Connector): string {
  const parts = [
    smpp === undefined ? "" : Buffer.from(toBinary(SmppSettingsSchema, smpp)).toString("base64"),
    http === undefined ? "" : Buffer.from(toBinary(HttpSettingsSchema, http)).toString("base64"),
  ];
  return `${type}|${parts.join("|")}`;
}
