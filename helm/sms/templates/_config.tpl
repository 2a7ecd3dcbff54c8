{{/* Settings that are messaging's to say and that another service has from there, with the default of both. */}}
{{- define "sms.fromMessaging" -}}
carrier: { SUBMISSION_UNKNOWN_WAIT_MS: 600000 }
webhook: { IDEMPOTENCY_TTL_MS: 86400000 }
campaign: { IDEMPOTENCY_TTL_MS: 86400000 }
{{- end -}}

{{/*
Settings of a component that are no secret: variables in its pod template, so that each revision keeps its own
(ADR 124). (list root component)
*/}}
{{- define "sms.config" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $values := $root.Values -}}
{{- $data := dict -}}
{{- if not (has $c.name (list "test" "toolbox")) -}}
{{- $_ := set $data "LOG_LEVEL" $c.values.logLevel -}}
{{- $_ := set $data "RPC_IN_FLIGHT_MAX" (include "sms.text" $values.rpc.inFlightMax) -}}
{{- end -}}
{{- $said := default dict (get $values.messaging "settings") -}}
{{- range $setting, $_ := default dict (get (include "sms.fromMessaging" $root | fromYaml) $c.name) -}}
{{- with get $said $setting -}}{{- $_ := set $data $setting (include "sms.text" .) -}}{{- end -}}
{{- end -}}
{{- if has "mongodb" $c.needs -}}
{{- $_ := set $data "MONGODB_PREFIX" $values.mongodb.databasePrefix -}}
{{- $_ := set $data "MONGODB_POOL_MAX" (include "sms.text" $values.mongodb.poolMax) -}}
{{- end -}}
{{- /* The stream is made and changed by the migration alone. */ -}}
{{- if eq $c.name "migration" -}}
{{- $_ := set $data "EVENT_STREAM_REPLICAS" (include "sms.text" $values.nats.stream.replicas) -}}
{{- $_ := set $data "EVENT_STREAM_MAX_BYTES" (include "sms.text" $values.nats.stream.maxBytes) -}}
{{- $_ := set $data "EVENT_STREAM_MAX_AGE_MS" (include "sms.text" $values.nats.stream.maxAgeMs) -}}
{{- end -}}
{{- if eq $c.name "gateway" -}}
{{- /* How many there are is asked of DNS; the least is for the while in which it cannot tell. */ -}}
{{- $_ := set $data "GATEWAY_PEERS" (include "sms.headlessHost" (list $root "gateway")) -}}
{{- $_ := set $data "GATEWAY_REPLICAS" (include "sms.text" (max 1 (int64 $c.leastReplicas))) -}}
{{- with include "sms.publicHost" $root -}}{{- $_ := set $data "DOCS_URL" (printf "https://%s/docs" .) -}}{{- end -}}
{{- end -}}
{{- if include "sms.hasOperatorConsole" $root -}}
{{- if has $c.name (list "tenant" "operator-console") -}}
{{- $_ := set $data "OPERATOR_CONSOLE_URL" $values.operatorConsole.url -}}
{{- end -}}
{{- if eq $c.name "operator-console" -}}
{{- $carrier := include "sms.component" (list $root "carrier") | fromYaml -}}
{{- $_ := set $data "OPERATOR_CONSOLE_HOST" $root.Values.listenHost -}}
{{- $_ := set $data "OPERATOR_CONSOLE_PORT" (include "sms.text" $c.values.port) -}}
{{- $_ := set $data "CARRIER_OPS" (printf "http://%s:%s" (include "sms.headlessHost" (list $root "carrier")) (include "sms.text" $carrier.values.ports.ops)) -}}
{{- end -}}
{{- end -}}
{{- if eq $c.name "webhook" -}}
{{- $ports := list -}}
{{- range $values.networkPolicy.webhooks.ports -}}{{- $ports = append $ports (include "sms.text" .) -}}{{- end -}}
{{- $_ := set $data "WEBHOOK_ALLOWED_PORTS" (join "," $ports) -}}
{{- $_ := set $data "WEBHOOK_ALLOWED_NETWORKS" (join "," $values.networkPolicy.webhooks.allowedNetworks) -}}
{{- end -}}
{{- if eq $c.name "carrier" -}}
{{- $_ := set $data "CARRIER_JOURNAL_DIR" "/var/lib/sms/journal" -}}
{{- if $c.values.receipts.enabled -}}
{{- $_ := set $data "CARRIER_RECEIPT_HOST" $root.Values.listenHost -}}
{{- $_ := set $data "CARRIER_RECEIPT_PORT" (include "sms.text" $c.values.receipts.port) -}}
{{- $_ := set $data "CARRIER_RECEIPT_URL" $c.values.receipts.url -}}
{{- end -}}
{{- end -}}
{{- if eq $c.name "smsc-simulator" -}}
{{- $_ := set $data "SMSC_HOST" $root.Values.listenHost -}}
{{- $_ := set $data "SMSC_PORT" (include "sms.text" $c.values.port) -}}
{{- $_ := set $data "SMSC_CONTROL_PORT" (include "sms.text" $c.values.controlPort) -}}
{{- $_ := set $data "SMSC_SYSTEM_ID" $c.values.systemId -}}
{{- end -}}
{{- with $values.telemetry.otlp -}}
{{- if .endpoint -}}
{{- $_ := set $data "OTEL_EXPORTER_OTLP_ENDPOINT" .endpoint -}}
{{- $_ := set $data "OTEL_SERVICE_NAME" (printf "sms-%s" $c.name) -}}
{{- $_ := set $data "OTEL_TRACES_SAMPLER" .sampler -}}
{{- $_ := set $data "OTEL_TRACES_SAMPLER_ARG" (include "sms.text" .ratio) -}}
{{- end -}}
{{- end -}}
{{- range $name, $setting := $c.values.settings -}}
{{- $_ := set $data $name (include "sms.text" $setting) -}}
{{- end -}}
{{ toYaml $data }}
{{- end -}}

