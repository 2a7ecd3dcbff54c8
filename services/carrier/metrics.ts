import { Counter, Gauge, type Registry } from "../shared/io/metrics.ts";
import type { ConnectorRunner } from "./app/connector.ts";
import type { OutcomeReporter } from "./app/outcome-reporter.ts";
import type { DeliveryHealth } from "./domain/delivery-health.ts";

/** Counters that belong to no bind. */
export type CarrierMetrics = {
  readonly receipts: Counter<"connector" | "verdict">;
  readonly parked: Counter<"connector">;
  readonly contradicted: Counter<"connector">;
  readonly mobileOriginated: Counter<"connector">;
  /** Replaces the figures of delivery health. */
  readonly setDeliveries: (health: readonly DeliveryHealth[]) => void;
};

/** Registers the carrier's metrics; a scrape reads the gauges from the runners. */
export function createCarrierMetrics(
  registry: Registry,
  runners: () => ReadonlyMap<string, ConnectorRunner>,
  outcomes: Pick<OutcomeReporter, "pending" | "setAside">,
): CarrierMetrics {
  const registers = [registry];
  const labelNames = ["connector", "bind"] as const;
  const gauges = {
    windowUsed: gauge("carrier_window_used", "Submits unanswered now."),
    window: gauge("carrier_window", "Submits that may be unanswered."),
    rate: gauge("carrier_submits_per_second", "Submits per second over the last seconds."),
    up: gauge("carrier_link_up", "1 while the link is bound."),
    p99: gauge("carrier_answer_seconds_p99", "99th percentile of the answer latency."),
    receipt: gauge("carrier_receipt_seconds_p50", "Median time from submit to receipt."),
    adaptiveRate: gauge(
      "carrier_adaptive_rate",
      "Submits per second to which throttling limits the bind; +Inf without a limit.",
    ),
    submitted: gauge("carrier_bind_submits", "Submits since the bind began."),
    throttled: gauge("carrier_bind_throttled", "Throttled submits since the bind began."),
    unknown: gauge("carrier_bind_unanswered", "Submits without an answer since the bind began."),
  };

  function gauge(name: string, help: string): Gauge<"connector" | "bind"> {
    return new Gauge({ name, help, labelNames, registers });
  }

  new Gauge({
    name: "carrier_outcomes_pending",
    help: "Outcomes that are not reported to messaging yet.",
    registers,
    collect() {
      this.set(outcomes.pending);
      for (const one of Object.values(gauges)) one.reset();
      for (const [connector, runner] of runners()) {
        for (const report of runner.reports()) {
          const labels = { connector, bind: String(report.bind) };
          gauges.windowUsed.set(labels, report.windowUsed);
          gauges.window.set(labels, report.window);
          gauges.rate.set(labels, report.submitsPerSecond);
          gauges.up.set(labels, report.link === "bound" || report.link === "paused" ? 1 : 0);
          gauges.p99.set(labels, report.answerMsP99 / 1000);
          gauges.receipt.set(labels, report.receiptSecondsP50);
          gauges.adaptiveRate.set(labels, report.adaptiveRate);
          gauges.submitted.set(labels, report.submitted);
          gauges.throttled.set(labels, report.throttled);
          gauges.unknown.set(labels, report.unknown);
        }
      }
    },
  });

  new Gauge({
    name: "carrier_outcomes_set_aside",
    help: "Outcomes that messaging rejects; each is reported again alone.",
    registers,
    collect() {
      this.set(outcomes.setAside);
    },
  });

  const connector = ["connector"] as const;
  return {
    setDeliveries: createDeliveryGauges(registry),
    receipts: new Counter({
      name: "carrier_receipts_total",
      help: "Receipts matched to their message and recorded.",
      labelNames: ["connector", "verdict"],
      registers,
    }),
    parked: new Counter({
      name: "carrier_receipts_parked_total",
      help: "Receipts that found no message at first, or messaging unavailable.",
      labelNames: connector,
      registers,
    }),
    contradicted: new Counter({
      name: "carrier_receipts_contradicted_total",
      help: "Receipts with the id of a submission and another number; they are parked.",
      labelNames: connector,
      registers,
    }),
    mobileOriginated: new Counter({
      name: "carrier_mobile_originated_total",
      help: "Parts of inbound messages that the consent service has stored.",
      labelNames: connector,
      registers,
    }),
  };
}

/** Every replica sets the same figures, of all replicas. The country `all` is of all countries. */
function createDeliveryGauges(registry: Registry): CarrierMetrics["setDeliveries"] {
  const registers = [registry];
  const gauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ["connector", "country"] as const, registers });
  const rate = gauge("carrier_delivery_rate", "Delivered share of the last hour's submits.");
  const baseline = gauge("carrier_delivery_baseline_rate", "The same of the 24 hours before.");
  const submits = gauge("carrier_delivery_submits", "Submits of the last hour.");
  const stopped = gauge(
    "carrier_submits_since_receipt",
    "Submits of the last quarter of an hour when receipts have stopped, else 0.",
  );
  const without = new Gauge({
    name: "carrier_submits_without_receipt",
    help: "Submits without a final receipt, of the last hour and of the 24 hours before.",
    labelNames: ["connector", "country", "age"] as const,
    registers,
  });
  return (health) => {
    for (const one of [rate, baseline, submits, stopped, without]) one.reset();
    for (const one of health) {
      const labels = { connector: one.connectorId, country: one.country || "all" };
      if (one.rate !== undefined) rate.set(labels, one.rate);
      if (one.baselineRate !== undefined) baseline.set(labels, one.baselineRate);
      submits.set(labels, one.recent.submitted);
      stopped.set(labels, one.submitsSinceReceipt);
      without.set({ ...labels, age: "hour" }, one.withoutReceiptHour);
      without.set({ ...labels, age: "day" }, one.withoutReceiptDay);
    }
  };
}
