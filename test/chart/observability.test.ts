import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { parse, stringify } from "yaml";
import { ROOT } from "../../deploy/dev/paths.ts";
import { commandsOf, optionName, optionsOf } from "../../services/shared/cli/definition.ts";
import { smsctlProgram } from "../../services/smsctl/cli/tree.ts";
import { skipSince } from "../support/skip.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { namesIn, oneSampleOfEach, registryOfEverything, seriesNames } from "./exported-metrics.ts";
import { ALL_VALUES, chartSuite, MINIMAL, render } from "./helm.ts";
import type { Rule, RuleGroup } from "./kube-types.ts";
import { NO_PROMTOOL, PROMTOOL } from "./promtool.ts";
import { isHook, label, ofKind, selects, servingWorkloads } from "./workloads.ts";

const PRODUCTION = "values-production.yaml";
/** With the alerts of every optional component. */
const WITH_CONSOLE = { set: ["operatorConsole.enabled=true"] } as const;
const CASES = join(import.meta.dirname, "./alerts.promtool.yaml");
const RUNBOOKS = join(ROOT, "deploy/runbooks");

type Cases = {
  tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
};

chartSuite("alerts and dashboards", () => {
  it("every metric in alerts and dashboards is one that the code exports", async () => {
    const exported = await seriesNames(registryOfEverything());
    const asked = [...expressionsOfAlerts(), ...expressionsOfDashboards()].flatMap(namesIn);
    expect(new Set(asked).size).to.be.greaterThan(25);
    expect([...new Set(asked)].filter((name) => !exported.has(name))).to.deep.equal([]);
  });

  it("the scaler of the carrier asks for metrics that the code exports", async () => {
    const exported = await seriesNames(registryOfEverything());
    const queries = ofKind(render("ci/keda-values.yaml"), "ScaledObject").flatMap(({ spec }) =>
      (spec?.triggers ?? []).flatMap(({ metadata }) => metadata.query ?? []),
    );
    const names = queries.flatMap(namesIn);
    expect(names).to.have.length(2);
    for (const name of names) expect(exported.has(name), name).to.equal(true);
  });

  it("an alert can be left out and has its threshold and runbooks from the values", () => {
    const of = (values: string) =>
      ofKind(render(values), "PrometheusRule").flatMap(({ spec }) => spec?.groups ?? []);
    const rules = of("ci/hatches-values.yaml").flatMap(({ rules: own }) => own);
    const all = groups().flatMap(({ rules: own }) => own);
    expect(rules).to.have.length(all.length - 1);
    expect(rules.map(({ alert }) => alert)).to.not.include("SmsGatewaySlow");
    const expr = (list: typeof all) => list.find(({ alert }) => alert === "SmsSettlementLag")?.expr;
    expect(expr(rules)).to.match(/ > 30$/);
    expect(expr(all)).to.match(/ > 60$/);
    for (const rule of rules) {
      expect(rule.annotations?.runbook_url).to.match(
        /^https:\/\/runbooks\.example\.com\/sms\/[a-z-]+\.md$/,
      );
    }
    for (const { expr: text, alert } of all) expect(text, alert).to.not.contain("%");
  });

  it("the operators' console has an alert where it is enabled, and only there", () => {
    const names = (set: string[]) =>
      ofKind(render(PRODUCTION, { set }), "PrometheusRule").flatMap(({ spec }) =>
        (spec?.groups ?? []).flatMap(({ rules }) => rules.map(({ alert }) => alert)),
      );
    expect(names([])).to.not.include("SmsOperatorConsoleMissing");
    expect(names([...WITH_CONSOLE.set])).to.include("SmsOperatorConsoleMissing");
    const off = "monitoring.prometheusRule.disabled={SmsOperatorConsoleMissing}";
    for (const set of [[off], [off, ...WITH_CONSOLE.set]]) {
      expect(names(set), set.join(",")).to.not.include("SmsOperatorConsoleMissing");
    }
  });

  it("each component that serves has an alert when its processes are gone", () => {
    const missing = alerts().filter(({ expr }) => expr.includes("absent(process_start_time"));
    const jobs = missing.flatMap(({ expr }) =>
      [...expr.matchAll(/job="([\w-]+)"/g)].map(([, job]) => job),
    );
    const serving = servingWorkloads(render(PRODUCTION, WITH_CONSOLE));
    expect(jobs).to.have.members(serving.map(({ component }) => component));
  });

  it("each alert has a severity, a summary and a runbook that exists", () => {
    const files = readdirSync(RUNBOOKS);
    for (const { alert = "", annotations, labels } of alerts()) {
      expect(labels?.severity, alert).to.match(/^(critical|warning)$/);
      expect(annotations?.summary, alert).to.match(/^\S.{10,80}$/);
      expect(annotations?.description, alert).to.be.a("string");
      const url = annotations?.runbook_url ?? "";
      expect(files, alert).to.include(url.slice(url.lastIndexOf("/") + 1));
    }
  });

  it("each runbook says symptom, check, fix and verify, and is in the list", () => {
    const index = readFileSync(join(RUNBOOKS, "README.md"), "utf8");
    const used = alerts().map(
      ({ annotations }) => annotations?.runbook_url?.split("/").at(-1) ?? "",
    );
    for (const name of new Set(used)) {
      const headings = readFileSync(join(RUNBOOKS, name), "utf8").match(/^## .*$/gm);
      expect(headings, name).to.deep.equal(["## Symptom", "## Check", "## Fix", "## Verify"]);
    }
    for (const name of readdirSync(RUNBOOKS).filter((one) => one !== "README.md")) {
      expect(index, name).to.contain(`](${name})`);
    }
  });

  it("every smsctl command in runbooks and documents for operators exists, with its options", () => {
    const program = smsctlProgram();
    const commands = commandsOf(program);
    let named = 0;
    for (const path of operatorsDocuments()) {
      const text = readFileSync(join(ROOT, path), "utf8");
      for (const [, words = "", rest = ""] of text.matchAll(SMSCTL)) {
        const line = `${path}: smsctl ${words}${rest}`;
        const [noun = "", verb = ""] = words.split(" ");
        const own = commands.filter(({ words: [first, second] }) =>
          second === undefined || verb === "" ? first === noun : first === noun && second === verb,
        );
        expect(own, line).to.not.be.empty;
        const known = [...own.flatMap(({ command }) => optionsOf(command)), ...program.options];
        for (const [, option] of rest.matchAll(/--([a-z-]+)/g)) {
          expect(known.map(optionName), line).to.include(option);
        }
        named += 1;
      }
    }
    expect(named).to.be.at.least(40);
  });

  it("every object that runbooks and documents for operators name is one of a release", () => {
    const objects = render("ci/production-values.yaml").map(label);
    const claims = ["PersistentVolumeClaim/journal-sms-carrier-0", "Pod/sms-carrier-0"];
    // The Secret of the README's first step, and the chart's own, which holds credentials given as values.
    const known = [...objects, ...claims, "Secret/sms-credentials", "Secret/sms"];
    let named = 0;
    for (const path of operatorsDocuments()) {
      const text = readFileSync(join(ROOT, path), "utf8");
      for (const [, short = "", name] of text.matchAll(KUBECTL_OBJECT)) {
        expect(known, path).to.include(`${KINDS[short]}/${name}`);
        named += 1;
      }
    }
    expect(named).to.be.at.least(7);
  });

  it("every alert has a case in which it fires and one in which it does not", () => {
    const { tests } = parse(readFileSync(CASES, "utf8")) as Cases;
    const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    for (const { alert } of alerts()) {
      const own = cases.filter(({ alertname }) => alertname === alert);
      expect(
        own.some(({ exp_alerts }) => exp_alerts.length > 0),
        `${alert} fires`,
      ).to.equal(true);
      expect(
        own.some(({ exp_alerts }) => exp_alerts.length === 0),
        `${alert} rests`,
      ).to.equal(true);
    }
  });

  it("a series whose increase raises an alert exists with 0 before the first increase", async () => {
    const registry = registryOfEverything();
    const values = (await registry.getMetricsAsJSON()).flatMap(({ name, values: all }) =>
      all.map(({ labels }) => ({ name, labels: labels as Record<string, unknown> })),
    );
    const increases = expressionsOfAlerts().flatMap((expr) => [
      ...expr.matchAll(/increase\((\w+)\{([^}]*)\}/g),
    ]);
    expect(increases).to.have.length(3);
    for (const [, name, selector = ""] of increases) {
      // The alert on lost events fires on a new series too.
      if (name === "webhook_lost_events_total") continue;
      const wanted = [...selector.matchAll(/(\w+)="([^"]*)"/g)].filter(
        ([, key]) => key !== "namespace",
      );
      const found = values.filter(
        (one) =>
          one.name === name && wanted.every(([, key = "", value]) => one.labels[key] === value),
      );
      expect(found, `${name} ${selector}`).to.have.length(1);
    }
  });

  it("the alerts' own tests pass", function () {
    withPromtool(this, (folder) => {
      writeFileSync(join(folder, "alerts.yaml"), stringify({ groups: groups() }));
      writeFileSync(join(folder, "cases.yaml"), readFileSync(CASES));
      for (const args of [
        ["check", "rules", "alerts.yaml"],
        ["test", "rules", "cases.yaml"],
      ]) {
        const { status, stdout, stderr } = spawnSync(PROMTOOL, args, {
          cwd: folder,
          encoding: "utf8",
        });
        expect(status, `${stdout}${stderr}`).to.equal(0);
      }
    });
  });

  it("metric names follow Prometheus's rules", function () {
    return withPromtool(this, async () => {
      const input = await oneSampleOfEach(registryOfEverything());
      const { status, stdout, stderr } = spawnSync(PROMTOOL, ["check", "metrics"], {
        input,
        encoding: "utf8",
      });
      expect(status, `${stdout}${stderr}`).to.equal(0);
    });
  });

  it("the ServiceMonitor selects every headless Service, by a port that each has", () => {
    const objects = render("ci/production-values.yaml");
    const [monitor] = ofKind(objects, "ServiceMonitor");
    expect(monitor?.metadata.labels).to.include({ release: "prometheus" });
    const services = ofKind(objects, "Service").filter(({ metadata }) =>
      selects(monitor?.spec?.selector?.matchLabels ?? {}, metadata.labels),
    );
    expect(services).to.have.length(11);
    for (const { metadata, spec } of services) {
      const names = spec?.ports?.map(({ name }) => name);
      expect(names, metadata.name).to.include(monitor?.spec?.endpoints?.[0]?.port);
    }
  });

  it("every dashboard is JSON with an identity of its own, in a ConfigMap that Grafana finds", () => {
    const maps = ofKind(render(PRODUCTION), "ConfigMap").filter(
      ({ metadata }) => metadata.labels?.grafana_dashboard === "1",
    );
    const boards = dashboards();
    const files = maps.flatMap(({ data = {} }) => Object.keys(data));
    expect(files.sort()).to.deep.equal(readdirSync(join(ROOT, "helm/sms/files/dashboards")).sort());
    expect(new Set(boards.map(({ uid }) => uid)).size).to.equal(boards.length);
  });

  it("without the operator's CRDs nothing of it is rendered", () => {
    const kinds = render(MINIMAL).map(({ apiVersion }) => apiVersion);
    expect(
      kinds.filter((one) => /monitoring\.coreos|keda\.sh|cert-manager/.test(one)),
    ).to.deep.equal([]);
  });
});

