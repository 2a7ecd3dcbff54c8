/** Generates `values.schema.json`: closed except for `@open` maps; components share one definition. */
import { settingsOf } from "./service-settings.ts";
import type { Keywords, ValueKey } from "./values-tree.ts";

/** The keys of a component that runs once, or that waits for a person. */
const JOB_KEYS = [
  "settings",
  "extraEnv",
  "envFrom",
  "extraVolumes",
  "extraVolumeMounts",
  "initContainers",
  "labels",
  "podAnnotations",
  "podLabels",
  "nodeSelector",
  "tolerations",
  "affinity",
  "priorityClassName",
  "schedulerName",
  "runtimeClassName",
  "hostAliases",
  "resources",
  "heapPercent",
  "podSecurityContext",
  "securityContext",
  "tmpSize",
  "serviceAccount",
  "dnsPolicy",
  "dnsConfig",
];
/** The test and the toolbox have no log setting: their output is their result. */
const JOBS: Readonly<Record<string, readonly string[]>> = {
  migration: ["logLevel", ...JOB_KEYS],
  test: JOB_KEYS,
  toolbox: [...JOB_KEYS, "annotations", "extraContainers"],
};

/** The schema of a values tree; throws when a key's type is unknown. */
export function schemaOf(tree: readonly ValueKey[]): Keywords {
  const defaults = tree.find(({ name }) => name === "defaults");
  const shared = defaults?.children ?? [];
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Values of the sms chart",
    ...closed(
      tree.map((key) => [
        key.name,
        key.component === undefined ? schemaOfKey(key, true) : schemaOfComponent(key, shared),
      ]),
      requiredOf(tree),
    ),
    definitions: Object.fromEntries(shared.map((key) => [key.name, schemaOfKey(key)])),
  };
}

function schemaOfComponent(key: ValueKey, shared: readonly ValueKey[]): Keywords {
  const component = key.component ?? "";
  const fitting = JOBS[component];
  const taken = shared.filter(({ name }) => fitting === undefined || fitting.includes(name));
  const isShared = new Set(taken.map(({ name }) => name));
  const own = key.children.filter(({ name }) => !isShared.has(name));
  const settings = closed(
    settingsOf(component).map(([name, { schema: setting }]) => [name, setting]),
  );
  return {
    ...described(key),
    ...closed(
      [
        ...taken.map(({ name }): [string, Keywords] => [
          name,
          name === "settings" ? settings : { $ref: `#/definitions/${name}` },
        ]),
        ...own.map((child): [string, Keywords] => [child.name, schemaOfKey(child, true)]),
      ],
      requiredOf(own),
    ),
  };
}

/** A component's key over one of `defaults` may hold some of its keys; `isWhole` requires all of them. */
function schemaOfKey(key: ValueKey, isWhole = false): Keywords {
  const { value, keywords, children } = key;
  const base = described(key);
  if (children.length > 0 && keywords === undefined) {
    const below = closed(
      children.map((child) => [child.name, schemaOfKey(child, isWhole)]),
      isWhole ? requiredOf(children) : [],
    );
    return { ...base, ...below, ...(key.isOpen ? { additionalProperties: true } : {}) };
  }
  const type = keywords?.type ?? typeOf(value);
  if (type === undefined) throw new Error(`${key.path}: say its type with @schema`);
  if (type === "object" && keywords === undefined && key.component === undefined) {
    throw new Error(`${key.path}: say with @schema what it may hold`);
  }
  return { ...base, type, ...keywords };
}

function described({ description, isDeprecated }: ValueKey): Keywords {
  return {
    ...(description === "" ? {} : { description }),
    ...(isDeprecated ? { deprecated: true } : {}),
  };
}

function closed(
  properties: readonly (readonly [string, Keywords])[],
  required: readonly string[] = [],
): Keywords {
  return {
    type: "object",
    additionalProperties: false,
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(properties),
  };
}

/** Keys that templates read: `null` removes one, and the schema then names it. Lists and open maps may be null. */
function requiredOf(keys: readonly ValueKey[]): string[] {
  const isNeeded = ({ value, keywords, children, component }: ValueKey) =>
    component !== undefined ||
    (children.length > 0 && keywords === undefined) ||
    ["string", "number", "boolean"].includes(typeof value);
  return keys.filter(isNeeded).map(({ name }) => name);
}

function typeOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (typeof value === "string" || typeof value === "boolean") return typeof value;
  return typeof value === "object" && value !== null ? "object" : undefined;
}
