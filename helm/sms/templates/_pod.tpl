{{/* Annotations that restart a pod when what it reads changes. (list root component) */}}
{{- define "sms.checksums" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $secrets := list -}}
{{- range include "sms.concerns" $c | fromYamlArray -}}
{{- $secrets = append $secrets (include "sms.credential" (list $root .)) -}}
{{- end -}}
checksum/config: {{ include "sms.config" (list $root $c) | sha256sum }}
checksum/secret: {{ $secrets | toJson | sha256sum }}
{{- end -}}

{{/* The program of a component's container. (list component arguments) */}}
{{- define "sms.command" -}}
{{- $c := index . 0 -}}
{{- $memory := dig "resources" "limits" "memory" "" $c.values -}}
command:
  - node
  {{- if $memory }}
  {{- $limit := include "sms.mebibytes" (list $c.key $memory) | int64 }}
  - --max-old-space-size={{ div (mul $limit (int64 $c.values.heapPercent)) 100 }}
  {{- end }}
{{- range index . 1 }}
  - {{ . }}
{{- end }}
{{- end -}}

{{/* What every pod has, whatever it runs. (list root component restartPolicy) */}}
{{- define "sms.podBase" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $v := $c.values -}}
serviceAccountName: {{ $v.serviceAccount.name | default $c.fullName }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml $v.podSecurityContext | nindent 2 }}
dnsPolicy: {{ $v.dnsPolicy }}
{{- with $v.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $v.schedulerName }}
schedulerName: {{ . }}
{{- end }}
{{- with $v.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with $v.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* What every container has. (list root component) */}}
{{- define "sms.containerBase" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $v := $c.values -}}
image: {{ include "sms.image" $root }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
securityContext:
  {{- toYaml $v.securityContext | nindent 2 }}
resources:
  {{- toYaml $v.resources | nindent 2 }}
env:
  {{- include "sms.env" (list $root $c) | trim | nindent 2 }}
{{- with $v.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
# A process says why it ends on its standard error; `kubectl describe` shows the end of it.
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if eq $c.name "carrier" }}
  - name: journal
    mountPath: /var/lib/sms/journal
  {{- end }}
  {{- if and (include "sms.rpcTlsSecret" (list $root $c)) (or $c.serves $c.calls) }}
  - name: rpc-tls
    mountPath: /etc/sms/rpc-tls
    readOnly: true
  {{- end }}
  {{- range include "sms.tlsMounts" (list $root $c) | fromYamlArray }}
  - name: {{ .name }}-tls
    mountPath: /etc/sms/{{ .name }}-tls
    readOnly: true
  {{- end }}
  {{- with $v.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The volumes behind those mounts. (list root component) */}}
{{- define "sms.volumes" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $v := $c.values -}}
volumes:
  - name: tmp
    emptyDir:
      sizeLimit: {{ $v.tmpSize }}
  {{- if and (eq $c.name "carrier") (not $v.persistence.enabled) }}
  - name: journal
    emptyDir:
      sizeLimit: {{ $v.persistence.size }}
  {{- end }}
  {{- $rpcSecret := include "sms.rpcTlsSecret" (list $root $c) }}
  {{- if and $rpcSecret (or $c.serves $c.calls) }}
  - name: rpc-tls
    secret:
      secretName: {{ $rpcSecret }}
      defaultMode: 0440
  {{- end }}
  {{- range include "sms.tlsMounts" (list $root $c) | fromYamlArray }}
  - name: {{ .name }}-tls
    secret:
      secretName: {{ .tls.existingSecret }}
      defaultMode: 0440
  {{- end }}
  {{- with $v.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/*
Three probes that ask different things. Startup: is the last port open, so that everything behind it
is too? Messaging is asked /readyz instead, which waits for what it depends on and for the routes, and only
until it has succeeded once: an outage after that changes nothing. Readiness: does this pod take calls of its own
gRPC service (probes cannot show a certificate, so with mutual TLS health has a port of its own)? What serves
none is asked /readyz: the carrier says no there until the claims of the process before are recovered, so a
rollout waits for it, while a startup probe would end a process that only waits for messaging. Liveness: does the
event loop turn, whatever the dependencies do? (list root component)
*/}}
{{- define "sms.probes" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $p := $c.values.probes -}}
startupProbe:
  {{- if eq $c.name "smsc-simulator" }}
  tcpSocket:
    port: smpp
  {{- else if eq $c.name "gateway" }}
  tcpSocket:
    port: http
  {{- else if eq $c.name "messaging" }}
  httpGet:
    path: /readyz
    port: ops
  {{- else if $c.serves }}
  tcpSocket:
    port: grpc
  {{- else }}
  tcpSocket:
    port: ops
  {{- end }}
  periodSeconds: {{ $p.startup.periodSeconds }}
  failureThreshold: {{ $p.startup.failureThreshold }}
  timeoutSeconds: {{ $p.timeoutSeconds }}
readinessProbe:
  {{- if $c.serves }}
  grpc:
    port: {{ ternary $c.values.ports.health $c.values.ports.grpc $root.Values.rpc.tls.enabled }}
    service: {{ $c.serves }}
  {{- else }}
  httpGet:
    path: /readyz
    port: ops
  {{- end }}
  periodSeconds: {{ $p.readiness.periodSeconds }}
  failureThreshold: {{ $p.readiness.failureThreshold }}
  timeoutSeconds: {{ $p.timeoutSeconds }}
livenessProbe:
  httpGet:
    path: /livez
    port: ops
  periodSeconds: {{ $p.liveness.periodSeconds }}
  failureThreshold: {{ $p.liveness.failureThreshold }}
  timeoutSeconds: {{ $p.timeoutSeconds }}
{{- end -}}

{{/* Ports of a component: a YAML list of name, port and protocol of the application. */}}
{{- define "sms.ports" -}}
{{- $c := . -}}
{{- $ports := list (dict "name" "ops" "port" $c.values.ports.ops "protocol" "http") -}}
{{- if $c.serves -}}
{{- $ports = append $ports (dict "name" "grpc" "port" $c.values.ports.grpc "protocol" "grpc") -}}
{{- end -}}
{{- if has $c.name (list "gateway" "operator-console") -}}
{{- $ports = append $ports (dict "name" "http" "port" $c.values.port "protocol" "http") -}}
{{- end -}}
{{- if and (eq $c.name "carrier") $c.values.receipts.enabled -}}
{{- $ports = append $ports (dict "name" "receipts" "port" $c.values.receipts.port "protocol" "http") -}}
{{- end -}}
{{- if eq $c.name "smsc-simulator" -}}
{{- $ports = append $ports (dict "name" "smpp" "port" $c.values.port "protocol" "smpp.org/smpp") -}}
{{- $ports = append $ports (dict "name" "control" "port" $c.values.controlPort "protocol" "http") -}}
{{- end -}}
{{ toYaml $ports }}
{{- end -}}

{{/* The pod template of a component that runs for as long as the release lives. (list root component) */}}
{{- define "sms.podTemplate" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $v := $c.values -}}
metadata:
  labels:
    {{- include "sms.podLabels" (list $root $c.name) | nindent 4 }}
    {{- with $v.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    {{- include "sms.checksums" (list $root $c) | nindent 4 }}
    {{- with $v.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "sms.podBase" (list $root $c) | nindent 2 }}
  terminationGracePeriodSeconds: {{ $v.terminationGracePeriodSeconds }}
  topologySpreadConstraints:
    {{- if $v.topologySpreadConstraints }}
    {{- toYaml $v.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    {{- range $key, $rule := dict "topology.kubernetes.io/zone" $v.topologySpread.zone "kubernetes.io/hostname" $v.topologySpread.host }}
    - maxSkew: 1
      topologyKey: {{ $key }}
      whenUnsatisfiable: {{ $rule }}
      # A lost or drained zone has taints: it must not count as one with room for the next pod.
      nodeTaintsPolicy: Honor
      nodeAffinityPolicy: Honor
      labelSelector:
        matchLabels:
          {{- include "sms.selectorLabels" (list $root $c.name) | nindent 10 }}
      {{- if eq $c.kind "Deployment" }}
      matchLabelKeys:
        - pod-template-hash
      {{- end }}
    {{- end }}
    {{- end }}
  {{- with $v.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ $c.name }}
      {{- include "sms.command" (list $c (list "services/main.ts" $c.name)) | nindent 6 }}
      {{- include "sms.containerBase" (list $root $c) | nindent 6 }}
      ports:
        {{- range include "sms.ports" $c | fromYamlArray }}
        - name: {{ .name }}
          containerPort: {{ .port }}
          protocol: TCP
        {{- end }}
        {{- if and $c.serves $root.Values.rpc.tls.enabled }}
        - name: health
          containerPort: {{ $v.ports.health }}
          protocol: TCP
        {{- end }}
      {{- include "sms.probes" (list $root $c) | nindent 6 }}
      {{- if gt (int $v.preStopSeconds) 0 }}
      lifecycle:
        preStop:
          {{- if semverCompare ">=1.30-0" $root.Capabilities.KubeVersion.Version }}
          sleep:
            seconds: {{ $v.preStopSeconds }}
          {{- else }}
          exec:
            command: [node, -e, "setTimeout(() => {}, {{ mul $v.preStopSeconds 1000 }})"]
          {{- end }}
      {{- end }}
    {{- with $v.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- include "sms.volumes" (list $root $c) | nindent 2 }}
{{- end -}}
