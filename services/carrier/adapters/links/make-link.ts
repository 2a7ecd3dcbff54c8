import { type Connector, ConnectorType } from "../../../../proto/gen/sms/v1/routing_pb.js";
import type { Clock } from "../../../shared/core/clock.ts";
import type { Logger } from "../../../shared/core/logger.ts";
import type { CarrierStore } from "../../store/submissions.ts";
import { createHttpLink } from "./http-link.ts";
import type { Link, LinkEvents } from "./link.ts";
import { createSmppLink } from "./smpp-link.ts";
import { createTestLink } from "./test-link.ts";

/** What links are made from. */
export type LinkParts = {
  readonly store: Pick<CarrierStore, "listSubmissions">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Where carriers reach the receipt listener. */
  readonly receiptBase: string;
};

/** Makes a link of the connector's type. Throws when its settings are missing. */
export function makeLink(connector: Connector, events: LinkEvents, parts: LinkParts): Link {
  const { id: connectorId, smpp, http } = connector;
  const { clock, log, store, receiptBase } = parts;
  if (connector.type === ConnectorType.SMPP && smpp !== undefined) {
    return createSmppLink({ connectorId, settings: smpp, events, log, clock });
  }
  if (connector.type === ConnectorType.HTTP && http !== undefined) {
    return createHttpLink({ connectorId, settings: http, events, receiptBase });
  }
  if (connector.type === ConnectorType.TEST) {
    return createTestLink({ connectorId, events, clock, listSubmissions: store.listSubmissions });
  }
  throw new Error(`the connector ${connectorId} has no settings for its type`);
}

/** How many binds a connector wants. */
export function bindCount(connector: Connector): number {
  return connector.type === ConnectorType.SMPP ? Math.max(1, connector.smpp?.binds ?? 1) : 1;
}

/** How long a submit of this connector may stay unanswered, in milliseconds. */
export function answerTimeoutMs(connector: Connector): number {
  if (connector.type === ConnectorType.SMPP) return connector.smpp?.responseTimeoutMs ?? 10_000;
  if (connector.type === ConnectorType.HTTP) return connector.http?.timeoutMs ?? 10_000;
  return 2000;
}
