import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import type { Endpoint } from "../domain/endpoint.ts";
import type { EndpointStore } from "./ports.ts";
import { createRetryUntilAvailable } from "./retry-until-available.ts";

/** Loads endpoints from the store. */
export type EndpointLoader = {
  read(endpointId: string): Promise<Endpoint | undefined>;
  isBlocked(): boolean;
  /** From now on an outage fails reads instead of delaying them. */
  stopWaiting(): void;
  close(): Promise<void>;
};

/**
 * Attempts that start together share one query. Nothing is cached, so disabling an endpoint stops the
 * next attempt.
 */
export function createEndpointLoader(options: {
  readonly store: Pick<EndpointStore, "findByIds">;
  readonly log: Logger;
  readonly queueMax: number;
}): EndpointLoader {
  const retry = createRetryUntilAvailable("webhook endpoint reads", options.log);
  const batcher = createBatcher<string, Endpoint | undefined>({
    name: "webhook endpoint reads",
    batchMax: 512,
    queueMax: options.queueMax,
    concurrency: 2,
    isTransient: isUnavailable,
    async flush(ids) {
      const found = await retry.run(() => options.store.findByIds([...new Set(ids)]));
      const byId = new Map(found.map((endpoint) => [endpoint.id, endpoint]));
      return ids.map((id) => byId.get(id));
    },
  });
  return {
    read: (endpointId) => batcher.add(endpointId),
    isBlocked: retry.isBlocked,
    stopWaiting: retry.stop,
    close: () => batcher.close(),
  };
}
