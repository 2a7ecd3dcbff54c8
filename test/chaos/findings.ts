/** Collects the findings of all checks. */
import { readFileSync } from "node:fs";
import { layoutOf } from "../../deploy/dev/paths.ts";
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import type { Forbidden } from "../support/log-scan.ts";
import { readCounters } from "../support/simulator-control.ts";
import { overlooked, smsctl } from "../support/smsctl.ts";
import { ATTEMPTS, type ChaosStack, RETRY_DELAYS_MS } from "./chaos-stack.ts";
import { addCounters, checkCarrier } from "./check-carrier.ts";
import { checkLogs, type LogScan } from "./check-logs.ts";
import { checkMessages } from "./check-messages.ts";
import { checkMoney } from "./check-money.ts";
import { checkEnds, checkStrikes } from "./check-storm.ts";
import { checkLateness, checkWebhooks, excuse, givenUp, healthyOf } from "./check-webhooks.ts";
import { checkYield } from "./check-yield.ts";
import type { Client } from "./client.ts";
import type { Customers } from "./customers.ts";
import {
  asText,
  type DatabaseReader,
  errorCodeOf,
  type MessageRow,
  type StoredData,
} from "./database-reader.ts";
import type { Drained } from "./drain.ts";
import { MARKER } from "./orders.ts";
import type { Receivers } from "./receivers.ts";
import type { Done } from "./storm.ts";
import type { Tenant } from "./tenants.ts";
import { PROCESSES } from "./topology.ts";
import { backlogOf, outagesOf } from "./webhook-backlog.ts";

/** The result of the run. */
export type Findings = {
  readonly breaches: readonly FoundBreach[];
  /** Findings that are no breach: the machine was overloaded, or the finding is minor. */
  readonly excused: readonly FoundBreach[];
  readonly counts: Readonly<Record<string, number>>;
  readonly answers: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  /** The stored messages that the breaches name. */
  readonly suspects: readonly unknown[];
};

/**
 * A storm alone on two cores makes about 3. At twice that load per core the machine is busy with other work,
 * and late retries say nothing about the service.
 */
const LOAD_PER_CORE_MAX = 6;

type Parts = {
  readonly stack: ChaosStack;
  readonly client: Client;
  readonly customers: Customers;
  readonly receivers: Receivers;
  readonly tenants: readonly Tenant[];
  readonly storedData: DatabaseReader;
  readonly drained: Drained;
  /** The load average per core over the storm. */
  readonly loadPerCore: number;
  readonly faults: readonly Done[];
  readonly minutes: number;
};

/** Reads all records and runs all checks. */
export async function collectFindings(parts: Parts): Promise<Findings> {
  const { stack, client, customers, receivers, tenants, drained } = parts;
  const endpoints = tenants.flatMap((tenant) => tenant.endpoints);
  const storedData = await parts.storedData.read(healthyOf(endpoints).map(({ id }) => id));
  const tenantIds = tenants.map(({ id }) => id);
  const own = storedData.messages.filter(({ tenant_id }) => tenantIds.includes(tenant_id));
  const controls = [stack.file.smsc.control, stack.secondControl];
  const counters = await Promise.all(controls.map(readCounters));
  const carrier = checkCarrier(own, addCounters(counters), storedData.parked);
  const backlog = backlogOf(outagesOf(parts.faults, stack.crashes));
  const lateness = checkLateness(endpoints, receivers.hooks, RETRY_DELAYS_MS, backlog);
  const isOverloaded = parts.loadPerCore > LOAD_PER_CORE_MAX;
  const unreached = givenUp(storedData.failedDeliveries, endpoints, ATTEMPTS);
  const { excused, notes } = excuse(unreached, storedData.deliveries, isOverloaded);
  const count = (name: "total" | "refused" | "duplicates") =>
    counters.reduce((sum, one) => sum + one[name], 0);
  const logs = await scanLogs(parts);
  const accepted = customers.sent.filter(({ answer }) => answer?.status === 202).length;
  const left = Object.entries(storedData.left).filter(([, count]) => count > 0);
  const breaches = [
    ...drained.breaches,
    ...customers.breaches,
    ...checkAnswers(client),
    ...checkMessages(customers.sent, customers.cancels, tenantIds, storedData),
    ...checkMoney(storedData, tenants),
    ...carrier.breaches,
    ...checkYield(own, accepted),
    ...checkWebhooks(own, endpoints, receivers.hooks, excused),
    ...(isOverloaded ? [] : lateness.breaches),
    ...left.map(([name, count]) => ({ invariant: 6, what: `${count} left in ${name}`, ids: [] })),
    ...logs.breaches,
    ...checkStorm(parts),
    ...(await ownCheck(stack, storedData)),
  ];
  const suspects = new Set(breaches.flatMap(({ ids }) => ids));
  return {
    breaches,
    excused: [...(isOverloaded ? lateness.breaches.map(excuseLate) : []), ...notes],
    counts: {
      orders: customers.sent.length,
      accepted,
      cancels: customers.cancels.length,
      messages: own.length,
      submits: count("total"),
      submits_refused: count("refused"),
      submits_twice: count("duplicates"),
      in_doubt_taken: carrier.inDoubt.taken,
      in_doubt_not_taken: carrier.inDoubt.notTaken,
      incomplete: carrier.inDoubt.incomplete,
      settlements: storedData.settlements.length,
      holds_fenced: storedData.reservations.filter(({ fenced_amount }) => fenced_amount > 0n)
        .length,
      webhooks: receivers.hooks.length,
      deliveries: storedData.deliveries,
      deliveries_unreached: unreached.size,
      deliveries_to_hanging_open: drained.open.hanging,
      retries: lateness.retries,
      latest_retry_ms: lateness.latestMs,
      latest_retry_unexplained_ms: Math.round(lateness.latestUnexplainedMs),
      receipts_parked: storedData.parked.length,
      log_lines: logs.lines,
      drain_ms: Math.round(drained.tookMs),
      crashes: stack.crashes.length,
      load_per_core: Math.round(parts.loadPerCore * 10) / 10,
    },
    answers: Object.fromEntries([...client.tally].sort(([a], [b]) => (a < b ? -1 : 1))),
    statuses: countBy(own, describeEnd),
    suspects: JSON.parse(asText(own.filter(({ _id }) => suspects.has(_id)))),
  };
}

