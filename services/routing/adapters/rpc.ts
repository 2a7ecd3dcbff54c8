import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  type ExplainRequest,
  QuietHoursSchema,
  RoutingService as Rpc,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { checkItems, unknownValue } from "../../shared/core/limits.ts";
import { parseRecipient } from "../../shared/core/phone.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { explainRoutes } from "../../shared/routes/select-routes.ts";
import { auditHandler } from "../../shared/rpc/audit-handler.ts";
import { currentCall, runAsActor } from "../../shared/rpc/call-context.ts";
import { readQuietRule, writeQuietRule } from "../../shared/rpc/quiet-hours.ts";
import { readTrafficClass } from "../../shared/rpc/traffic-class.ts";
import type { HealthService } from "../app/health.ts";
import type { TableReader } from "../app/load-route-table.ts";
import type { QuietHoursService } from "../app/quiet-hours.ts";
import type { RoutingService } from "../app/routing.ts";
import { hideSecrets } from "../domain/connector.ts";
import { checkLength, createFieldErrors } from "../domain/validation-errors.ts";
import {
  readConnector,
  readDelivery,
  readHealth,
  readRoute,
  writeConnector,
  writeDelivery,
  writeHealth,
  writePriceChange,
  writeRoute,
} from "./rpc-mapping.ts";

/** Most health reports in one call. */
const REPORTS_MAX = 10_000;

/** Serves `sms.v1.RoutingService`. */
export function createRoutingRpc(parts: {
  readonly service: RoutingService;
  readonly quietHours: QuietHoursService;
  readonly health: HealthService;
  readonly table: TableReader;
  readonly audit: AuditLog;
}): ServiceImpl<typeof Rpc> {
  const { service, quietHours, health, table, audit } = parts;
  return {
    ...auditHandler(Rpc, audit),
    async createConnector({ connector }) {
      const created = await service.createConnector(readConnector(connector));
      return { connector: writeConnector(hideSecrets(created)) };
    },
    async updateConnector({ id, connector, fields }) {
      const changed = await service.updateConnector(id, readConnector(connector), fields);
      return { connector: writeConnector(hideSecrets(changed)) };
    },
    async listConnectors() {
      const [connectors, reports, deliveries] = await Promise.all([
        service.listReadable(),
        health.listReports(),
        health.listDeliveries(),
      ]);
      return {
        connectors: connectors.map((connector) => writeConnector(hideSecrets(connector))),
        health: reports.map(writeHealth),
        deliveries: deliveries.map(writeDelivery),
      };
    },
    async removeConnector({ id }) {
      await service.removeConnector(id);
      return {};
    },
    async getConnectorSettings({ includeUnreadable }) {
      const connectors = await (includeUnreadable
        ? service.listReadable()
        : service.listConnectors());
      return { connectors: connectors.map(writeConnector) };
    },
    async createRoute({ route }) {
      return { route: writeRoute(await service.createRoute(readRoute(route), actor())) };
    },
    async updateRoute({ idOrName, route, fields }) {
      const changed = await service.updateRoute(idOrName, readRoute(route), fields, actor());
      return { route: writeRoute(changed) };
    },
    async removeRoute({ idOrName }) {
      return { route: writeRoute(await service.removeRoute(idOrName)) };
    },
    async listRoutes() {
      return { routes: (await service.listRoutes()).map(writeRoute) };
    },
    async importPrices({ idOrName, csv, dryRun, actor: given }) {
      const by = given === undefined || given.name === "" ? actor() : given.name;
      const { changes, version, applied } = await runAsActor(given, () =>
        service.importPrices(idOrName, csv, dryRun, by),
      );
      return { changes: changes.map(writePriceChange), version: BigInt(version), applied };
    },
    async getRouteTable({ knownVersion }) {
      const [current, unhealthyConnectorIds] = await Promise.all([
        table.read(),
        health.listFailing(),
      ]);
      const { version } = current;
      const always = {
        version,
        unhealthyConnectorIds: [...unhealthyConnectorIds],
        quietHours: { rules: current.quietRules.map(writeQuietRule) },
      };
      if (knownVersion === version) return { ...always, unchanged: true };
      return {
        ...always,
        routes: current.routes.map(writeRoute),
        connectors: current.connectors.map((connector) => writeConnector(hideSecrets(connector))),
      };
    },
    async listQuietHours() {
      return { quietHours: (await quietHours.list()).map(writeQuietRule) };
    },
    async setQuietHours({ quietHours: wire }) {
      const rule = readQuietRule(wire ?? create(QuietHoursSchema));
      return { quietHours: writeQuietRule(await quietHours.set(rule)) };
    },
    async removeQuietHours({ country, trafficClass }) {
      const named = readQuietRule(create(QuietHoursSchema, { country, trafficClass }));
      return { quietHours: writeQuietRule(await quietHours.remove(named)) };
    },
    explain: (request) => explain(request, parts),
    async reportConnectorHealth({ health: reports, deliveries }) {
      checkItems("health", reports.length, 0, REPORTS_MAX);
      checkItems("deliveries", deliveries.length, 0, REPORTS_MAX);
      await health.report(reports.map(readHealth));
      await health.reportDeliveries(deliveries.map(readDelivery));
      return {};
    },
  };
}

/** Longest name in an `Explain` request, in characters: the answer repeats names per route. */
const NAME_MAX = 64;

async function explain(
  request: ExplainRequest,
  { table, health }: { table: TableReader; health: HealthService },
) {
  const recipient = parseRecipient(request.to);
  if (!recipient.ok) {
    throw new AppError("validation_error", "Some fields are not right.", {
      fields: [{ field: "to", code: recipient.code, message: "is not a mobile number" }],
    });
  }
  const errors = createFieldErrors();
  checkLength(errors, "from", request.from, 0, NAME_MAX);
  checkLength(errors, "plan", request.plan, 0, NAME_MAX);
  checkLength(errors, "tenant_id", request.tenantId, 0, NAME_MAX);
  errors.throwIfAny();
  const { e164: to, country } = recipient;
  // Test-mode messages have no routes: the built-in connector carries them at price zero.
  if (request.mode === Mode.TEST) return { to, country, routes: [] };
  if (request.mode !== Mode.UNSPECIFIED && request.mode !== Mode.LIVE) throw unknownValue("mode");
  const [current, unhealthy] = await Promise.all([table.read(), health.listFailing()]);
  const explained = explainRoutes(current.compile(unhealthy), {
    tenantId: request.tenantId,
    plan: request.plan || "default",
    senderName: request.from,
    trafficClass: readTrafficClass(request.trafficClass) ?? "transactional",
    digits: to.slice(1),
    nowMs: Date.now(),
    random: Math.random,
  });
  const routes = new Map(current.routes.map((route) => [route.id, route]));
  return {
    to,
    country,
    routes: explained.map((one) => {
      const route = routes.get(one.routeId);
      const segments = BigInt(Math.max(1, request.segments));
      return {
        ...(route === undefined ? {} : { route: writeRoute({ ...route, prices: [] }) }),
        chosen: one.chosen,
        why: one.why,
        matchedPrefix: one.matchedPrefix,
        price: one.price * segments,
      };
    }),
  };
}

/** The authenticated caller, for the audit. */
function actor(): string {
  return currentCall().caller ?? "operator";
}
