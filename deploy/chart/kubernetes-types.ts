/**
 * Schemas of Kubernetes objects that values pass through, for `@kubernetes` in `values.yaml`. They are
 * closed, so that Helm rejects a misspelt field, which the API server would drop.
 */

type Shape = Readonly<Record<string, unknown>>;

const text = { type: "string" };
/** A network in CIDR notation. */
const network = { type: "string", pattern: "^[0-9A-Fa-f.:]+/[0-9]+$" };
const flag = { type: "boolean" };
const id = { type: "integer", minimum: 0 };
const texts = { type: "array", items: text };
const networks = { type: "array", items: network };
/** A quantity, as `--set` and YAML write it. */
const quantity = {
  type: ["string", "number"],
  pattern: "^[0-9.]+([numkMGTPE]|[KMGTPE]i|e[0-9]+)?$",
};
const quantities = {
  type: "object",
  additionalProperties: false,
  patternProperties: {
    "^(cpu|memory|ephemeral-storage|hugepages-.+|.+/.+)$": quantity,
  },
};
const seLinuxOptions = closed({ level: text, role: text, type: text, user: text });
const windowsOptions = closed({
  gmsaCredentialSpec: text,
  gmsaCredentialSpecName: text,
  hostProcess: flag,
  runAsUserName: text,
});
const profile = closed({ type: text, localhostProfile: text });
const both = {
  appArmorProfile: profile,
  runAsGroup: id,
  runAsNonRoot: flag,
  runAsUser: id,
  seccompProfile: profile,
  seLinuxOptions,
  windowsOptions,
};

const SHAPES: Readonly<Record<string, Shape>> = {
  ResourceRequirements: closed({
    claims: { type: "array", items: closed({ name: text, request: text }) },
    limits: quantities,
    requests: quantities,
  }),
  SecurityContext: closed({
    ...both,
    allowPrivilegeEscalation: flag,
    capabilities: closed({ add: texts, drop: texts }),
    privileged: flag,
    procMount: text,
    readOnlyRootFilesystem: flag,
  }),
  PodSecurityContext: closed({
    ...both,
    fsGroup: id,
    fsGroupChangePolicy: { enum: ["Always", "OnRootMismatch"] },
    seLinuxChangePolicy: text,
    supplementalGroups: { type: "array", items: id },
    supplementalGroupsPolicy: text,
    sysctls: { type: "array", items: closed({ name: text, value: text }) },
  }),
  PodDNSConfig: closed({
    nameservers: texts,
    options: { type: "array", items: closed({ name: text, value: text }) },
    searches: texts,
  }),
  Networks: networks,
  NetworkPolicyPeers: listOf({
    ipBlock: closed({ cidr: network, except: networks }),
    namespaceSelector: { type: "object" },
    podSelector: { type: "object" },
  }),
  IngressTLS: listOf({ hosts: texts, secretName: text }),
  /** A number of pods above 0, or a share of them. */
  PodsOrShare: {
    type: ["integer", "string"],
    minimum: 1,
    pattern: "^([1-9][0-9]?|100)%$",
  },
};

/** The schema of a shape; throws when there is none of that name. */
export function kubernetesShape(name: string): Shape {
  const shape = SHAPES[name];
  if (shape === undefined) throw new Error(`@kubernetes ${name} is not known`);
  return shape;
}

function closed(properties: Shape): Shape {
  return { type: "object", additionalProperties: false, properties };
}

function listOf(properties: Shape): Shape {
  return { type: "array", items: closed(properties) };
}
