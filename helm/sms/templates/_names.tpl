{{/*
The prefix of every name. A release's name may hold dots, a Service's must not. The longest name put
behind it is `-operator-console-headless` (26), and the StatefulSet's revision label adds eleven characters
to its name, so 30 leave room below 63. A prefix that must be cut keeps a hash of the whole, so that two
long release names stay apart.
*/}}
{{- define "sms.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := .Values.fullnameOverride -}}
{{- if not $full -}}
{{- $full = ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- end -}}
{{- $hash := $full | sha256sum | trunc 8 -}}
{{- $full = $full | replace "." "-" -}}
{{- if gt (len $full) 30 -}}
{{- printf "%s-%s" ($full | trunc 21 | trimSuffix "-") $hash -}}
{{- else -}}
{{- $full | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that never change while a release lives; the only ones in selectors. (list root component) */}}
{{- define "sms.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Values.nameOverride | default $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* The recommended labels, on every pod. (list root component) */}}
{{- define "sms.podLabels" -}}
{{- $root := index . 0 -}}
{{ include "sms.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/part-of: sms
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
{{- end -}}

{{/* The recommended labels and the chart's, on every object. (list root component) */}}
{{- define "sms.labels" -}}
{{- $root := index . 0 -}}
{{ include "sms.podLabels" . }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The metadata of an object. (dict root component name annotations) */}}
{{- define "sms.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- include "sms.labels" (list .root .component) | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "sms.image" -}}
{{- $image := .Values.image -}}
{{- $registry := .Values.global.imageRegistry | default $image.registry -}}
{{- $name := $image.repository -}}
{{- if $registry -}}{{- $name = printf "%s/%s" ($registry | trimSuffix "/") $name -}}{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (include "sms.text" ($image.tag | default .Chart.AppVersion)) -}}
{{- end -}}
{{- end -}}

{{/* The name that callers resolve: one address per ready pod. (list root component) */}}
{{- define "sms.headlessHost" -}}
{{- $root := index . 0 -}}
{{ include "sms.fullname" $root }}-{{ index . 1 }}-headless.{{ $root.Release.Namespace }}.svc.{{ $root.Values.clusterDomain }}
{{- end -}}

{{/* A Service's IP families: its own, or those of all. (list root service) */}}
{{- define "sms.ipFamilies" -}}
{{- $root := index . 0 -}}
{{- $own := index . 1 -}}
{{- with $own.ipFamilyPolicy | default $root.Values.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with $own.ipFamilies | default $root.Values.ipFamilies }}
ipFamilies:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A value as the text of an environment variable: numbers without an exponent, fractions with no more digits than they need. */}}
{{- define "sms.text" -}}
{{- if not (kindIs "float64" .) -}}{{ . }}
{{- else if eq (floor .) . -}}{{ int64 . }}
{{- else -}}{{ regexReplaceAll "0+$" (printf "%.12f" .) "" }}
{{- end -}}
{{- end -}}

{{/* The size of a volume claim in MiB: what was written 1024Mi is 1Gi at the API server. */}}
{{- define "sms.claimSize" -}}
{{- mul (regexFind "^[0-9]+" .) (get (dict "Mi" 1 "Gi" 1024 "Ti" 1048576 "Pi" 1073741824) (regexFind "[MGTP]i$" .)) -}}
{{- end -}}

{{/* A memory limit in whole MiB, whether written 512Mi, 1.5Gi, 1G, 1e9 or in bytes. (list component limit) */}}
{{- define "sms.mebibytes" -}}
{{- $text := include "sms.text" (index . 1) -}}
{{- $bytes := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $number := regexFind "^[0-9]+(\\.[0-9]+)?(e[0-9]+)?" $text -}}
{{- $unit := trimPrefix $number $text -}}
{{- if or (eq $number "") (not (hasKey $bytes $unit)) -}}
{{- fail (printf "%s: resources.limits.memory: write %s as 512Mi or 1.5Gi." (index . 0) $text) -}}
{{- end -}}
{{- $whole := floor (divf (mulf $number (get $bytes $unit)) 1048576) | int64 -}}
{{- if lt $whole 16 -}}
{{- fail (printf "%s: resources.limits.memory: %s is less than 16Mi; write it as 512Mi or 1.5Gi." (index . 0) $text) -}}
{{- end -}}
{{ $whole }}
{{- end -}}
