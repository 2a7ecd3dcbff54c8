/**
 * Caches the suppressed numbers of each tenant, refreshes them ahead of their expiry, and drops them when they change.
 * While the consent service is unavailable the last table serves until it is a minute old; after that the lookup fails.
 * No other failure is covered up by an old table: a defect would be seen only by its consequences.
 */
import type { Client } from "@connectrpc/connect";
import type {
  ConsentService,
  GetSuppressionTableResponse,
} from "../../../proto/gen/sms/v1/consent_pb.js";
import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import { createRefreshAheadCache } from "../../shared/flow/refresh-ahead-cache.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import type { SuppressionTable } from "../app/ports.ts";
import { CALL } from "./loaders.ts";

const TABLE_AGE_MAX_MS = 5000;
/**
 * The age at which an old table stops serving. The cache keeps it `TABLE_AGE_MAX_MS` longer: at most a minute in all.
 */
const OLD_TABLE_MAX_MS = 60_000 - TABLE_AGE_MAX_MS;
const LOG_INTERVAL_MS = 60_000;
/** The most tenants in memory. Most tenants have no suppression. */
const TENANTS_MAX = 10_000;
const NUMBERS_PER_CALL = 1000;

type Known = {
  readonly version: bigint;
  readonly table: SuppressionTable | "large";
  readonly readAtMs: number;
};

export function createSuppressions(
  client: Client<typeof ConsentService>,
  clock: Clock,
  log: Pick<Logger, "error">,
) {
  const last = new Map<string, Known>();
  let loggedAtMs = Number.NEGATIVE_INFINITY;

  /** Logs a defect. Sends of other classes than promotional continue, so only the log shows it. */
  function noteDefect(error: unknown, nowMs: number): void {
    if (isUnavailable(error) || Math.abs(nowMs - loggedAtMs) < LOG_INTERVAL_MS) return;
    loggedAtMs = nowMs;
    log.error({ error }, "opt-outs cannot be read: promotional messages are refused");
  }

  async function load(tenantId: string): Promise<SuppressionTable | "large"> {
    const known = last.get(tenantId);
    const readAtMs = clock.now();
    try {
      const knownVersion = known?.version ?? -1n;
      const answer = await rpcAnswer(client.getSuppressionTable({ tenantId, knownVersion }, CALL));
      const table = answer.unchanged && known !== undefined ? known.table : readTable(answer);
      setRecent(last, tenantId, { version: answer.version, table, readAtMs }, TENANTS_MAX);
      return table;
    } catch (error) {
      noteDefect(error, readAtMs);
      if (known === undefined || !isUnavailable(error)) throw error;
      const ageMs = readAtMs - known.readAtMs;
      // After the clock was set back the age is unknown.
      if (ageMs < 0 || ageMs > OLD_TABLE_MAX_MS) throw error;
      return known.table;
    }
  }

  const tables = createRefreshAheadCache({
    maxAgeMs: TABLE_AGE_MAX_MS,
    sizeMax: TENANTS_MAX,
    clock,
    load,
  });

  return {
    table: (tenantId: string) => tables.get(tenantId),
    async check(tenantId: string, sender: string, numbers: readonly string[]) {
      const suppressed = new Set<string>();
      for (let at = 0; at < numbers.length; at += NUMBERS_PER_CALL) {
        const some = numbers.slice(at, at + NUMBERS_PER_CALL);
        const request = { tenantId, sender, numbers: some };
        const answer = await rpcAnswer(client.checkSuppressions(request, CALL));
        for (const number of answer.suppressed) suppressed.add(number);
      }
      return suppressed;
    },
    forget: (tenantId: string) => tables.forget((key) => key === tenantId),
  };
}

/** The table of an answer that is not `unchanged`. */
function readTable({
  isLarge,
  numbers,
}: Pick<GetSuppressionTableResponse, "isLarge" | "numbers">): SuppressionTable | "large" {
  if (isLarge) return "large";
  const keys = new Set(numbers.map(({ number, sender }) => `${number}|${sender}`));
  if (keys.size === 0) return EMPTY;
  return { has: (number, sender) => keys.has(`${number}|`) || keys.has(`${number}|${sender}`) };
}

const EMPTY: SuppressionTable = { has: () => false };
