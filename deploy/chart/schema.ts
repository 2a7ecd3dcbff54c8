/** Generates `values.schema.json`: closed except for `@open` maps; components share one definition. */
import { settingsOf } from "./service-settings.ts";
import type { Keywords, ValueKey } from "./values-tree.ts";

/** The keys of a component that runs once. */
const JOB_KEYS = [
  "settings",
  "extraEnv",
  "extraVolumes",
  "extraVolumeMounts",
  "podAnnotations",
  "podLabels",
  "nodeSelector",
  "tolerations",
  "affinity",
  "priorityClassName",
  "resources",
  "heapPercent",
  "podSecurityContext",
  "securityContext",
  "tmpSize",
  "serviceAccount",
  "dnsConfig",
];
/** The test has no log setting: its output is its result. */
const JOBS: Readonly<Record<string, readonly string[]>> = {
  migration: ["logLevel", ...JOB_KEYS],
  test: JOB_KEYS,
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
        key.component === undefined ? schemaOfKey(key) : schemaOfComponent(key, shared),
      ]),
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
    settingsOf(component).map((name) => [name, { type: ["string", "number", "boolean"] }]),
  );
  return {
    ...described(key),
    ...closed([
      ...taken.map(({ name }): [string, Keywords] => [
        name,
        name === "settings" ? settings : { $ref: `#/definitions/${name}` },
      ]),
      ...own.map((child): [string, Keywords] => [child.name, schemaOfKey(child)]),
    ]),
  };
}

function schemaOfKey(key: ValueKey): Keywords {
  const { value, keywords, children } = key;
  const base = described(key);
  if (children.length > 0 && keywords === undefined) {
    const below = closed(children.map((child) => [child.name, schemaOfKey(child)]));
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

function closed(properties: readonly (readonly [string, Keywords])[]): Keywords {
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(properties),
  };
}

function typeOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (typeof value === "string" || typeof value === "boolean") return typeof value;
  return typeof value === "object" && value !== null ? "object" : undefined;
}
