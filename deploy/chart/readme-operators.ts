/** The chart README's part for operators: a pod for `smsctl`, and how credentials are replaced. */

/** A release called `sms` in the namespace `sms`, with the Secret of the README's first example. */
const POD = `apiVersion: v1
kind: Pod
metadata:
  name: smsctl
  namespace: sms
  labels:
    app.kubernetes.io/name: smsctl
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 1
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: smsctl
      image: sms-messaging-service:0.2.0 # the release's own
      command: [node, -e, "setInterval(() => {}, 1e9)"]
      env:
        - {name: TENANT_GRPC, value: "sms-tenant-headless.sms.svc.cluster.local:9090"}
        - {name: SENDER_ID_GRPC, value: "sms-sender-id-headless.sms.svc.cluster.local:9090"}
        - {name: WALLET_GRPC, value: "sms-wallet-headless.sms.svc.cluster.local:9090"}
        - {name: ROUTING_GRPC, value: "sms-routing-headless.sms.svc.cluster.local:9090"}
        - {name: MESSAGING_GRPC, value: "sms-messaging-headless.sms.svc.cluster.local:9090"}
        - {name: WEBHOOK_GRPC, value: "sms-webhook-headless.sms.svc.cluster.local:9090"}
        - {name: CARRIER_OPS, value: "http://sms-carrier-0.sms-carrier-headless.sms.svc.cluster.local:9100"}
        - {name: RPC_TOKEN, valueFrom: {secretKeyRef: {name: sms-credentials, key: token}}}
        # With rpc.tls.enabled: these three, and the mount and the volume below.
        - {name: RPC_TLS_CERT_FILE, value: /etc/sms/rpc-tls/tls.crt}
        - {name: RPC_TLS_KEY_FILE, value: /etc/sms/rpc-tls/tls.key}
        - {name: RPC_TLS_CA_FILE, value: /etc/sms/rpc-tls/ca.crt}
      resources:
        requests: {cpu: 50m, memory: 128Mi}
        limits: {memory: 512Mi}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: rpc-tls, mountPath: /etc/sms/rpc-tls, readOnly: true}
  volumes:
    - name: rpc-tls
      secret: {secretName: smsctl-rpc-tls, defaultMode: 0440}
`;

/** The text between the start and the table of values. */
export const OPERATORS_PART = `## Running smsctl against a release

\`smsctl\` is in the image. Give it a pod, here for a release \`sms\` in the namespace \`sms\`:

\`\`\`yaml
${POD}\`\`\`

\`kubectl -n sms exec smsctl -- node services/smsctl/main.ts check\`, and so on. Everybody is the same user in this pod:
with commands that have it (those that change wallets, \`tenant create\` and \`route import\`) give \`--actor NAME\`, so
that the audit trail tells people apart. Files go in by standard input:

\`\`\`sh
kubectl -n sms exec -i smsctl -- node services/smsctl/main.ts route import R --csv - --actor NAME < prices.csv
\`\`\`

- **Way in**: the network policies let it through once \`networkPolicy.operatorsFrom\` selects its label:
  \`[{podSelector: {matchLabels: {app.kubernetes.io/name: smsctl}}}]\`, with a \`namespaceSelector\` beside the
  \`podSelector\` when it lives elsewhere. \`connector unmatched\` asks the ops port of one carrier (\`--ops\` for the
  others): where \`networkPolicy.monitoringFrom\` is set, select the pod there, too. The pod must not have the label
  \`app.kubernetes.io/instance\` of the release, or its default deny closes the pod's ways out.
- **Names**: \`kubectl -n sms get service -l sms/endpoints=pods\` lists the release's Services. Their prefix is its
  name, with \`-sms\` behind it if that does not hold \`sms\`. The middle of each address is the release's namespace.
- **Token**: the key \`rpc.existingSecretKey\` of the Secret \`rpc.existingSecret\`; with \`rpc.token\` as a value it is
  the key \`rpc-token\` of the Secret that has the prefix as its name. Where \`rpc.callers\` is set, it must be one of
  those tokens, with the methods \`*\`.
- **Mutual TLS**: \`secretName\` is \`rpc.tls.existingSecret\`; with cert-manager it is that of a Certificate of your
  own, by the same issuer, with \`commonName: smsctl\` and the usage \`client auth\`. Without \`rpc.tls.enabled\` leave
  all of \`rpc-tls\` out.

## Rotating credentials

Credentials as values restart the pods that read them, at \`helm upgrade\`. What changes inside an \`existingSecret\`
the chart cannot see, and a running pod does not notice. Restart the pods then, by hand or with a reloader that
\`defaults.podAnnotations\` asks for:

\`\`\`sh
kubectl -n sms rollout restart deployment,statefulset -l app.kubernetes.io/instance=sms
\`\`\`

Certificates for calls between services and for NATS are read again while the pods run; those for MongoDB and Redis
need the same restart.

### Token of calls between services

\`rpc.token\` is what every process shows, and all that it accepts unless \`rpc.callers\` says otherwise. Replaced at
once, old and new pods would refuse each other. So in three steps, each with a rollout that has ended before the next
begins:

1. Accept both. Make a Secret and name it in \`rpc.callers.existingSecret\`; where there is one, put the new token
   beside the old one of each caller:

   \`\`\`sh
   kubectl -n sms create secret generic sms-callers \\
     --from-literal=callers='{"service": {"tokens": ["OLD", "NEW"], "methods": ["*"]}}'
   \`\`\`

2. Show the new one: set \`rpc.token\`, or the key of \`rpc.existingSecret\`. The pod of \`smsctl\` must be made
   anew, too.
3. Drop the old one from \`tokens\`.

### Encryption keys

The first of \`encryption.keys\` seals, all open. A pod that does not know a key cannot open what another sealed with
it, so each step is a rollout that has ended before the next begins:

1. Put the new key last: \`k1:…,k2:…\`.
2. Move it first: \`k2:…,k1:…\`. From here on never roll back past step 1, to keys without the new one.

Nothing is sealed anew by itself: the old key stays until every webhook's secret has been rotated and the secrets of
every connector have been set again, and a day has passed since (\`IDEMPOTENCY_TTL_MS\`, if that is longer): so long
the replaced secrets sign too, and answers to repeated requests are kept.
`;