{{/* The first host of the gateway's ingress or route that is no pattern, or nothing. */}}
{{- define "sms.publicHost" -}}
{{- $found := "" -}}
{{- range concat .Values.gateway.ingress.hosts .Values.gateway.httpRoute.hostnames -}}
{{- if not (or $found (contains "*" .)) -}}{{- $found = . -}}{{- end -}}
{{- end -}}
{{ $found }}
{{- end -}}

{{/* The TLS files of what a component connects to: a YAML list of mounts. (list root component) */}}
{{- define "sms.tlsMounts" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $values := $root.Values -}}
{{- $mounts := list -}}
{{- $sources := dict "mongodb" $values.mongodb.tls "nats" $values.nats.tls "redis" $values.redis.tls -}}
{{- range $name := list "mongodb" "nats" "redis" -}}
{{- $tls := get $sources $name -}}
{{- if and (has $name $c.needs) $tls.existingSecret -}}
{{- $mounts = append $mounts (dict "name" $name "env" (printf "%s_TLS" (upper $name)) "tls" $tls) -}}
{{- end -}}
{{- end -}}
{{- with $values.telemetry.otlp -}}
{{- if and .endpoint .tls.existingSecret -}}
{{- $mounts = append $mounts (dict "name" "otlp" "env" "" "tls" .tls) -}}
{{- end -}}
{{- end -}}
{{ toYaml $mounts }}
{{- end -}}

{{/* Name of the Secret with a component's certificate for calls between services, or nothing. (list root component) */}}
{{- define "sms.rpcTlsSecret" -}}
{{- $root := index . 0 -}}
{{- $tls := $root.Values.rpc.tls -}}
{{- if $tls.enabled -}}
{{- $tls.existingSecret | default (printf "%s-rpc-tls" (index . 1).fullName) -}}
{{- end -}}
{{- end -}}

{{/* Environment variables of a component's container. (list root component) */}}
{{- define "sms.env" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $v := $c.values -}}
{{- if not (has $c.name (list "migration" "test" "toolbox")) }}
- name: OPS_HOST
  value: {{ $root.Values.listenHost | quote }}
- name: OPS_PORT
  value: {{ include "sms.text" $v.ports.ops | quote }}
- name: GRPC_HOST
  value: {{ $root.Values.listenHost | quote }}
- name: GRPC_PORT
  value: {{ include "sms.text" $v.ports.grpc | quote }}
