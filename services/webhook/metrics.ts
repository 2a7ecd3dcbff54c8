import {
  Counter,
  DURATION_BUCKETS_S,
  Gauge,
  Histogram,
  type Registry,
} from "../shared/io/metrics.ts";
import type { ConnectionMetrics } from "./adapters/http-client/request.ts";
import type { DispatcherFigures } from "./app/dispatcher.ts";
import type { DeliveryMetrics } from "./app/ports.ts";

/** Sources of the gauges, read at each scrape. */
export type GaugeSources = {
  readonly figures: () => DispatcherFigures;
  readonly eventLag: () => Promise<number>;
  readonly deadLetters: () => Promise<number>;
};

/** The counters of the webhook service. */
export type WebhookMetrics = DeliveryMetrics &
  ConnectionMetrics & {
    /** Events that the stream deleted before they were consumed. */
    onEventsLost(count: number): void;
  };

/** No label names a tenant or an endpoint: their number has no limit. */
export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  const attempts = new Histogram({
    name: "webhook_attempt_duration_seconds",
    help: "Duration of delivery attempts by outcome class.",
    labelNames: ["outcome"],
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name, help, labelNames, registers });
  const stored = counter("webhook_deliveries_stored_total", "Deliveries stored.");
  const final = counter("webhook_deliveries_final_total", "Deliveries ended.", ["status"]);
  const lost = counter("webhook_leases_lost_total", "Results written after the lease was lost.");
  const disabled = counter("webhook_endpoints_disabled_total", "Endpoints disabled.");
  const lostEvents = counter(
    "webhook_lost_events_total",
    "Events dropped by the stream before they were consumed, as each replica sees it.",
  );
  const connections = counter("webhook_requests_by_connection_total", "Requests answered.", [
    "connection",
  ]);
  return {
    onStored: (count) => stored.inc(count),
    onAttempt: (resultClass, durationMs) => attempts.labels(resultClass).observe(durationMs / 1000),
    onFinal: (status) => final.labels(status).inc(),
    onLeaseLost: (count) => lost.inc(count),
    onDisabled: () => disabled.inc(),
    onEventsLost: (count) => lostEvents.inc(count),
    onConnection: (kind) => connections.labels(kind).inc(),
  };
}

/** Adds the gauges; a source that fails leaves its gauge as it was. */
export function addWebhookGauges(registry: Registry, sources: GaugeSources): void {
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        try {
          this.set(await read());
        } catch {
          // The scrape continues with the other figures.
        }
      },
    });
  const { figures } = sources;
  gauge("webhook_oldest_due_seconds", "Lateness of the earliest due delivery.", () => {
    return figures().oldestDueMs / 1000;
  });
  gauge("webhook_waiting_in_memory", "Leased deliveries without a slot.", () => figures().waiting);
  gauge("webhook_slots_in_use", "Requests in the air.", () => figures().permits.all);
  gauge("webhook_slow_slots_in_use", "Requests in the air to slow endpoints.", () => {
    return figures().permits.slow;
  });
  gauge("webhook_event_lag", "Events not yet acknowledged.", sources.eventLag);
  gauge("webhook_dead_letters", "Events put aside.", sources.deadLetters);
}
