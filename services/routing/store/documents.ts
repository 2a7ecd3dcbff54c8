/** Documents of the routing database and their mapping to the domain. */
import { Long } from "mongodb";
import type { SecretBox } from "../../shared/io/encryption.ts";
import type { Connector, ConnectorState, ConnectorType } from "../domain/connector.ts";
import { HTTP_DEFAULTS, type HttpSettings } from "../domain/http-settings.ts";
import { quietRuleName, type StoredQuietRule } from "../domain/quiet-hours.ts";
import type { Route } from "../domain/route.ts";
import { SMPP_DEFAULTS, type SmppSettings } from "../domain/smpp-settings.ts";

/** A stored connector. Its secrets, including header values, are encrypted. */
export type ConnectorDocument = {
  _id: string;
  type: ConnectorType;
  state: ConnectorState;
  rate_per_second: number;
  smpp: SmppSettings | null;
  http: (Omit<HttpSettings, "headers"> & { headers: string }) | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** A stored route. Prices are longs. */
export type RouteDocument = {
  _id: string;
  name: string;
  connector_id: string;
  enabled: boolean;
  priority: number;
  weight: number;
  sender_ids: string[];
  plans: string[];
  tenant_ids: string[];
  /** Absent in documents of earlier releases. */
  traffic_classes?: string[];
  prices: { prefix: string; price: Long | number }[];
  prices_version: number;
  enabled_from_minute: number;
  enabled_until_minute: number;
  created_at: Date;
  updated_at: Date;
};

/** Stored quiet hours of a country and class; without windows they are removed. */
export type QuietHoursDocument = {
  _id: string;
  country: string;
  traffic_class: StoredQuietRule["trafficClass"];
  time_zone: string;
  windows: { from_minute: number; until_minute: number }[];
  updated_at: Date;
};

/** Encrypts a connector's secrets with its id: the ciphertext is useless in another connector. */
export function toConnectorDocument(connector: Connector, box: SecretBox): ConnectorDocument {
  const { id, smpp, http } = connector;
  return {
    _id: id,
    type: connector.type,
    state: connector.state,
    rate_per_second: connector.ratePerSecond,
    smpp: smpp === undefined ? null : { ...smpp, password: seal(box, smpp.password, id, "smpp") },
    http:
      http === undefined
        ? null
        : {
            ...http,
            headers: seal(box, JSON.stringify(http.headers), id, "headers"),
            receiptSecret: seal(box, http.receiptSecret, id, "receipt"),
          },
    version: connector.version,
    created_at: new Date(connector.createdAtMs),
    updated_at: new Date(connector.updatedAtMs),
  };
}

/**
 * Decrypts a connector; throws when its key is missing. Without a box it leaves secrets out. Settings that are newer
 * than the document have their defaults.
 */
export function fromConnectorDocument(
  document: ConnectorDocument,
  box: SecretBox | undefined,
): Connector {
  const { _id: id, smpp, http } = document;
  return {
    id,
    type: document.type,
    state: document.state,
    ratePerSecond: document.rate_per_second,
    smpp: smpp === null ? undefined : openSmpp(box, smpp, id),
    http:
      http === null
        ? undefined
        : {
            ...HTTP_DEFAULTS,
            ...http,
            headers: openHeaders(box, http.headers, id),
            receiptSecret: open(box, http.receiptSecret, id, "receipt"),
          },
    version: document.version,
    createdAtMs: document.created_at.getTime(),
    updatedAtMs: document.updated_at.getTime(),
    isUnreadable: box === undefined,
  };
}

/** Decrypts a connector; leaves its secrets out when their key is missing. */
export function fromConnectorDocumentIfPossible(
  document: ConnectorDocument,
  box: SecretBox,
): Connector {
  try {
    return fromConnectorDocument(document, box);
  } catch {
    // Callers do not show secrets, and an operator must be able to set new ones.
    return fromConnectorDocument(document, undefined);
  }
}

function openHeaders(box: SecretBox | undefined, sealed: string, id: string) {
  const text = open(box, sealed, id, "headers");
  return (text === "" ? {} : JSON.parse(text)) as Record<string, string>;
}

function openSmpp(box: SecretBox | undefined, smpp: SmppSettings, id: string): SmppSettings {
  return {
    ...SMPP_DEFAULTS,
    ...smpp,
    password: open(box, smpp.password, id, "smpp"),
    // MongoDB stores undefined as null.
    sourceTon: smpp.sourceTon ?? undefined,
    sourceNpi: smpp.sourceNpi ?? undefined,
    destinationTon: smpp.destinationTon ?? undefined,
    destinationNpi: smpp.destinationNpi ?? undefined,
  };
}

function seal(box: SecretBox, plain: string, id: string, part: string): string {
  return plain === "" ? "" : box.seal(plain, `connector/${id}/${part}`);
}

function open(box: SecretBox | undefined, sealed: string, id: string, part: string): string {
  return sealed === "" || box === undefined ? "" : box.open(sealed, `connector/${id}/${part}`);
}

export function toRouteDocument(route: Route): RouteDocument {
  return {
    _id: route.id,
    name: route.name,
    connector_id: route.connectorId,
    enabled: route.enabled,
    priority: route.priority,
    weight: route.weight,
    sender_ids: [...route.senderIds],
    plans: [...route.plans],
    tenant_ids: [...route.tenantIds],
    traffic_classes: [...route.trafficClasses],
    prices: route.prices.map(({ prefix, price }) => ({ prefix, price: Long.fromBigInt(price) })),
    prices_version: route.pricesVersion,
    enabled_from_minute: route.enabledFromMinute,
    enabled_until_minute: route.enabledUntilMinute,
    created_at: new Date(route.createdAtMs),
    updated_at: new Date(route.updatedAtMs),
  };
}

export function fromRouteDocument(document: RouteDocument): Route {
  return {
    id: document._id,
    name: document.name,
    connectorId: document.connector_id,
    enabled: document.enabled,
    priority: document.priority,
    weight: document.weight,
    senderIds: document.sender_ids,
    plans: document.plans,
    tenantIds: document.tenant_ids,
    trafficClasses: document.traffic_classes ?? [],
    prices: document.prices.map(({ prefix, price }) => ({ prefix, price: toBigInt(price) })),
    pricesVersion: document.prices_version,
    enabledFromMinute: document.enabled_from_minute,
    enabledUntilMinute: document.enabled_until_minute,
    createdAtMs: document.created_at.getTime(),
    updatedAtMs: document.updated_at.getTime(),
  };
}

export function toQuietHoursDocument(rule: StoredQuietRule): QuietHoursDocument {
  return {
    _id: quietRuleName(rule),
    country: rule.country,
    traffic_class: rule.trafficClass,
    time_zone: rule.timeZone,
    windows: rule.windows.map(({ fromMinute, untilMinute }) => ({
      ...{ from_minute: fromMinute, until_minute: untilMinute },
    })),
    updated_at: new Date(rule.updatedAtMs),
  };
}

export function fromQuietHoursDocument(document: QuietHoursDocument): StoredQuietRule {
  return {
    country: document.country,
    trafficClass: document.traffic_class,
    timeZone: document.time_zone,
    windows: document.windows.map(({ from_minute, until_minute }) => ({
      ...{ fromMinute: from_minute, untilMinute: until_minute },
    })),
    updatedAtMs: document.updated_at.getTime(),
  };
}

/** The driver reads a long as a number if that is exact, otherwise as `Long`. */
export function toBigInt(value: Long | number | bigint): bigint {
  return typeof value === "object" ? value.toBigInt() : BigInt(value);
}
