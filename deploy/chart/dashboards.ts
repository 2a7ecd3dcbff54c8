/** Generates the Grafana dashboards from a table of panels: title, unit, queries. */

type Query = { readonly expr: string; readonly legend: string };
type Panel = { readonly title: string; readonly unit: string; readonly queries: readonly Query[] };
type Board = { readonly name: string; readonly title: string; readonly panels: readonly Panel[] };

const NS = 'namespace="$namespace"';
const HTTP = "http_server_request_duration_seconds";
const FAILED = `sum(rate(${HTTP}_count{${NS},http_response_status_code=~"5.."}[5m]))`;
const RPC = "rpc_server_duration_seconds";

const BOARDS: readonly Board[] = [
  {
    name: "sms-overview",
    title: "SMS: overview",
    panels: [
      panel("Requests", "reqps", [
        [`sum by (http_route) (rate(${HTTP}_count{${NS}}[5m]))`, "{{http_route}}"],
      ]),
      panel("Share of 5xx", "percentunit", [
        [`(${FAILED} or vector(0)) / sum(rate(${HTTP}_count{${NS}}[5m]))`, "5xx"],
      ]),
      panel(
        "Duration of sends",
        "s",
        quantiles(`${HTTP}_bucket{${NS},http_request_method="POST"}`),
      ),
      panel("Answers by status", "reqps", [
        [
          `sum by (http_response_status_code) (rate(${HTTP}_count{${NS}}[5m]))`,
          "{{http_response_status_code}}",
        ],
      ]),
      panel("Calls between services", "reqps", [
        [`sum by (job) (rate(${RPC}_count{${NS}}[5m]))`, "{{job}}"],
      ]),
      panel("Failed calls", "reqps", [
        [
          `sum by (job, rpc_grpc_status) (rate(${RPC}_count{${NS},rpc_grpc_status!="OK"}[5m]))`,
          "{{job}} {{rpc_grpc_status}}",
        ],
      ]),
      panel("Duration of calls, p99", "s", [
        [`histogram_quantile(0.99, sum by (le, job) (rate(${RPC}_bucket{${NS}}[5m])))`, "{{job}}"],
      ]),
      panel("Event loop, p99 lateness", "s", [
        [`max by (pod) (nodejs_eventloop_lag_p99_seconds{${NS}})`, "{{pod}}"],
      ]),
      panel("CPU", "percentunit", [
        [`sum by (pod) (rate(process_cpu_seconds_total{${NS}}[5m]))`, "{{pod}}"],
      ]),
      panel("Memory", "bytes", [
        [`max by (pod) (process_resident_memory_bytes{${NS}})`, "{{pod}}"],
      ]),
    ],
  },
  {
    name: "sms-carriers",
    title: "SMS: queue and carriers",
    panels: [
      panel("Messages waiting", "short", [
        [`max by (connector) (messaging_waiting_messages{${NS}})`, "{{connector}}"],
      ]),
      panel("Age of the oldest waiting", "s", [
        [`max by (connector) (messaging_oldest_waiting_seconds{${NS}})`, "{{connector}}"],
      ]),
      panel("Messages with carriers", "short", [
        [`max by (connector) (messaging_sending_messages{${NS}})`, "{{connector}}"],
      ]),
      panel("Submits per second", "ops", [
        [`sum by (connector) (carrier_submits_per_second{${NS}})`, "{{connector}}"],
      ]),
      panel("Links up", "short", [
        [`sum by (connector) (carrier_link_up{${NS}})`, "{{connector}}"],
      ]),
      panel("Window used", "percentunit", [
        [
          `sum by (connector) (carrier_window_used{${NS}}) / sum by (connector) (carrier_window{${NS}})`,
          "{{connector}}",
        ],
      ]),
      panel("Receipts", "ops", [
        [
          `sum by (connector, verdict) (rate(carrier_receipts_total{${NS}}[5m]))`,
          "{{connector}} {{verdict}}",
        ],
      ]),
      panel("Receipts parked", "ops", [
        [`sum by (connector) (rate(carrier_receipts_parked_total{${NS}}[5m]))`, "{{connector}}"],
      ]),
      panel("Inbound messages", "ops", [
        [`sum by (owned) (rate(consent_inbound_messages_total{${NS}}[5m]))`, "owned: {{owned}}"],
      ]),
      panel("Inbound messages without an owner", "short", [
        [`max(consent_unowned_messages{${NS}})`, "stored"],
      ]),
      panel("Outcomes messaging does not know", "short", [
        [`max by (pod) (carrier_outcomes_pending{${NS}})`, "{{pod}}"],
        [`max by (pod) (carrier_outcomes_set_aside{${NS}})`, "{{pod}} refused"],
      ]),
      panel("Batches of events not published", "short", [
        [`max(messaging_outbox_batches{${NS}})`, "messaging"],
      ]),
      panel("Age of the oldest event not published", "s", [
        [`max(messaging_outbox_oldest_seconds{${NS}})`, "messaging"],
        [`max(wallet_outbox_oldest_seconds{${NS}})`, "wallet"],
        [`max(sender_id_outbox_oldest_seconds{${NS}})`, "sender-id"],
        [`max(campaign_outbox_oldest_seconds{${NS}})`, "campaign"],
        [`max(consent_outbox_oldest_seconds{${NS}})`, "consent"],
      ]),
    ],
  },
  {
    name: "sms-money-and-webhooks",
    title: "SMS: money and webhooks",
    panels: [
      panel("Commands decided", "ops", [
        [`sum(rate(wallet_commands_total{${NS}}[5m]))`, "commands"],
      ]),
      panel("Commit of a batch", "s", quantiles(`wallet_flush_duration_seconds_bucket{${NS}}`)),
      panel("Commands waiting", "short", [
        [`max by (pod) (wallet_commands_pending{${NS}})`, "{{pod}}"],
      ]),
      panel("Events not settled", "short", [[`max(wallet_settlement_lag{${NS}})`, "events"]]),
      panel("Age of the oldest event not settled", "s", [
        [`max(wallet_settlement_oldest_seconds{${NS}})`, "age"],
      ]),
      panel("Settlements", "ops", [
        [`sum by (result) (rate(wallet_settlements_total{${NS}}[5m]))`, "{{result}}"],
      ]),
      panel("Broken invariants", "short", [[`max(wallet_check_breaches{${NS}})`, "breaches"]]),
      panel("Attempts", "ops", [
        [
          `sum by (outcome) (rate(webhook_attempt_duration_seconds_count{${NS}}[5m]))`,
          "{{outcome}}",
        ],
      ]),
      panel(
        "Duration of attempts",
        "s",
        quantiles(`webhook_attempt_duration_seconds_bucket{${NS}}`),
      ),
      panel("Lateness of the earliest due", "s", [
        [`max(webhook_oldest_due_seconds{${NS}})`, "late"],
      ]),
      panel("Events not turned into deliveries", "short", [
        [`max(webhook_event_lag{${NS}})`, "events"],
      ]),
      panel("Requests in the air", "short", [
        [`sum(webhook_slots_in_use{${NS}})`, "all"],
        [`sum(webhook_slow_slots_in_use{${NS}})`, "to slow endpoints"],
      ]),
      panel("Events put aside", "short", [[`max(webhook_dead_letters{${NS}})`, "events"]]),
    ],
  },
  {
    name: "sms-campaigns",
    title: "SMS: campaigns",
    panels: [
      panel("Rows fed", "ops", [[`sum(rate(campaign_rows_fed_total{${NS}}[5m]))`, "rows"]]),
      panel("Chunks fed", "ops", [[`sum(rate(campaign_chunks_total{${NS}}[5m]))`, "chunks"]]),
      panel("Campaigns fed by a process", "short", [
        [`max by (pod) (campaign_leased_campaigns{${NS}})`, "{{pod}}"],
      ]),
      panel("Longest failing step", "s", [
        [`max by (pod) (campaign_feeding_failing_seconds{${NS}})`, "{{pod}}"],
      ]),
      panel("Events not in the counts", "short", [[`max(campaign_event_lag{${NS}})`, "events"]]),
      panel("Events put aside", "short", [[`max(campaign_dead_letters{${NS}})`, "events"]]),
    ],
  },
];

