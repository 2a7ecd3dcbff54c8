/** The RPCs of routing: proto ↔ domain and nothing else. */
import { toBinary } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import {
  type Connector,
  ConnectorState,
  HttpSettingsSchema,
  type RoutingService,
  SmppSettingsSchema,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import type {
  ConnectorConfig,
  ConnectorHealth,
  DeliveryReport,
  RoutingClient,
} from "../app/ports.ts";
import { createOptionalParameters } from "../domain/optional-parameters.ts";
import { answerTimeoutMs, bindCount, createLink, type LinkDeps } from "./links/create-link.ts";

/** Reports in one call of `ReportConnectorHealth`. */
const REPORTS_MAX = 1000;

export function createRoutingClient(
  client: Client<typeof RoutingService>,
  linkDeps: LinkDeps,
): RoutingClient {
  return {
    async listConnectors() {
      const { connectors } = await client.getConnectorSettings({ includeUnreadable: true });
      return connectors.map((connector) => toConfig(connector, linkDeps));
    },
    async reportHealth(reports) {
      for (const health of inCalls(reports.map(toHealth))) {
        await client.reportConnectorHealth({ health });
      }
    },
    async reportDeliveries(reports) {
      for (const deliveries of inCalls(reports.map(toDelivery))) {
        await client.reportConnectorHealth({ deliveries });
      }
    },
  };
}

/** Splits reports into those of each call. */
function* inCalls<Report>(reports: readonly Report[]) {
  for (let at = 0; at < reports.length; at += REPORTS_MAX) {
    yield reports.slice(at, at + REPORTS_MAX);
  }
}

function toDelivery({ recent, submitsSinceReceipt: _, ...report }: DeliveryReport) {
  const { rate, baselineRate, ...rest } = report;
  return {
    ...rest,
    ...(rate === undefined ? {} : { rate }),
    ...(baselineRate === undefined ? {} : { baselineRate }),
    submitted: BigInt(recent.submitted),
    delivered: BigInt(recent.delivered),
    undelivered: BigInt(recent.undelivered),
    withoutReceiptHour: BigInt(report.withoutReceiptHour),
    withoutReceiptDay: BigInt(report.withoutReceiptDay),
    reportedAtMs: BigInt(report.reportedAtMs),
  };
}

function toConfig(connector: Connector, linkDeps: LinkDeps): ConnectorConfig {
  const { id, version, createdAtMs, ratePerSecond, secretsUnreadable } = connector;
  const parameters = createOptionalParameters(connector.smpp?.optionalParameters);
  return {
    ...{ id, version, createdAtMs, ratePerSecond, secretsUnreadable },
    isActive: connector.state === ConnectorState.ACTIVE,
    binds: bindCount(connector),
    answerTimeoutMs: answerTimeoutMs(connector),
    hasSingleReceipt: connector.smpp?.singleReceipt ?? false,
    linkFingerprint: fingerprintOf(connector),
    httpCallbacks: connector.http,
    createLink: (events) => createLink(connector, events, linkDeps, parameters),
  };
}

/** Everything but state and rate, as one comparable text. */
function fingerprintOf({ type, smpp, http }: Connector): string {
  const parts = [
    smpp === undefined ? "" : Buffer.from(toBinary(SmppSettingsSchema, smpp)).toString("base64"),
    http === undefined ? "" : Buffer.from(toBinary(HttpSettingsSchema, http)).toString("base64"),
  ];
  return `${type}|${parts.join("|")}`;
}

function toHealth(report: ConnectorHealth) {
  return {
    connectorId: report.connectorId,
    bind: report.name,
    link: report.link,
    windowUsed: report.windowUsed,
    window: report.window,
    submitsPerSecond: report.submitsPerSecond,
    throttled: BigInt(report.throttled),
    unknown: BigInt(report.unknown),
    answerMsP99: report.answerMsP99,
    lastError: report.lastError,
    reportedAtMs: BigInt(report.reportedAtMs),
    failureShare: report.failureShare,
    submitted: BigInt(report.submitted),
    receipts: BigInt(report.receipts),
    receiptSecondsP50: report.receiptSecondsP50,
    answers: BigInt(report.answers),
    failures: BigInt(report.failures),
    ...(Number.isFinite(report.adaptiveRate) ? { adaptiveRate: report.adaptiveRate } : {}),
  };
}
