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

\`kubectl -n sms exec smsctl -- node services/smsctl/main.ts check\`, and so on. All people are the same user in
this pod. Give \`--actor NAME\` to the commands that take it (those that change wallets, \`tenant create\` and
\`route import\`), so that the audit trail distinguishes people. Files go in through standard input:

\`\`\`sh
kubectl -n sms exec -i smsctl -- node services/smsctl/main.ts route import R --csv - --actor NAME < prices.csv
\`\`\`

- **Access**: the network policies allow the pod once \`networkPolicy.operatorsFrom\` selects its label:
  \`[{podSelector: {matchLabels: {app.kubernetes.io/name: smsctl}}}]\`, with a \`namespaceSelector\` if it is in
  another namespace. \`connector unmatched\` reads the ops port of one carrier (\`--ops\` for the others): if
  \`networkPolicy.monitoringFrom\` is set, select the pod there too. The pod must not have the label
  \`app.kubernetes.io/instance\` of the release, or its default deny blocks the pod's egress.
- **Names**: \`kubectl -n sms get service -l sms/endpoints=pods\` lists the release's Services. Their prefix is its
  name, followed by \`-sms\` if it does not contain \`sms\`. The middle of each address is the release's namespace.
- **Token**: the key \`rpc.existingSecretKey\` of the Secret \`rpc.existingSecret\`; with \`rpc.token\` as a value it is
  the key \`rpc-token\` of the Secret that has the prefix as its name. If \`rpc.callers\` is set, it must be one of
  those tokens, with the methods \`*\`.
- **Mutual TLS**: \`secretName\` is \`rpc.tls.existingSecret\`; with cert-manager it is that of a Certificate of your
  own, by the same issuer, with \`commonName: smsctl\` and the usage \`client auth\`. Without \`rpc.tls.enabled\` leave
  all of \`rpc-tls\` out.

## Rotating credentials

Credentials as values restart the pods that read them, at \`helm upgrade\`. The chart cannot see a change
inside an \`existingSecret\`, and a running pod does not read it. Restart the pods then, by hand or with a reloader
that \`defaults.podAnnotations\` configures:

\`\`\`sh
kubectl -n sms rollout restart deployment,statefulset -l app.kubernetes.io/instance=sms
\`\`\`

Certificates for calls between services and for NATS are reloaded while the pods run; those for MongoDB and Redis
need the same restart.

### Token of calls between services

Every process sends \`rpc.token\`, and accepts only that unless \`rpc.callers\` is set. After a replacement in one
step, old and new pods would refuse each other. So replace it in three steps, and finish the rollout of each before the
next:

1. Accept both. Make a Secret and name it in \`rpc.callers.existingSecret\`; if there is one, add the new token
   to the old one of each caller:

   \`\`\`sh
   kubectl -n sms create secret generic sms-callers \\
     --from-literal=callers='{"service": {"tokens": ["OLD", "NEW"], "methods": ["*"]}}'
   \`\`\`

2. Send the new one: set \`rpc.token\`, or the key of \`rpc.existingSecret\`. Recreate the pod of \`smsctl\` too.
3. Drop the old one from \`tokens\`.

### Encryption keys

The first of \`encryption.keys\` encrypts, all of them decrypt. A pod without a key cannot decrypt data that another pod
encrypted with it, so finish the rollout of each step before the next:

1. Put the new key last: \`k1:…,k2:…\`.
2. Move it first: \`k2:…,k1:…\`. From here on never roll back past step 1, to keys without the new one.

Data is not encrypted again by itself. Keep the old key until every webhook secret has been rotated, the secrets of
every connector have been set again, and one more day has passed (\`IDEMPOTENCY_TTL_MS\`, if that is longer): replaced
secrets still sign, and stored responses are kept, for that time.
`;
