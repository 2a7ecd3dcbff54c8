/** Mapping between the protobuf messages of `sms.v1` and the routing domain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type BindHealth as BindHealthMessage,
  type BindHealthSchema,
  type Connector as ConnectorMessage,
  type ConnectorSchema,
  ConnectorState,
  ConnectorType,
  type DeliveryHealth as DeliveryHealthMessage,
  type DeliveryHealthSchema,
  type PriceChangeSchema,
  type Route as RouteMessage,
  type RouteSchema,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import type { TrafficClass as WireTrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { TRAFFIC_CLASSES } from "../../shared/core/traffic-class.ts";
import { routeClassOf, WIRE_TRAFFIC_CLASS } from "../../shared/rpc/traffic-class.ts";
import type * as connector from "../domain/connector.ts";
import type { DeliveryHealth } from "../domain/delivery-health.ts";
import type { BindHealth } from "../domain/health.ts";
import type { HttpSettings } from "../domain/http-settings.ts";
import type { PriceChange } from "../domain/price-list.ts";
import type { Route, RouteInput } from "../domain/route.ts";
import type { SmppSettings } from "../domain/smpp-settings.ts";

const TYPE_NAMES: Readonly<Record<ConnectorType, string>> = {
  [ConnectorType.UNSPECIFIED]: "",
  [ConnectorType.SMPP]: "smpp",
  [ConnectorType.HTTP]: "http",
  [ConnectorType.TEST]: "test",
};
const STATE_NAMES: Readonly<Record<ConnectorState, string>> = {
  [ConnectorState.UNSPECIFIED]: "",
  [ConnectorState.ACTIVE]: "active",
  [ConnectorState.PAUSED]: "paused",
  [ConnectorState.DRAINING]: "draining",
};
const TYPES = { smpp: ConnectorType.SMPP, http: ConnectorType.HTTP, test: ConnectorType.TEST };
const STATES = {
  active: ConnectorState.ACTIVE,
  paused: ConnectorState.PAUSED,
  draining: ConnectorState.DRAINING,
};

/** Reads a connector from a request. Absent members become zero or empty. */
export function readConnector(message: ConnectorMessage | undefined): connector.ConnectorInput {
  return {
    id: message?.id ?? "",
    type: TYPE_NAMES[message?.type ?? ConnectorType.UNSPECIFIED] ?? "unknown",
    state: STATE_NAMES[message?.state ?? ConnectorState.UNSPECIFIED] ?? "unknown",
    ratePerSecond: message?.ratePerSecond ?? 0,
    smpp: message?.smpp === undefined ? undefined : readSmpp(message.smpp),
    http: message?.http === undefined ? undefined : readHttp(message.http),
  };
}

function readSmpp(smpp: NonNullable<ConnectorMessage["smpp"]>): SmppSettings {
  const { $typeName: _type, $unknown: _unknown, ...rest } = smpp;
  return {
    ...rest,
    sourceTon: readOverride(smpp.sourceTon),
    sourceNpi: readOverride(smpp.sourceNpi),
    destinationTon: readOverride(smpp.destinationTon),
    destinationNpi: readOverride(smpp.destinationNpi),
  };
}

function readOverride(value: number | undefined): number | undefined {
  return value === undefined || value === -1 ? undefined : value;
}

function readHttp(http: NonNullable<ConnectorMessage["http"]>): HttpSettings {
  const { $typeName: _type, $unknown: _unknown, ...rest } = http;
  return rest;
}

/**
 * Maps a connector with its secrets. Call `hideSecrets` first where the reader may not see them.
 */
export function writeConnector(
  connector: connector.Connector,
): MessageInitShape<typeof ConnectorSchema> {
  const { smpp, http } = connector;
  return {
    id: connector.id,
    type: TYPES[connector.type],
    state: STATES[connector.state],
    ratePerSecond: connector.ratePerSecond,
    ...(smpp === undefined ? {} : { smpp: writeSmpp(smpp) }),
    ...(http === undefined ? {} : { http: { ...http, headers: { ...http.headers } } }),
    createdAtMs: BigInt(connector.createdAtMs),
    updatedAtMs: BigInt(connector.updatedAtMs),
    version: BigInt(connector.version),
    secretsUnreadable: connector.isUnreadable,
  } as MessageInitShape<typeof ConnectorSchema>;
}

function writeSmpp(smpp: SmppSettings) {
  const { sourceTon, sourceNpi, destinationTon, destinationNpi, ...rest } = smpp;
  return {
    ...rest,
    ...(sourceTon === undefined ? {} : { sourceTon }),
    ...(sourceNpi === undefined ? {} : { sourceNpi }),
    ...(destinationTon === undefined ? {} : { destinationTon }),
    ...(destinationNpi === undefined ? {} : { destinationNpi }),
    errorCodes: { ...smpp.errorCodes },
    throttleScopes: { ...smpp.throttleScopes },
  };
}

