{{/*
What the chart knows of each component, from the table of docs/architecture.md: `serves` is its
gRPC service, `calls` the arrows that leave it, `needs` what it connects to, `durable` its consumer of
the event stream.
*/}}
{{- define "sms.table" -}}
gateway:
  calls: [tenant, messaging, wallet, sender-id, webhook, campaign, consent]
  needs: [nats, redis, cursor]
tenant:
  serves: sms.v1.TenantService
  needs: [mongodb, nats, encryption]
sender-id:
  serves: sms.v1.SenderIdService
  calls: [tenant]
  needs: [mongodb, nats]
wallet:
  serves: sms.v1.WalletService
  durable: wallet-settle
  calls: [messaging]
  needs: [mongodb, nats]
routing:
  serves: sms.v1.RoutingService
  needs: [mongodb, nats, encryption]
messaging:
  serves: sms.v1.MessagingService
  calls: [tenant, sender-id, routing, wallet, consent]
  needs: [mongodb, nats]
carrier:
  calls: [messaging, routing, consent]
  needs: [mongodb, nats, redis]
webhook:
  serves: sms.v1.WebhookService
  durable: webhook-deliver
  needs: [mongodb, nats, encryption]
smsc-simulator: {}
campaign:
  serves: sms.v1.CampaignService
  durable: campaign-messages
  calls: [tenant, wallet, messaging]
  needs: [mongodb, nats]
consent:
  serves: sms.v1.ConsentService
  calls: [messaging]
  needs: [mongodb, nats]
operator-console:
  calls: [tenant, sender-id, wallet, routing, messaging, webhook, campaign, consent]
migration:
  needs: [mongodb, nats]
test:
  calls: [tenant, sender-id, webhook]
toolbox:
  calls: [tenant, sender-id, wallet, routing, messaging, webhook, campaign, consent]
{{- end -}}

{{/* Names of the components that run for as long as the release lives, as a YAML list. */}}
{{- define "sms.workloads" -}}
{{- $names := list "gateway" "tenant" "sender-id" "wallet" "routing" "messaging" "carrier" "webhook" "campaign" "consent" -}}
{{- if .Values.smscSimulator.enabled -}}{{- $names = append $names "smsc-simulator" -}}{{- end -}}
{{- if include "sms.hasOperatorConsole" . -}}{{- $names = append $names "operator-console" -}}{{- end -}}
{{ toYaml $names }}
{{- end -}}

{{/* Whether the release runs the operators' console. */}}
{{- define "sms.hasOperatorConsole" -}}
{{- if .Values.operatorConsole.enabled }}true{{ end -}}
{{- end -}}

{{/*
One component as YAML: its row of the table, its name in the cluster, its key in the values, and its values over
`defaults`.
(list root name)
*/}}
{{- define "sms.component" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $values := $root.Values -}}
{{- $own := dict
  "gateway" $values.gateway
  "tenant" $values.tenant
  "sender-id" $values.senderId
  "wallet" $values.wallet
  "routing" $values.routing
  "messaging" $values.messaging
  "carrier" $values.carrier
  "webhook" $values.webhook
  "campaign" $values.campaign
  "consent" $values.consent
  "smsc-simulator" $values.smscSimulator
  "operator-console" $values.operatorConsole
  "migration" $values.migration
  "test" $values.test
  "toolbox" $values.toolbox
-}}
{{- $row := get (include "sms.table" $root | fromYaml) $name -}}
{{- $merged := mergeOverwrite (deepCopy $values.defaults) (deepCopy (get $own $name)) -}}
{{- $least := $merged.replicas -}}
{{- if $merged.autoscaling.enabled -}}{{- $least = $merged.autoscaling.minReplicas -}}{{- end -}}
{{- if $merged.keda.enabled -}}{{- $least = $merged.keda.minReplicas -}}{{- end -}}
{{- $keys := dict "sender-id" "senderId" "smsc-simulator" "smscSimulator" "operator-console" "operatorConsole" -}}
{{- dict
  "name" $name
  "key" (get $keys $name | default $name)
  "fullName" (printf "%s-%s" (include "sms.fullname" $root) $name)
  "kind" (ternary "StatefulSet" "Deployment" (eq $name "carrier"))
  "serves" ($row.serves | default "")
  "durable" ($row.durable | default "")
  "calls" ($row.calls | default list)
  "needs" ($row.needs | default list)
  "isScaled" (or $merged.autoscaling.enabled $merged.keda.enabled)
  "isOwnedTwice" (and $merged.autoscaling.enabled $merged.keda.enabled)
  "leastReplicas" $least
  "values" $merged
  | toYaml -}}
{{- end -}}

