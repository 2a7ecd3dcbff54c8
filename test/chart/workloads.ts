/** Finds the pods, containers and references among the objects of a render. */
import type { Container, KubeObject, Labels, Metadata, PodSpec } from "./kube-types.ts";

/** A pod, whichever workload creates it. */
export type Workload = {
  readonly object: KubeObject;
  readonly name: string;
  readonly kind: string;
  readonly component: string;
  readonly metadata: Partial<Metadata>;
  readonly pod: PodSpec;
  readonly containers: readonly Container[];
};

export const COMPONENT = "app.kubernetes.io/component";

/** The components that serve gRPC. */
export const GRPC_COMPONENTS = [
  "tenant",
  "sender-id",
  "wallet",
  "routing",
  "messaging",
  "webhook",
  "campaign",
  "consent",
];

/** Every pod of a render: Deployments, StatefulSets, Jobs, and bare pods. */
export function workloadsOf(objects: readonly KubeObject[]): Workload[] {
  return objects.flatMap((object) => {
    const { kind, metadata, spec } = object;
    const template = kind === "Pod" ? { metadata, spec } : spec?.template;
    if (template?.spec === undefined) return [];
    const pod = template.spec;
    return [
      {
        object,
        name: metadata.name,
        kind,
        component: metadata.labels?.[COMPONENT] ?? "",
        metadata: template.metadata,
        pod,
        containers: [...pod.containers, ...(pod.initContainers ?? [])],
      },
    ];
  });
}

/** Those that run for as long as the release lives and serve something: the toolbox only waits for `kubectl exec`. */
export function servingWorkloads(objects: readonly KubeObject[]): Workload[] {
  return workloadsOf(objects).filter(
    ({ kind, component }) => /^(Deployment|StatefulSet)$/.test(kind) && component !== "toolbox",
  );
}

export function ofKind(objects: readonly KubeObject[], kind: string): KubeObject[] {
  return objects.filter((object) => object.kind === kind);
}

/** Whether an object is one of Helm's hooks. */
export function isHook({ metadata }: KubeObject): boolean {
  return metadata.annotations?.["helm.sh/hook"] !== undefined;
}

/** Whether a selector picks a pod with these labels. */
export function selects(selector: Labels, labels: Labels | undefined): boolean {
  return Object.entries(selector).every(([name, value]) => labels?.[name] === value);
}

/** A literal environment variable of the first container. */
export function envOf({ containers }: Workload, name: string): string | undefined {
  return containers[0]?.env?.find((variable) => variable.name === name)?.value;
}

/** The literal variables of a component's own container, by name. */
export function settingsOf(
  objects: readonly KubeObject[],
  component: string,
): Readonly<Record<string, string | undefined>> {
  const found = workloadsOf(objects).find((one) => one.component === component);
  return Object.fromEntries(
    found?.containers[0]?.env?.map(({ name, value }) => [name, value]) ?? [],
  );
}

/** A quantity such as `512Mi` in MiB. */
export function mebibytes(quantity: string): number {
  const [, number, unit = ""] = /^(\d+)([A-Za-z]*)$/.exec(quantity) ?? [];
  const factor = { Gi: 1024, Mi: 1 }[unit];
  if (number === undefined || factor === undefined) throw new Error(`not Mi or Gi: ${quantity}`);
  return Number(number) * factor;
}

/** A quantity of CPU such as `1` or `500m` in cores. */
export function cores(quantity: string | number): number {
  const [, number, unit] = /^([\d.]+)(m?)$/.exec(String(quantity)) ?? [];
  if (number === undefined) throw new Error(`not cores: ${quantity}`);
  return unit === "m" ? Number(number) / 1000 : Number(number);
}

/** A name that is unique per kind in one render, for messages. */
export function label({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.name}`;
}