chartSuite("helm test", () => {
  it("runs a round trip of the image's own, the only hook, which stays so that --logs finds its log", () => {
    for (const values of ALL_VALUES.filter((name) => name !== "ci/gitops-values.yaml")) {
      const objects = render(values);
      const tests = objects.filter(
        ({ metadata }) => metadata.annotations?.["helm.sh/hook"] === "test",
      );
      expect(tests.map(label)).to.deep.equal(["Pod/sms-test-round-trip"]);
      expect(tests[0]?.spec?.containers[0]?.command).to.include("deploy/smoke-test.ts");
      expect(tests[0]?.metadata.annotations?.["helm.sh/hook-delete-policy"]).to.equal(
        "before-hook-creation",
      );
    }
  });

  it("has no part in an installation without it", () => {
    const objects = render(MINIMAL, { set: ["test.enabled=false"] });
    expect(
      objects.filter(isHook).every(({ metadata }) => /migration/.test(metadata.name)),
    ).to.equal(true);
    expect(JSON.stringify(objects)).to.not.contain("sms-test");
  });
});

function groups(): readonly RuleGroup[] {
  return ofKind(render(PRODUCTION, WITH_CONSOLE), "PrometheusRule")[0]?.spec?.groups ?? [];
}

function alerts(): readonly Rule[] {
  const found = groups().flatMap(({ rules }) => rules);
  if (found.length === 0) throw new Error("no alerts are rendered");
  return found;
}