function excuseLate(breach: FoundBreach): FoundBreach {
  return { ...breach, what: `${breach.what} (the machine is overloaded)` };
}

function describeEnd(message: MessageRow): string {
  const { status } = message;
  const code = errorCodeOf(message);
  return code === undefined ? status : `${status} ${code}`;
}

function checkStorm({ stack, faults, minutes }: Parts): FoundBreach[] {
  // Without small file systems there are no disk faults; the run printed that at its start.
  const missing = stack.disks.reason === undefined ? [] : ["disk_full"];
  return [...checkStrikes(faults, minutes, missing), ...checkEnds(stack.crashes, faults)];
}

function checkAnswers({ leaks, faults }: Client): FoundBreach[] {
  return [
    ...leaks.map((noted) => ({ invariant: 10, ...noted })),
    ...faults.map((noted) => ({ invariant: 0, ...noted })),
  ];
}

function scanLogs({ stack, tenants, customers }: Parts): Promise<LogScan> {
  return checkLogs(layoutOf(stack.dir).logDir, {
    forbidden: forbiddenIn(stack, tenants),
    recipients: recipientsOf(customers),
    writers: PROCESSES.map(({ name }) => name),
  });
}

/** The recipients, none of which a log may name. */
function recipientsOf({ sent }: Customers): string[] {
  const all = sent.flatMap(({ order }) => order.recipients);
  return all.filter(({ isGood }) => isGood).map(({ to }) => to);
}

/** The texts that no log may contain: keys, secrets, and the word in every body. */
function forbiddenIn(stack: ChaosStack, tenants: readonly Tenant[]): Forbidden[] {
  const secrets = Object.values(
    JSON.parse(readFileSync(layoutOf(stack.dir).secretsFile, "utf8")) as Record<string, string>,
  );
  return [
    { kind: "a body", text: MARKER },
    ...secrets.map((text) => ({ kind: "a secret of the stack", text })),
    ...tenants.flatMap(({ key, testKey, endpoints }) => [
      { kind: "an API key", text: key },
      { kind: "an API key", text: testKey },
      ...endpoints.map(({ secret }) => ({ kind: "a webhook secret", text: secret })),
    ]),
  ];
}

/**
 * `smsctl check` must be clean and have compared everything. Retries for a while, because settlement takes
 * time.
 */
async function ownCheck({ file }: ChaosStack, storedData: StoredData): Promise<FoundBreach[]> {
  const check = await smsctl(file, "check");
  if (check.code === 0) {
    const { messages, settlements, wallets } = storedData;
    const least = { messages, settlements, wallets };
    const counts = Object.entries(least).map(([what, rows]) => [what, rows.length] as const);
    return overlooked(check.value, Object.fromEntries(counts)).map((what) => {
      return { invariant: 0, what: `smsctl check ${what}`, ids: [] };
    });
  }
  const said = (check.value ?? { unfinished: [check.error.trim()] }) as {
    readonly breaches?: readonly FoundBreach[];
    readonly unfinished?: readonly string[];
  };
  const unfinished = (said.unfinished ?? []).map((what) => ({ invariant: 0, what, ids: [] }));
  return [...(said.breaches ?? []), ...unfinished].map((one) => {
    return { ...one, what: `smsctl check: ${one.what}` };
  });
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + 1;
  return counts;
}
