/**
 * Clients of other services. Tenants, sender IDs and the route table are cached for at most 5 s and dropped when
 * their owner publishes an invalidation. Holds are batched.
 */
import { create, equals } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import type { NatsConnection } from "nats";
import type { ConsentService } from "../../../proto/gen/sms/v1/consent_pb.js";
import type {
  GetRouteTableResponse,
  QuietHoursTable,
  RoutingService,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import {
  ConnectorState,
  ConnectorType,
  QuietHoursTableSchema,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import type { SenderIdService } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import type { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import type { HoldOutcome, WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import type { Clock } from "../../shared/core/clock.ts";
import { AppError, isErrorCode } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { formatAmount, INT64_MAX } from "../../shared/core/money.ts";
import { DEFAULT_QUIET_HOURS, parseQuietRules } from "../../shared/core/quiet-hours-text.ts";
import { answerWithin } from "../../shared/flow/backoff.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import { startLoop } from "../../shared/flow/periodic.ts";
import { createRefreshAheadCache } from "../../shared/flow/refresh-ahead-cache.ts";
import { runDetached } from "../../shared/flow/run-detached.ts";
import { subscribe } from "../../shared/io/best-effort-pubsub.ts";
import { compileRouteTable, type RouteTable } from "../../shared/routes/route-table.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { readQuietRule, writeQuietRule } from "../../shared/rpc/quiet-hours.ts";
import { routeClassOf } from "../../shared/rpc/traffic-class.ts";
import type { Hold, ServiceClients } from "../app/ports.ts";
import { createQuietHours, createUnknownQuietHours } from "../domain/quiet-hours.ts";
import { CALL, createSenderLoader, createTenantLoader, senderKey } from "./loaders.ts";
import { createSuppressions } from "./suppressions.ts";

/** The maximum age of cached results. */
const FACT_AGE_MAX_MS = 5000;
const FACTS_MAX = 50_000;

/** The longest wait for a tenant's currency, for the refusal of a hold without a wallet. */
const CURRENCY_WAIT_MS = 100;

export type RpcClients = {
  readonly tenant: Client<typeof TenantService>;
  readonly senderId: Client<typeof SenderIdService>;
  readonly wallet: Client<typeof WalletService>;
  readonly routing: Client<typeof RoutingService>;
  readonly consent: Client<typeof ConsentService>;
};

/** Opens the clients; `close` ends their background work. */
export function openServiceClients(options: {
  readonly clients: RpcClients;
  readonly nats: NatsConnection;
  readonly clock: Clock;
  readonly log: Logger;
}): ServiceClients & { close(): Promise<void> } {
  const { clients, nats, clock, log } = options;
  const cache = { maxAgeMs: FACT_AGE_MAX_MS, sizeMax: FACTS_MAX, clock };
  const tenants = createRefreshAheadCache({ ...cache, load: createTenantLoader(clients.tenant) });
  const senders = createRefreshAheadCache({ ...cache, load: createSenderLoader(clients.senderId) });
  // A missing currency delays the other holds of a batch by at most `CURRENCY_WAIT_MS`, and never fails them.
  const currencyOf = async (tenantId: string) => {
    const asked = Promise.resolve(tenants.get(tenantId)).catch(() => undefined);
    return (await answerWithin(asked, CURRENCY_WAIT_MS))?.currency ?? "";
  };
  const suppressions = createSuppressions(clients.consent, clock, log);
  const table = keepRouteTable(clients.routing, log);
  const holds = createBatcher<Hold, void>({
    name: "holds",
    batchMax: 256,
    queueMax: 8192,
    concurrency: 4,
    flush: (items) => placeHolds(clients.wallet, items, currencyOf),
  });
  const subscriptions = [
    subscribe(nats, "invalidate.tenant.*", ({ subject }) => {
      const tenantId = subject.slice("invalidate.tenant.".length);
      tenants.forget((key) => key === tenantId);
    }),
    subscribe(nats, "invalidate.sender_id.*", ({ subject }) => {
      const prefix = `${subject.slice("invalidate.sender_id.".length)}|`;
      senders.forget((key) => key.startsWith(prefix));
    }),
    subscribe(nats, "invalidate.consent.*", ({ subject }) =>
      suppressions.forget(subject.slice("invalidate.consent.".length)),
    ),
    subscribe(nats, "invalidate.routing", () => table.nudge()),
  ];
  return {
    tenant: (tenantId) => tenants.get(tenantId),
    usableSender: (tenantId, name) => senders.get(senderKey(tenantId, name)),
    suppressions: suppressions.table,
    checkSuppressed: suppressions.check,
    routeTable: () => table.current(),
    quietHours: () => table.quietHours(),
    placeHold: (hold) => holds.add(hold),
    placeHolds: (all) => runDetached(() => placeHolds(clients.wallet, all, currencyOf)),
    async releaseReservation(tenantId, reservationId) {
      await rpcAnswer(clients.wallet.releaseReservation({ tenantId, reservationId }, CALL));
    },
    async close() {
      for (const subscription of subscriptions) subscription.unsubscribe();
      await holds.close();
      await table.close();
    },
  };
}

/** Keeps the current route table; the last one serves while routing is down. */
function keepRouteTable(client: RpcClients["routing"], log: Logger) {
  let known: GetRouteTableResponse | undefined;
  let table: RouteTable | undefined;
  let rules: QuietHoursTable | undefined;
  let quietHours = createUnknownQuietHours();
  const loop = startLoop({
    name: "route table",
    intervalMs: FACT_AGE_MAX_MS / 2,
    log,
    async work() {
      const knownVersion = known?.version ?? 0n;
      const answer = await rpcAnswer(client.getRouteTable({ knownVersion }, CALL));
      // An older routing service has no rules.
      const answered = answer.quietHours ?? DEFAULT_TABLE;
      // Keep the same object while nothing changes: after a change the messages in quiet hours are checked again.
      if (rules === undefined || !equals(QuietHoursTableSchema, rules, answered)) {
        rules = answered;
        quietHours = createQuietHours(answered.rules.map(readQuietRule));
      }
      // Health changes without a new version of the table; each response contains it.
      const { unhealthyConnectorIds } = answer;
      const whole = answer.unchanged && known !== undefined ? known : answer;
      // Keep the same object while nothing changes: callers cache values that they derive from it.
      if (whole === known && isSameSet(unhealthyConnectorIds, known.unhealthyConnectorIds)) {
        return false;
      }
      known = { ...whole, unhealthyConnectorIds };
      table = compileAnswer(known);
      return false;
    },
  });
  return {
    ...loop,
    quietHours: () => quietHours,
    current(): RouteTable {
      if (table !== undefined) return table;
      throw new AppError("service_unavailable", "The service is starting; try again shortly.");
    },
  };
}

const DEFAULT_TABLE = create(QuietHoursTableSchema, {
  rules: parseQuietRules(DEFAULT_QUIET_HOURS).map(writeQuietRule),
});

function isSameSet(some: readonly string[], others: readonly string[]): boolean {
  return new Set(some).symmetricDifference(new Set(others)).size === 0;
}

function compileAnswer(answer: GetRouteTableResponse): RouteTable {
  return compileRouteTable({
    version: answer.version,
    routes: answer.routes.map(({ trafficClasses, ...route }) => ({
      ...route,
      trafficClasses: trafficClasses.map(routeClassOf),
    })),
    connectors: answer.connectors.map(({ id, state, type }) => ({
      id,
      isActive: state !== ConnectorState.PAUSED && state !== ConnectorState.DRAINING,
      isTest: type === ConnectorType.TEST,
    })),
    unhealthyConnectorIds: answer.unhealthyConnectorIds,
  });
}

/** The currency of a tenant without a wallet; "" if it is not known in time. */
type CurrencyOf = (tenantId: string) => Promise<string>;

/** Never rejects: a failed call is the error of each of its holds. */
async function placeHolds(
  client: RpcClients["wallet"],
  holds: readonly Hold[],
  currencyOf: CurrencyOf,
): Promise<(undefined | Error)[]> {
  try {
    const asked = holds.map((hold) =>
      hold.amount > INT64_MAX ? { ...hold, amount: INT64_MAX } : hold,
    );
    const { outcomes } = await client.placeHolds({ holds: asked }, CALL);
    const refusals = holds.map((hold, at) =>
      outcomes[at]?.errorCode === "" ? undefined : toRefusal(hold, outcomes[at], currencyOf),
    );
    return await Promise.all(refusals);
  } catch (error) {
    const failure = toAppError(error);
    return holds.map(() => failure);
  }
}

async function toRefusal(
  hold: Hold,
  outcome: HoldOutcome | undefined,
  currencyOf: CurrencyOf,
): Promise<Error> {
  if (outcome === undefined) return new AppError("internal_error", "A hold has no result.");
  const { errorCode } = outcome;
  // A tenant without a wallet has no funds.
  if (errorCode === "insufficient_balance" || errorCode === "not_found") {
    return new AppError("insufficient_balance", "The available balance does not cover this send.", {
      extra: {
        required_amount: formatAmount(hold.amount),
        available_amount: formatAmount(outcome.available),
        currency: outcome.currency || (await currencyOf(hold.tenantId)),
      },
    });
  }
  const code = isErrorCode(errorCode) ? errorCode : "internal_error";
  return new AppError(code, "The funds could not be held.", { cause: errorCode });
}