{{/*
How many replicas a scaled workload is to say it has; empty where the number is left to the autoscaler alone.
When autoscaling is switched on, Helm would take the number of the manifest before out of the live object, and
Kubernetes would put 1 in its place. So the live number is said then and, as the annotation remembers, in every
upgrade after that. A manifest that never said one goes on without: no upgrade and no rollback undoes what the
autoscaler did. What it does between the render and the end of the migration is lost. A render without a cluster finds nothing live. (list root component)
*/}}
{{- define "sms.keptReplicas" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $namespace := $root.Release.Namespace -}}
{{- if $c.isScaled -}}
{{- with lookup "apps/v1" $c.kind $namespace $c.fullName -}}
{{- $isKept := hasKey (.metadata.annotations | default dict) "sms/keeps-replicas" -}}
{{- $own := lookup "autoscaling/v2" "HorizontalPodAutoscaler" $namespace $c.fullName -}}
{{- /* KEDA makes one of this name for a ScaledObject. */ -}}
{{- $kedas := lookup "autoscaling/v2" "HorizontalPodAutoscaler" $namespace (printf "keda-hpa-%s" $c.fullName) -}}
{{- if or $isKept (not (or $own $kedas)) -}}
{{- max (int64 .spec.replicas) (int64 $c.leastReplicas) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Where a credential is: the Secret's name and key, as YAML. (list root concern) */}}
{{- define "sms.credential" -}}
{{- $root := index . 0 -}}
{{- $concern := index . 1 -}}
{{- $values := $root.Values -}}
{{- $all := dict
  "mongodb" (dict "env" "MONGODB_URI" "own" "mongodb-uri" "text" $values.mongodb.uri "secret" $values.mongodb.existingSecret "key" $values.mongodb.existingSecretKey)
  "nats" (dict "env" "NATS_URL" "own" "nats-url" "text" $values.nats.url "secret" $values.nats.existingSecret "key" $values.nats.existingSecretKey)
  "redis" (dict "env" "REDIS_URL" "own" "redis-url" "text" $values.redis.url "secret" $values.redis.existingSecret "key" $values.redis.existingSecretKey)
  "encryption" (dict "env" "ENCRYPTION_KEYS" "own" "encryption-keys" "text" $values.encryption.keys "secret" $values.encryption.existingSecret "key" $values.encryption.existingSecretKey)
  "cursor" (dict "env" "CURSOR_KEY" "own" "cursor-key" "text" $values.cursor.key "secret" $values.cursor.existingSecret "key" $values.cursor.existingSecretKey)
  "rpc" (dict "env" "RPC_TOKEN" "own" "rpc-token" "text" $values.rpc.token "secret" $values.rpc.existingSecret "key" $values.rpc.existingSecretKey)
  "smsc" (dict "env" "SMSC_PASSWORD" "own" "smsc-password" "text" $values.smscSimulator.password "secret" $values.smscSimulator.existingSecret "key" $values.smscSimulator.existingSecretKey)
-}}
{{- $one := get $all $concern -}}
{{- $isExternal := ne $one.secret "" -}}
{{- dict
  "env" $one.env
  "text" $one.text
  "ownKey" $one.own
  "isExternal" $isExternal
  "secret" (ternary $one.secret (include "sms.fullname" $root) $isExternal)
  "key" (ternary $one.key $one.own $isExternal)
  | toYaml -}}
{{- end -}}

{{/* The credentials that a component reads: a YAML list of concerns. */}}
{{- define "sms.concerns" -}}
{{- $concerns := without .needs "" -}}
{{- if or .serves .calls -}}{{- $concerns = prepend $concerns "rpc" -}}{{- end -}}
{{- if eq .name "smsc-simulator" -}}{{- $concerns = append $concerns "smsc" -}}{{- end -}}
{{ toYaml $concerns }}
{{- end -}}

{{/* What the chart's own Secret holds: a YAML map, empty when every credential is elsewhere. */}}
{{- define "sms.secretData" -}}
{{- $data := dict -}}
{{- $concerns := list "mongodb" "nats" "redis" "encryption" "cursor" "rpc" -}}
{{- if .Values.smscSimulator.enabled -}}{{- $concerns = append $concerns "smsc" -}}{{- end -}}
{{- range $concerns -}}
{{- $one := include "sms.credential" (list $ .) | fromYaml -}}
{{- if $one.isExternal -}}
{{- else if eq . "rpc" -}}{{- $data = merge $data (include "sms.rpcSecretData" $ | fromYaml) -}}
{{- else -}}{{- $_ := set $data $one.ownKey $one.text -}}{{- end -}}
{{- end -}}
{{ toYaml $data }}
{{- end -}}
