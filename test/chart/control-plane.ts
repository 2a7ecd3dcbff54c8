/** A cluster to fill and empty: `$KUBE_TEST_KUBECONFIG` names it; its nodes may be simulated. */
import { spawn, spawnSync } from "node:child_process";
import { eventually } from "../support/poll.ts";

const CLUSTER = process.env.KUBE_TEST_KUBECONFIG;

/** Why there is no cluster to test on; `undefined` when there is one. */
export const clusterMissing: string | undefined =
  CLUSTER === undefined ? "$KUBE_TEST_KUBECONFIG names no cluster" : undefined;

/** The output of a program of the cluster. */
export type Said = { readonly stdout: string; readonly stderr: string };

const env = { ...process.env, KUBECONFIG: CLUSTER };

/** Runs kubectl or Helm to its end; throws with its words when it fails. */
export function run(program: string, args: readonly string[], input?: string): Said {
  const done = spawnSync(program, [...args], {
    encoding: "utf8",
    env,
    maxBuffer: 64_000_000,
    ...(input === undefined ? {} : { input }),
  });
  if (done.status !== 0) throw new Error(`${program} ${args.join(" ")}\n${done.stderr}`);
  return done;
}

/** The same, asynchronous. */
export function runBeside(program: string, args: readonly string[]): Promise<Said> {
  const child = spawn(program, [...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve(said) : reject(new Error(`${program}: ${said.stderr}${said.stdout}`)),
    );
  });
}

/** Applies the object, or the `List`, of a JSON text. kubectl reads one that begins with a brace as JSON alone. */
export function apply(json: string): void {
  run("kubectl", ["apply", "--server-side", "-f", "-"], json);
}

/** The kinds that the cluster can list, less those that controllers fill by themselves. */
export function kindsOf(isNamespaced: boolean): string[] {
  const args = ["api-resources", "--verbs=list", "-o", "name", `--namespaced=${isNamespaced}`];
  const passing = /^(events|endpoints|endpointslices|controllerrevisions|leases|componentstatuses)/;
  const names = run("kubectl", args).stdout.split("\n").filter(Boolean);
  return names.filter((name) => !passing.test(name));
}

/** Every object of a namespace, or of the cluster itself, as `kind/name`. */
export function objectsIn(namespace: string | undefined): string[] {
  const kinds = kindsOf(namespace !== undefined).join(",");
  const where = namespace === undefined ? [] : ["-n", namespace];
  const { stdout } = run("kubectl", ["get", kinds, ...where, "-o", "name"]);
  return stdout.split("\n").filter(Boolean).sort();
}

/** Waits until the namespace and the cluster hold the same objects as before. */
export async function expectAsBefore(
  namespace: string,
  before: { readonly own: readonly string[]; readonly cluster: readonly string[] },
): Promise<void> {
  let left: string[] = [];
  await eventually(
    () => {
      left = [
        ...objectsIn(namespace).filter((name) => !before.own.includes(name)),
        ...objectsIn(undefined).filter((name) => !before.cluster.includes(name)),
      ];
      return left.length === 0;
    },
    { timeoutMs: 90_000, everyMs: 1_000, what: "an empty namespace" },
  ).catch((error: unknown) => {
    throw new Error(`${error}: ${left.join(", ")}`);
  });
}

type Item = {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly replicas: number };
  readonly status: { readonly readyReplicas?: number };
};

/** Workloads all of whose replicas are there and ready. */
export function readyWorkloads(namespace: string): string[] {
  const { stdout } = run("kubectl", ["get", "deploy,sts", "-n", namespace, "-o", "json"]);
  const { items } = JSON.parse(stdout) as { items: Item[] };
  return items
    .filter(({ spec, status }) => spec.replicas > 0 && status.readyReplicas === spec.replicas)
    .map(({ metadata }) => metadata.name);
}

/** Reasons for which something of a namespace could not be made. */
export function refusedIn(namespace: string): string[] {
  const fields = ["--field-selector", "type=Warning,reason=FailedCreate"];
  const { stdout } = run("kubectl", ["get", "events", "-n", namespace, ...fields, "-o", "json"]);
  const { items } = JSON.parse(stdout) as { items: { message: string }[] };
  // A controller tries again after two writers of the quota have met.
  return items.map(({ message }) => message).filter((one) => !/object has been modified/.test(one));
}

/** A kind of an operator that is not there, with any fields. */
export function crd(group: string, version: string, kind: string) {
  const plural = `${kind.toLowerCase()}s`;
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase() },
      scope: "Namespaced",
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: open } }],
    },
  };
}
