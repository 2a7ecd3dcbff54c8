import type { KubeObject } from "./kube-types.ts";
import { isHook, label } from "./workloads.ts";

/** Fields that `helm upgrade` cannot change in place, by object. */
export function immutableFields(objects: readonly KubeObject[]): Record<string, unknown> {
  const entries = objects.flatMap((object) => {
    const { spec } = object;
    if (isHook(object) || spec === undefined) return [];
    const kinds: Readonly<Record<string, () => unknown>> = {
      Deployment: () => ({ selector: spec.selector }),
      StatefulSet: () => ({
        selector: spec.selector,
        serviceName: spec.serviceName,
        podManagementPolicy: spec.podManagementPolicy,
        volumeClaimTemplates: spec.volumeClaimTemplates,
      }),
      Service: () => ({ clusterIP: spec.clusterIP }),
      PodDisruptionBudget: () => ({ selector: spec.selector }),
    };
    const fields = kinds[object.kind]?.();
    return fields === undefined ? [] : [[label(object), fields] as const];
  });
  return JSON.parse(JSON.stringify(Object.fromEntries(entries))) as Record<string, unknown>;
}
