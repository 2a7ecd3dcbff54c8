/** Generates the chart's README: purpose, start, operation, and the table of values from the comments. */

import { CALLER_METHODS } from "../../services/shared/caller-methods.ts";
import type { SettingSchema } from "../../services/shared/io/config.ts";
import { OPERATORS_PART } from "./readme-operators.ts";
import { settingsOf } from "./service-settings.ts";
import type { ValueKey } from "./values-tree.ts";

const HEAD = `# The sms chart

Installs the SMS messaging service: ten services, a migration before each version, network policies, alerts and
dashboards. MongoDB (a replica set), NATS with JetStream, and Redis are external. It needs Kubernetes 1.29 or newer
and Helm 3 or 4. Each release needs its own NATS account or server: the names of the stream and its consumers are
fixed, so two releases on one account would take each other's events. Each release also needs its own namespace,
because alerts and KEDA's query select by namespace.

## Install

**1. The image.** No registry has it: build it from the root of this repository, and push it to yours or load it into
the nodes. Without this step pods end in \`ImagePullBackOff\`.

\`\`\`sh
docker build -f deploy/Dockerfile -t registry.example.com/sms-messaging-service:0.2.0 .  # or: buildah build …
docker push registry.example.com/sms-messaging-service:0.2.0                             # or: buildah push …

# kind, in place of a registry:
docker build -f deploy/Dockerfile -t sms-messaging-service:0.2.0 .
kind load docker-image sms-messaging-service:0.2.0
\`\`\`

Name a registry with \`--set image.registry=registry.example.com\` (and \`image.repository\` for another name,
\`global.imagePullSecrets\` for a private one).

**2. Credentials**, one Secret for all presets:

\`\`\`sh
kubectl create namespace sms
kubectl -n sms create secret generic sms-credentials \\
  --from-literal=uri='mongodb://…' --from-literal=nats-url='nats://…' --from-literal=redis-url='redis://…' \\
  --from-literal=keys="k1:$(openssl rand -base64 32)" --from-literal=key="$(openssl rand -base64 32)" \\
  $(for caller in ${Object.keys(CALLER_METHODS).join(" ")}; do
      echo "--from-literal=token-$caller=$(openssl rand -hex 24)"; done) \\
  --from-literal=smsc-password="$(openssl rand -hex 4)" # for values-dev.yaml alone
\`\`\`

**3. The release**, with the migration before the pods:

\`\`\`sh
helm -n sms install sms helm/sms -f helm/sms/values-production.yaml -f your-values.yaml \\
  --set image.registry=registry.example.com --wait --timeout 65m
\`\`\`

While it waits, \`kubectl -n sms get pods\` shows the progress. The migration's pod starts first; the others start
after it has completed.

**4. A carrier.** Create a connector and a route with [\`smsctl\`](#running-smsctl-against-a-release). Without a
route every send is refused. \`helm -n sms test sms --logs\` sends one test-mode message to a number that a route must
serve (\`test.to\`).

| file | for |
| --- | --- |
| [values-dev.yaml](values-dev.yaml) | one replica each, the SMSC simulator, small limits |
| [values-production.yaml](values-production.yaml) | three replicas, autoscaling, alerts; add ingress and mutual TLS |
| [values-10k.yaml](values-10k.yaml) | 10,000 sends a second: sizes, and KEDA for the consumers; complete by itself |
| [ci/](ci/) | values that the tests render, one file per way to install |

[UPGRADING.md](UPGRADING.md) has the steps of an upgrade, [CHANGELOG.md](CHANGELOG.md) the changes. Requests may be as
large as \`gateway.settings.BODY_BYTES_MAX\` (4 MiB) and take up to 30 s: give proxies in front of the gateway the same
limits. An error response has a link to the page of its error code. The host of this link is the first host of
\`gateway.ingress\` or \`gateway.httpRoute\` without a \`*\`. If there is no such host, set
\`gateway.settings.DOCS_URL\` to the public \`https://…/docs\`.

Under Argo CD set \`migration.useHelmHooks\` to \`false\` and a sync wave before 0 in \`migration.annotations\`, as
[ci/gitops-values.yaml](ci/gitops-values.yaml) does. Under Flux leave \`useHelmHooks\` on: it runs Helm's hooks.

The pod of \`helm test\` stays, with its log, until the next test. The migration's ServiceAccount, Secret and network
policy stay until the next migration. \`helm uninstall\` removes none of them. Remove them with
\`kubectl -n sms delete pod,job,sa,secret,netpol -l 'app.kubernetes.io/component in (test, migration)'\`.

## Access that stays open

Network policies deny what no rule allows, but the chart cannot know some addresses. With empty values these stay open,
and the notes of an installation list them: \`mongodb.to\`, \`nats.to\` and \`redis.to\` (any address on the store's
port), \`networkPolicy.carriersTo\` (any address but link-local ones, on \`carrierPorts\`), \`networkPolicy.dnsTo\`,
\`networkPolicy.gatewayFrom\` and \`networkPolicy.receiptsFrom\`. The ops port is open to
\`networkPolicy.monitoringFrom\` alone, by default the namespace \`monitoring\`.
`;

/** The README of a values tree. */
export function readmeOf(tree: readonly ValueKey[]): string {
  const parts = [HEAD, OPERATORS_PART, "## Values\n"];
  for (const key of tree) {
    if (key.section !== undefined)
      parts.push(`### ${key.section}\n`, "| key | default | |\n| --- | --- | --- |");
    parts.push(...rowsOf(key));
    if (isLastOfSection(tree, key)) parts.push("");
  }
  parts.push("### Settings of each component\n", settingsTable(tree));
  return `${parts.join("\n").trimEnd()}\n`;
}

function isLastOfSection(tree: readonly ValueKey[], key: ValueKey): boolean {
  const next = tree[tree.indexOf(key) + 1];
  return next === undefined || next.section !== undefined;
}

function rowsOf(key: ValueKey): string[] {
  const hasRowsBelow = key.children.length > 0 && key.keywords === undefined;
  if (!hasRowsBelow) return [row(key, `\`${shown(key.value)}\``)];
  const own = key.description === "" ? [] : [row(key, "")];
  return [...own, ...key.children.flatMap(rowsOf)];
}

function row({ path, description, component }: ValueKey, value: string): string {
  const more = component === undefined ? "" : " Takes every key of `defaults` that fits.";
  return `| \`${path}\` | ${value} | ${(description + more).replaceAll("|", "\\|")} |`;
}

/** A default on one line; `values.yaml` shows the long ones. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length > 60 ? "see values.yaml" : text.replaceAll("|", "\\|");
}

function settingsTable(tree: readonly ValueKey[]): string {
  const rows = tree.flatMap(({ name, component = "" }) =>
    settingsOf(component).map(
      ([setting, { schema, fallback }]) =>
        `| \`${name}.settings.${setting}\` | ${formOf(schema)} | ${defaultOf(fallback)} |`,
    ),
  );
  return ["| setting | value | default |", "| --- | --- | --- |", ...rows].join("\n");
}

function formOf({ type, enum: words, minimum, maximum, pattern }: SettingSchema): string {
  if (words !== undefined) return words.map((word) => `\`${word}\``).join(" or ");
  if (type === "integer") return `${minimum} to ${maximum}`;
  if (type === "boolean") return "true or false";
  if (pattern?.includes(",") === true) return "a list with commas between";
  return "a text";
}

function defaultOf(fallback: unknown): string {
  if (Array.isArray(fallback)) return fallback.length === 0 ? "none" : `\`${fallback.join(",")}\``;
  return fallback === "" || fallback === undefined ? "none" : `\`${fallback}\``;
}
