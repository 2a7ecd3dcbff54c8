/**
 * `HELM=helm node deploy/chart/manifests.ts` renders the committed manifests for installations without
 * Helm: the production preset without hooks and without objects of optional operators.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHART, MANIFESTS } from "./layout.ts";

const HEAD = `# Rendered from helm/sms by deploy/chart/manifests.ts: do not edit. Credentials come from a Secret
# called sms-credentials; create it and the namespace first. Then the migration and what it reads, and
# the rest once it is done; a pod that is started before it may fail and be started again until then:
#   kubectl apply -f sms.yaml -l app.kubernetes.io/component=migration
#   kubectl -n sms wait --for=condition=complete --timeout=65m job -l app.kubernetes.io/component=migration
#   kubectl apply -f sms.yaml
# A new version's migration is a Job of another name: the old one can be deleted first.
`;

/** The current manifests; needs Helm. */
export function renderManifests(helm: string): string {
  const off = ["serviceMonitor", "prometheusRule", "dashboards"].flatMap((name) => [
    "--set",
    `monitoring.${name}.enabled=false`,
  ]);
  const values = ["-f", join(CHART, "values-production.yaml"), ...off];
  const gitops = ["--set", "migration.useHelmHooks=false", "--set", "test.enabled=false"];
  const args = ["template", "sms", CHART, "--namespace", "sms", "--kube-version", "1.32.0"];
  const text = execFileSync(helm, [...args, ...values, ...gitops], {
    encoding: "utf8",
    maxBuffer: 64_000_000,
  });
  // Helm 4 puts empty lines before separators, Helm 3 does not.
  return (
    HEAD +
    text.replace(/\n+---\n/g, "\n---\n").replaceAll("managed-by: Helm", "managed-by: kubectl")
  );
}

if (import.meta.main) {
  mkdirSync(MANIFESTS, { recursive: true });
  writeFileSync(join(MANIFESTS, "sms.yaml"), renderManifests(process.env.HELM ?? "helm"));
}