function expressionsOfAlerts(): string[] {
  return alerts().map(({ expr }) => expr);
}

type Dashboard = {
  readonly uid: string;
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
};

function dashboards(): Dashboard[] {
  return ofKind(render(PRODUCTION), "ConfigMap").flatMap(({ data = {} }) =>
    Object.entries(data)
      .filter(([name]) => name.endsWith(".json"))
      .map(([, text]) => JSON.parse(text) as Dashboard),
  );
}

/** A command line of smsctl in a code span or block: its words, and the rest of it. */
const SMSCTL =
  /(?:`|^|\/)smsctl(?:\/main\.ts)? ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)((?:[^`\n]|\n(?=[^\n`]*`))*)/gm;

/** Kinds as documents write them. */
const KINDS: Readonly<Record<string, string>> = {
  svc: "Service",
  deployment: "Deployment",
  sts: "StatefulSet",
  pod: "Pod",
  pvc: "PersistentVolumeClaim",
  secret: "Secret",
};

const KUBECTL_OBJECT = new RegExp(
  `\\b(${Object.keys(KINDS).join("|")})[ /]((?:journal-)?sms(?:-[a-z0-9-]+)?)\\b`,
  "g",
);

/** The documents with commands for operators of a release. */
function operatorsDocuments(): string[] {
  const runbooks = readdirSync(RUNBOOKS).map((name) => `deploy/runbooks/${name}`);
  return [...runbooks, "docs/operators.md", "helm/sms/README.md", "helm/sms/UPGRADING.md"];
}

function expressionsOfDashboards(): string[] {
  return dashboards().flatMap(({ panels }) =>
    panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  );
}

/** Runs with a folder of its own; skips with the reason where promtool is missing. */
function withPromtool(test: Mocha.Context, run: (folder: string) => void | Promise<void>) {
  if (spawnSync(PROMTOOL, ["--version"]).error !== undefined) skipSince(test, NO_PROMTOOL);
  return run(temporaryFolder("rules"));
}
