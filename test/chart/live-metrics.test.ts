import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { MongoClient } from "mongodb";
import { parse } from "yaml";
import { CHART } from "../../deploy/chart/layout.ts";
import { createDeliveryStore } from "../../services/carrier/store/delivery-counts.ts";
import { callRest } from "../support/customer.ts";
import { eventually } from "../support/poll.ts";
import { skipSince } from "../support/skip.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import type { RuleGroup } from "./kube-types.ts";
import { type Prometheus, prometheusMissing, startPrometheus } from "./prometheus.ts";
import { NO_PROMTOOL, PROMTOOL } from "./promtool.ts";

const NAMESPACE = "messaging";
/** Ends of numbers: delivered, undelivered, refused by the carrier, receipt before the answer. */
const NUMBERS = ["0001", "9901", "9903", "9907"];

describe("dashboards and alerts on a running stack", function () {
  this.timeout(240_000);
  let stack: TestStack;
  let prometheus: Prometheus;

  before(async function () {
    const missing = prometheusMissing();
    if (missing !== undefined) skipSince(this, missing);
    stack = await startTestStack();
    prometheus = await startPrometheus(stack.ops, NAMESPACE);
    await eventually(
      async () => (await prometheus.query("up == 1")).length === Object.keys(stack.ops).length,
      { timeoutMs: 30_000, everyMs: 200, what: "a first scrape of every process" },
    );
    await addPastDeliveries(stack);
    // A rate needs two samples, and some series begin with what they count first: so twice.
    await somethingOfEverything(stack);
    await eventually(
      async () => (await prometheus.query("webhook_attempt_duration_seconds_count")).length > 0,
      { timeoutMs: 30_000, everyMs: 200, what: "a scrape of the first webhook" },
    );
    await somethingOfEverything(stack);
  });

  after(async () => {
    await prometheus?.stop();
    await stack?.stop();
  });

  for (const { title, panels } of dashboards()) {
    for (const panel of panels) {
      it(`${title}, "${panel.title}": every query gives a series with numbers`, async () => {
        for (const { expr } of panel.targets) {
          const expression = expr.replaceAll("$namespace", NAMESPACE);
          await eventually(
            async () => {
              const series = await prometheus.query(expression);
              return series.some(({ value }) => Number.isFinite(Number(value[1])));
            },
            { timeoutMs: 30_000, everyMs: 500, what: expression },
          );
        }
      });
    }
  }

  it("the dashboards' list of namespaces holds this one", async () => {
    const series = await prometheus.query("group by (namespace) (process_start_time_seconds)");
    expect(series.map(({ metric }) => metric.namespace)).to.deep.equal([NAMESPACE]);
  });

  for (const { alert = "", expr } of alerts()) {
    it(`${alert} reads series and labels that are there, and rests`, async () => {
      const selectors = selectorsOf(expr);
      expect(selectors).to.not.be.empty;
      for (const selector of new Set(selectors)) {
        // The carrier compares its delivery counts once a minute.
        await eventually(async () => (await prometheus.query(selector)).length > 0, {
          timeoutMs: 90_000,
          everyMs: 500,
          what: selector,
        });
      }
      const firing = await prometheus.query(expr);
      expect(firing.map(({ metric }) => metric)).to.deep.equal([]);
    });
  }

  it("promtool finds no fault in the metrics of any process", async function () {
    if (spawnSync(PROMTOOL, ["--version"]).error !== undefined) skipSince(this, NO_PROMTOOL);
    for (const [name, url] of Object.entries(stack.ops)) {
      const input = await (await fetch(new URL("/metrics", url))).text();
      expect(input, name).to.contain("process_start_time_seconds");
      const run = spawnSync(PROMTOOL, ["check", "metrics"], { input, encoding: "utf8" });
      expect(`${run.stdout}${run.stderr}`, name).to.equal("");
      expect(run.status, name).to.equal(0);
    }
  });
});

const MINUTE_MS = 60_000;

/** Adds the counts that an hour of usual deliveries would have left: 10 minutes, half an hour and 3 hours ago. */
async function addPastDeliveries(stack: TestStack): Promise<void> {
  const client = await new MongoClient(stack.mongodb_uri).connect();
  try {
    const store = createDeliveryStore(client.db("sms_carrier"));
    const slots = [10, 30, 180].flatMap((minutes) =>
      ["", "NG"].map((country) => ({
        ...{ connectorId: "smsc", country, atMs: Date.now() - minutes * MINUTE_MS },
        ...{ submitted: 300, delivered: 270, undelivered: 30 },
      })),
    );
    await store.addDeliveries(slots);
  } finally {
    await client.close();
  }
}

/** Sends messages to each end, and asks for one that is not there. */
async function somethingOfEverything(stack: TestStack): Promise<void> {
  const ids: string[] = [];
  for (const [at, end] of NUMBERS.entries()) {
    const body = { to: `+234803${at}00${end}`, from: stack.sender_id, body: "For the figures" };
    const { status, body: answer } = await callRest(stack, "POST", "/v1/sms/messages", { body });
    if (status !== 202) throw new Error(JSON.stringify(answer));
    ids.push((answer.data as { id: string }).id);
  }
  const unknown = `/v1/messages/${ids[0]?.slice(0, -4)}0000`;
  expect((await callRest(stack, "GET", unknown)).status).to.equal(404);
  for (const id of ids) {
    const isOver = async () => {
      const { body } = await callRest(stack, "GET", `/v1/messages/${id}`);
      return /delivered|failed/.test((body.data as { status: string }).status);
    };
    await eventually(isOver, { timeoutMs: 60_000, everyMs: 200, what: `the end of ${id}` });
  }
}

type Dashboard = {
  readonly title: string;
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
};

function dashboards(): Dashboard[] {
  const folder = join(CHART, "files/dashboards");
  const names = readdirSync(folder);
  return names.map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as Dashboard);
}

type Values = {
  readonly monitoring: {
    readonly prometheusRule: { readonly thresholds: Readonly<Record<string, number>> };
  };
};

/** The alerts with the thresholds of values.yaml. */
function alerts() {
  const values = parse(readFileSync(join(CHART, "values.yaml"), "utf8")) as Values;
  const { thresholds } = values.monitoring.prometheusRule;
  const text = readFileSync(join(CHART, "files/alerts.yaml"), "utf8")
    .replaceAll("%NAMESPACE%", NAMESPACE)
    .replaceAll(/(?<=[<>] )%(\w+)%/g, (_, alert: string) => String(thresholds[alert]));
  const { groups } = parse(text) as { groups: RuleGroup[] };
  return groups.flatMap(({ rules }) => rules);
}

/**
 * The metrics that alerts read. A value that only a fault causes (a status 503, an impossible settlement) is
 * not there on a stack that works; its labels are, so of those only the name is asked for.
 */
function selectorsOf(expression: string): string[] {
  const found = [...expression.matchAll(/\b[a-z]\w*_\w+\{[^}]*\}/g)].map(([text]) => text);
  return found.map((text) =>
    text.replaceAll(/(http_response_status_code|rpc_grpc_status|result)=~?"[^"]*"/g, '$1!=""'),
  );
}