- name: DRAIN_DELAY_MS
  value: {{ include "sms.text" $v.drainDelayMs | quote }}
- name: CLOSE_TIMEOUT_MS
  value: {{ include "sms.text" $v.closeTimeoutMs | quote }}
- name: RPC_CONNECTION_AGE_MS
  value: {{ include "sms.text" $root.Values.rpc.maxConnectionAgeMs | quote }}
{{- end }}
{{- if eq $c.name "gateway" }}
- name: HOST
  value: {{ $root.Values.listenHost | quote }}
- name: PORT
  value: {{ include "sms.text" $v.port | quote }}
{{- end }}
{{- if eq $c.name "toolbox" }}
{{- $carrier := include "sms.component" (list $root "carrier") | fromYaml }}
- name: CARRIER_OPS
  value: http://{{ $carrier.fullName }}-0.{{ include "sms.headlessHost" (list $root "carrier") }}:{{ include "sms.text" $carrier.values.ports.ops }}
{{- end }}
{{- if eq $c.name "carrier" }}
- name: CARRIER_ID
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}
{{- range $c.calls }}
{{- $callee := include "sms.component" (list $root .) | fromYaml }}
- name: {{ . | upper | replace "-" "_" }}_GRPC
  value: {{ include "sms.headlessHost" (list $root .) }}:{{ include "sms.text" $callee.values.ports.grpc }}
{{- end }}
{{- range without (include "sms.concerns" $c | fromYamlArray) "rpc" }}
{{- $one := include "sms.credential" (list $root .) | fromYaml }}
- name: {{ $one.env }}
  valueFrom:
    secretKeyRef:
      name: {{ if and (eq $c.name "migration") (not $one.isExternal) }}{{ $c.fullName }}{{ else }}{{ $one.secret }}{{ end }}
      key: {{ $one.key }}
{{- end }}
{{- include "sms.rpcEnv" (list $root $c) }}
{{- if and (include "sms.rpcTlsSecret" (list $root $c)) (or $c.serves $c.calls) }}
{{- if $c.serves }}
- name: GRPC_HEALTH_PORT
  value: {{ include "sms.text" $v.ports.health | quote }}
{{- end }}
- name: RPC_TLS_CERT_FILE
  value: /etc/sms/rpc-tls/tls.crt
- name: RPC_TLS_KEY_FILE
  value: /etc/sms/rpc-tls/tls.key
- name: RPC_TLS_CA_FILE
  value: /etc/sms/rpc-tls/ca.crt
{{- end }}
{{- range include "sms.tlsMounts" (list $root $c) | fromYamlArray }}
{{- if eq .name "otlp" }}
- name: OTEL_EXPORTER_OTLP_CERTIFICATE
  value: /etc/sms/otlp-tls/{{ .tls.caKey }}
{{- if .tls.clientCertificate }}
- name: OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE
  value: /etc/sms/otlp-tls/{{ .tls.certKey }}
- name: OTEL_EXPORTER_OTLP_CLIENT_KEY
  value: /etc/sms/otlp-tls/{{ .tls.keyKey }}
{{- end }}
{{- else }}
- name: {{ .env }}_CA_FILE
  value: /etc/sms/{{ .name }}-tls/{{ .tls.caKey }}
{{- if .tls.clientCertificate }}
- name: {{ .env }}_CERT_FILE
  value: /etc/sms/{{ .name }}-tls/{{ .tls.certKey }}
- name: {{ .env }}_KEY_FILE
  value: /etc/sms/{{ .name }}-tls/{{ .tls.keyKey }}
{{- end }}
{{- end }}
{{- end }}
{{- $given := list }}
{{- range $v.extraEnv }}{{- $given = append $given .name }}{{- end }}
{{- range $name, $text := include "sms.config" (list $root $c) | fromYaml }}
{{- if not (has $name $given) }}
- name: {{ $name }}
  value: {{ $text | quote }}
{{- end }}
{{- end }}
{{- range $v.extraEnv }}
{{- $one := . }}
{{- if hasKey . "value" }}{{- $one = set (deepCopy .) "value" (include "sms.text" .value) }}{{- end }}
{{ list $one | toYaml }}
{{- end }}
{{- end -}}
