import type { Connector } from "../../../proto/gen/sms/v1/routing_pb.js";
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { Redis } from "../../shared/io/redis.ts";
import type { LinkEvents } from "../adapters/links/link.ts";
import { makeLink } from "../adapters/links/make-link.ts";
import type { MessagingPort } from "../adapters/messaging-client.ts";
import type { Journal } from "../store/journal.ts";
import { createPacer, type Pacer } from "../store/rate-limiter.ts";
import type { CarrierStore } from "../store/submissions.ts";
import { type ConnectorRunner, createConnectorRunner } from "./connector.ts";
import type { OutcomeReporter } from "./outcome-reporter.ts";
import type { RecentSubmissions } from "./recent-submissions.ts";

/** What every connector of a process shares. */
export type SharedDeps = {
  readonly journal: Journal;
  readonly outcomes: OutcomeReporter;
  readonly recent: RecentSubmissions;
  readonly messaging: MessagingPort;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: CarrierStore;
  readonly redis: Redis;
  /** Where HTTP carriers reach the receipt listener. */
  readonly receiptBase: string;
};

/** How connectors are tied to the rest of the process. */
export type ConnectorDeps = {
  readonly ratePrefix: string;
  readonly replicas: () => number;
  readonly onReceipt: LinkEvents["onReceipt"];
  readonly onMobileOriginated: (connectorId: string) => void;
};

/** Makes runners and pacers from a connector's settings. */
export function createMakers(
  shared: SharedDeps,
  ties: ConnectorDeps,
): {
  makeRunner(connector: Connector): ConnectorRunner;
  makePacer(connector: Connector): Pacer | undefined;
} {
  return {
    makeRunner: (connector) =>
      createConnectorRunner({
        ...shared,
        connectorId: connector.id,
        hasSingleReceipt: connector.smpp?.singleReceipt ?? false,
        makeLink: (events) => makeLink(connector, events, shared),
        onReceipt: ties.onReceipt,
        onMobileOriginated: () => ties.onMobileOriginated(connector.id),
      }),
    makePacer: ({ id, ratePerSecond }) =>
      ratePerSecond === 0
        ? undefined
        : createPacer({
            redis: shared.redis,
            key: `${ties.ratePrefix}:${id}`,
            ratePerSecond,
            replicas: ties.replicas,
            log: shared.log,
          }),
  };
}
