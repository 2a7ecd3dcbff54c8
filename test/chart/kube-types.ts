/** The parts of Kubernetes objects that the chart's tests read. */

export type Labels = Readonly<Record<string, string>>;

export type EnvVar = {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: {
      readonly name: string;
      readonly key: string;
      readonly optional?: boolean;
    };
    readonly fieldRef?: { readonly fieldPath: string };
  };
};

export type Probe = {
  readonly httpGet?: { readonly path: string; readonly port: string | number };
  readonly grpc?: { readonly port: number; readonly service: string };
  readonly tcpSocket?: { readonly port: string | number };
  readonly exec?: { readonly command: readonly string[] };
  readonly periodSeconds?: number;
  readonly failureThreshold?: number;
};

export type SecurityContext = {
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly privileged?: boolean;
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly seccompProfile?: { readonly type: string };
  readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
};

export type Quantities = Readonly<Record<string, string>>;

export type Container = {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly terminationMessagePolicy?: string;
  readonly envFrom?: readonly {
    readonly configMapRef?: { readonly name: string };
    readonly secretRef?: { readonly name: string };
  }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources?: { readonly requests?: Quantities; readonly limits?: Quantities };
  readonly securityContext?: SecurityContext;
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly lifecycle?: {
    readonly preStop?: {
      readonly sleep?: { readonly seconds: number };
      readonly exec?: { readonly command: readonly string[] };
    };
  };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
};

export type Volume = {
  readonly name: string;
  readonly emptyDir?: { readonly sizeLimit?: string };
  readonly secret?: { readonly secretName: string };
  readonly configMap?: { readonly name: string };
  readonly hostPath?: unknown;
};

export type SpreadConstraint = {
  readonly topologyKey: string;
  readonly labelSelector: { readonly matchLabels: Labels };
  readonly matchLabelKeys?: readonly string[];
  readonly nodeTaintsPolicy?: string;
};

export type PodSpec = {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly runtimeClassName?: string;
  readonly priorityClassName?: string;
  readonly nodeSelector?: Labels;
  readonly tolerations?: readonly { readonly key?: string }[];
  readonly affinity?: unknown;
  readonly securityContext?: SecurityContext;
  readonly topologySpreadConstraints?: readonly SpreadConstraint[];
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
};

export type Metadata = {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Labels;
  readonly annotations?: Labels;
};

export type Peer = {
  readonly podSelector?: { readonly matchLabels: Labels };
  readonly namespaceSelector?: unknown;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
};

export type PolicyRule = {
  readonly ports?: readonly { readonly port: string | number; readonly protocol: string }[];
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
};

export type ServicePort = {
  readonly name?: string;
  readonly port: number;
  readonly targetPort: string | number;
  readonly appProtocol?: string;
};

export type ScalingMetric = {
  readonly resource?: {
    readonly name: string;
    readonly target: { readonly averageUtilization?: number };
  };
};

export type Trigger = { readonly type: string; readonly metadata: Labels };

/** The fields of every kind's `spec` that tests read. */
export type Spec = PodSpec & {
  readonly replicas?: number;
  readonly template?: { readonly metadata: Partial<Metadata>; readonly spec: PodSpec };
  readonly selector?: Labels & { readonly matchLabels?: Labels };
  readonly strategy?: { readonly rollingUpdate: Readonly<Record<string, unknown>> };
  readonly updateStrategy?: unknown;
  readonly podManagementPolicy?: string;
  readonly volumeClaimTemplates?: readonly { readonly metadata: Metadata }[];
  readonly serviceName?: string;
  readonly minReadySeconds?: number;
  readonly revisionHistoryLimit?: number;
  readonly progressDeadlineSeconds?: number;
  readonly backoffLimit?: number;
  readonly activeDeadlineSeconds?: number;
  readonly ttlSecondsAfterFinished?: number;
  readonly clusterIP?: string;
  readonly publishNotReadyAddresses?: boolean;
  readonly ports?: readonly ServicePort[];
  readonly maxUnavailable?: number | string;
  readonly unhealthyPodEvictionPolicy?: string;
  readonly podSelector?: { readonly matchLabels: Labels };
  readonly policyTypes?: readonly string[];
  readonly ingress?: readonly PolicyRule[];
  readonly egress?: readonly PolicyRule[];
  readonly type?: string;
  readonly externalTrafficPolicy?: string;
  readonly ipFamilyPolicy?: string;
  readonly ipFamilies?: readonly string[];
  readonly loadBalancerClass?: string;
  readonly loadBalancerSourceRanges?: readonly string[];
  readonly metrics?: readonly ScalingMetric[];
  readonly scaleTargetRef?: { readonly kind: string; readonly name: string };
  readonly behavior?: { readonly scaleDown?: { readonly stabilizationWindowSeconds?: number } };
  readonly triggers?: readonly Trigger[];
  readonly endpoints?: readonly { readonly port: string }[];
  readonly rules?: readonly unknown[];
  readonly groups?: readonly RuleGroup[];
  readonly secretName?: string;
  readonly commonName?: string;
  readonly dnsNames?: readonly string[];
};

export type Rule = {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: Labels;
  readonly annotations?: Labels;
};

export type RuleGroup = { readonly name: string; readonly rules: readonly Rule[] };

/** Any object of a render. */
export type KubeObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: Spec;
  readonly data?: Labels;
  readonly stringData?: Labels;
  readonly automountServiceAccountToken?: boolean;
};
