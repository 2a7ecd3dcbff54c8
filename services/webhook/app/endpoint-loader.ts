import type { Logger } from "../../shared/core/logger.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import { isMongoOutage } from "../../shared/io/mongo-errors.ts";
import type { Endpoint } from "../domain/endpoint.ts";
import type { EndpointStore } from "./ports.ts";
import { createPatience } from "./retry-until-available.ts";

/** Reads endpoints as they are now. */
export type EndpointReader = {
  read(endpointId: string): Promise<Endpoint | undefined>;
  isStuck(): boolean;
  /** From now on an outage fails the reads instead of delaying them. */
  stopWaiting(): void;
  close(): Promise<void>;
};

/**
 * Reads an endpoint at each attempt, without a query for each: attempts that start together share
 * one. Nothing is kept after that, so disabling an endpoint stops the very next attempt.
 */
export function createEndpointReader(options: {
  readonly store: Pick<EndpointStore, "findByIds">;
  readonly log: Logger;
  readonly queueMax: number;
}): EndpointReader {
  const patience = createPatience("webhook endpoint reads", options.log);
  const batcher = createBatcher<string, Endpoint | undefined>({
    name: "webhook endpoint reads",
    batchMax: 512,
    queueMax: options.queueMax,
    concurrency: 2,
    isTransient: isMongoOutage,
    async flush(ids) {
      const found = await patience.run(() => options.store.findByIds([...new Set(ids)]));
      const byId = new Map(found.map((endpoint) => [endpoint.id, endpoint]));
      return ids.map((id) => byId.get(id));
    },
  });
  return {
    read: (endpointId) => batcher.add(endpointId),
    isStuck: patience.isStuck,
    stopWaiting: patience.stop,
    close: () => batcher.close(),
  };
}
