import { type Connector, ConnectorType } from "../../../../proto/gen/sms/v1/routing_pb.js";
import type { Clock } from "../../../shared/core/clock.ts";
import type { Logger } from "../../../shared/core/logger.ts";
import type { Link, LinkEvents } from "../../app/link.ts";
import type { SubmissionStore } from "../../app/ports.ts";
import type { OptionalParameters } from "../../domain/optional-parameters.ts";
import { createHttpLink } from "./http-link.ts";
import { createSmppLink } from "./smpp-link.ts";
import { createTestLink } from "./test-link.ts";

/** The dependencies of links. */
export type LinkDeps = {
  readonly store: Pick<SubmissionStore, "listSubmissions">;
  readonly clock: Clock;
  readonly log: Logger;
  /** The URL at which HTTP carriers reach the receipt listener. */
  readonly receiptBase: string;
};

/** Creates a link of the connector's type. Throws when the settings of that type are missing. */
export function createLink(
  connector: Connector,
  events: LinkEvents,
  deps: LinkDeps,
  parameters: OptionalParameters,
): Link {
  const { id: connectorId, smpp, http } = connector;
  const { clock, log, store, receiptBase } = deps;
  if (connector.type === ConnectorType.SMPP && smpp !== undefined) {
    return createSmppLink({ connectorId, settings: smpp, events, log, clock, parameters });
  }
  if (connector.type === ConnectorType.HTTP && http !== undefined) {
    return createHttpLink({ connectorId, settings: http, events, receiptBase, clock });
  }
  if (connector.type === ConnectorType.TEST) {
    return createTestLink({ connectorId, events, clock, listSubmissions: store.listSubmissions });
  }
  throw new Error(`the connector ${connectorId} has no settings for its type`);
}

/** The number of binds of a connector. */
export function bindCount(connector: Connector): number {
  return connector.type === ConnectorType.SMPP ? Math.max(1, connector.smpp?.binds ?? 1) : 1;
}

/** The longest time that a submit of this connector stays unanswered, in milliseconds. */
export function answerTimeoutMs(connector: Connector): number {
  if (connector.type === ConnectorType.SMPP) return connector.smpp?.responseTimeoutMs ?? 10_000;
  if (connector.type === ConnectorType.HTTP) return connector.http?.timeoutMs ?? 10_000;
  return 2000;
}