/** Dashboard files by name. */
export function dashboardFiles(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    BOARDS.map((board) => [
      `files/dashboards/${board.name}.json`,
      `${JSON.stringify(dashboardOf(board), null, 2)}\n`,
    ]),
  );
}

function panel(
  title: string,
  unit: string,
  queries: readonly (readonly [expr: string, legend: string])[],
): Panel {
  return { title, unit, queries: queries.map(([expr, legend]) => ({ expr, legend })) };
}

function quantiles(buckets: string): (readonly [string, string])[] {
  return [0.5, 0.95, 0.99].map((share) => [
    `histogram_quantile(${share}, sum by (le) (rate(${buckets}[5m])))`,
    `p${share * 100}`,
  ]);
}

function dashboardOf({ name, title, panels }: Board) {
  return {
    uid: name,
    title,
    tags: ["sms"],
    timezone: "utc",
    refresh: "30s",
    schemaVersion: 39,
    time: { from: "now-3h", to: "now" },
    templating: {
      list: [
        { name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus" },
        {
          name: "namespace",
          label: "Namespace",
          type: "query",
          datasource: { type: "prometheus", uid: "$datasource" },
          query: "label_values(process_start_time_seconds, namespace)",
          refresh: 2,
        },
      ],
    },
    panels: panels.map(({ title: panelTitle, unit, queries }, at) => ({
      id: at + 1,
      title: panelTitle,
      type: "timeseries",
      datasource: { type: "prometheus", uid: "$datasource" },
      gridPos: { h: 8, w: 12, x: (at % 2) * 12, y: Math.floor(at / 2) * 8 },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      targets: queries.map(({ expr, legend }, place) => ({
        refId: String.fromCharCode(65 + place),
        expr,
        legendFormat: legend,
      })),
    })),
  };
}