/** Reads a route from a request. */
export function readRoute(message: RouteMessage | undefined): RouteInput {
  return {
    name: message?.name ?? "",
    connectorId: message?.connectorId ?? "",
    enabled: message?.enabled ?? false,
    priority: message?.priority ?? 0,
    weight: message?.weight ?? 0,
    senderIds: message?.senderIds ?? [],
    plans: message?.plans ?? [],
    tenantIds: message?.tenantIds ?? [],
    trafficClasses: (message?.trafficClasses ?? []).map(routeClassOf),
    prices: (message?.prices ?? []).map(({ prefix, price }) => ({ prefix, price })),
    enabledFromMinute: message?.enabledFromMinute ?? 0,
    enabledUntilMinute: message?.enabledUntilMinute ?? 0,
  };
}

export function writeRoute(route: Route): MessageInitShape<typeof RouteSchema> {
  return {
    ...route,
    senderIds: [...route.senderIds],
    plans: [...route.plans],
    tenantIds: [...route.tenantIds],
    trafficClasses: route.trafficClasses.map(wireClassOf),
    prices: route.prices.map(({ prefix, price }) => ({ prefix, price })),
    createdAtMs: BigInt(route.createdAtMs),
    updatedAtMs: BigInt(route.updatedAtMs),
  };
}

/** A stored class of a newer release has a number that no class of this one has. */
function wireClassOf(name: string): WireTrafficClass {
  const known = TRAFFIC_CLASSES.find((one) => one === name);
  return known === undefined ? UNKNOWN_CLASS : WIRE_TRAFFIC_CLASS[known];
}

const UNKNOWN_CLASS = 0x7fffffff as WireTrafficClass;

export function writePriceChange(change: PriceChange): MessageInitShape<typeof PriceChangeSchema> {
  return {
    prefix: change.prefix,
    oldPrice: change.oldPrice,
    newPrice: change.newPrice,
    added: change.kind === "added",
    removed: change.kind === "removed",
  };
}

/** Reads a bind's report. */
export function readHealth(message: BindHealthMessage): BindHealth {
  const { $typeName: _type, $unknown: _unknown, ...rest } = message;
  return {
    ...rest,
    throttled: readCount(message.throttled),
    unknown: readCount(message.unknown),
    submitted: readCount(message.submitted),
    receipts: readCount(message.receipts),
    answers: readOptionalCount(message.answers),
    failures: readOptionalCount(message.failures),
    reportedAtMs: Number(message.reportedAtMs),
  };
}

/** A count, limited to the largest exact integer. */
function readCount(count: bigint): number {
  return Math.min(Math.max(0, Number(count)), Number.MAX_SAFE_INTEGER);
}

function readOptionalCount(count: bigint | undefined): number | undefined {
  return count === undefined ? undefined : readCount(count);
}

export function readDelivery(message: DeliveryHealthMessage): DeliveryHealth {
  const { $typeName: _type, $unknown: _unknown, ...rest } = message;
  return {
    ...rest,
    rate: message.rate,
    baselineRate: message.baselineRate,
    submitted: readCount(message.submitted),
    delivered: readCount(message.delivered),
    undelivered: readCount(message.undelivered),
    withoutReceiptHour: readCount(message.withoutReceiptHour),
    withoutReceiptDay: readCount(message.withoutReceiptDay),
    reportedAtMs: Number(message.reportedAtMs),
  };
}

export function writeDelivery(
  delivery: DeliveryHealth,
): MessageInitShape<typeof DeliveryHealthSchema> {
  const { rate, baselineRate, ...rest } = delivery;
  return {
    ...rest,
    ...(rate === undefined ? {} : { rate }),
    ...(baselineRate === undefined ? {} : { baselineRate }),
    submitted: BigInt(delivery.submitted),
    delivered: BigInt(delivery.delivered),
    undelivered: BigInt(delivery.undelivered),
    withoutReceiptHour: BigInt(delivery.withoutReceiptHour),
    withoutReceiptDay: BigInt(delivery.withoutReceiptDay),
    reportedAtMs: BigInt(delivery.reportedAtMs),
  };
}

export function writeHealth(health: BindHealth): MessageInitShape<typeof BindHealthSchema> {
  const { answers, failures, adaptiveRate, ...rest } = health;
  return {
    ...rest,
    ...(adaptiveRate === undefined ? {} : { adaptiveRate }),
    ...(answers === undefined ? {} : { answers: BigInt(answers) }),
    ...(failures === undefined ? {} : { failures: BigInt(failures) }),
    throttled: BigInt(health.throttled),
    unknown: BigInt(health.unknown),
    submitted: BigInt(health.submitted),
    receipts: BigInt(health.receipts),
    reportedAtMs: BigInt(health.reportedAtMs),
  };
}
