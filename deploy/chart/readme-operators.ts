/** The chart README's part for operators: the toolbox for `smsctl`, and how credentials are replaced. */

/** The text between the start and the table of values. */
export const OPERATORS_PART = `## Running smsctl against a release

\`smsctl\` is in the image. \`--set toolbox.enabled=true\` adds a pod for it, with the operators' token, a network
policy, and with mutual TLS a certificate of its own:

\`\`\`sh
kubectl -n sms exec deployment/sms-toolbox -- node services/smsctl/main.ts check
kubectl -n sms exec -i deployment/sms-toolbox -- \\
  node services/smsctl/main.ts route import R --csv - --actor NAME < prices.csv
\`\`\`

All people are the same user in this pod. Give \`--actor NAME\` to the commands that take it, so that the audit
trail distinguishes people. A person who may \`exec\` into the pod has the operators' rights: control that with
Kubernetes' RBAC, and switch the toolbox off when it is not needed. \`connector unmatched\` reads the ops port of the
first carrier pod; \`--ops http://sms-carrier-1.sms-carrier-headless:9100\` reads another one.

A pod or machine of your own needs the key \`token-operator\` of the Secret as \`RPC_TOKEN\`, the addresses that the
toolbox has in its environment, and a peer in \`networkPolicy.operatorsFrom\`.

## Letting another system call the services

Name each internal system of yours in \`rpc.extraCallers\`, with the methods that it may call and the pods that it runs
in. Services permit it these methods and no other, and their network policies let these pods connect:

\`\`\`yaml
rpc:
  extraCallers:
    billing:
      methods: [sms.v1.MessagingService/SendMessages, sms.v1.WalletService/GetWallet]
      from:
        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: billing}}
          podSelector: {matchLabels: {app: billing}}
\`\`\`

With \`rpc.existingSecret\` put its token, 16 characters at least, under the key \`token-billing\`. With \`rpc.token\`
the chart makes one:

\`\`\`sh
kubectl -n sms get secret sms -o jsonpath='{.data.rpc-token-billing}' | base64 -d
\`\`\`

The guide "Calling the services by gRPC", which the gateway serves at \`/docs/grpc\`, says how to call.

## Rotating credentials

When a credential is a value, \`helm upgrade\` restarts the pods that read it. The chart cannot see a change
inside an \`existingSecret\`, and a running pod does not read it. Restart the pods then, by hand or with a reloader
that \`defaults.podAnnotations\` configures:

\`\`\`sh
kubectl -n sms rollout restart deployment,statefulset -l app.kubernetes.io/instance=sms
\`\`\`

Certificates for calls between services and for NATS are reloaded while the pods run; those for MongoDB and Redis
need the same restart.

### Tokens of calls between services

Each caller sends a token of its own. A service knows the tokens of its callers and permits each the methods in
[files/rpc-callers.yaml](files/rpc-callers.yaml), which is generated from the code. Replace a token in three steps, and
finish the rollout of each before the next, or old and new pods refuse each other:

1. Add the new token to the Secret under the key with \`-other\` behind it, for example \`token-gateway-other\`.
   Restart. Services accept both.
2. Swap the two: the new one under \`token-gateway\`, the former under \`token-gateway-other\`. Restart.
3. Remove \`token-gateway-other\`. Restart.

With \`rpc.token\` as a value: set \`rpc.otherToken\` to the new value, upgrade; swap the two, upgrade; clear
\`rpc.otherToken\`, upgrade.

### Encryption keys

The first of \`encryption.keys\` encrypts, all of them decrypt. A pod without a key cannot decrypt data that another pod
encrypted with it, so finish the rollout of each step before the next:

1. Put the new key last: \`k1:…,k2:…\`.
2. Move it first: \`k2:…,k1:…\`. From here on never roll back past step 1, to keys without the new one.

Data is not encrypted again by itself. Keep the old key until every webhook secret has been rotated, the secrets of
every connector have been set again, and one more day has passed (\`IDEMPOTENCY_TTL_MS\`, if that is longer): replaced
secrets still sign, and stored responses are kept, for that time.
`;
