{{/*
How components prove to each other who they are (`rpc.tokens`): `shared` is one token that may call everything,
`perCaller` a token for each caller, and the two between are the steps from the first to the second. A list of the
operator's own (`rpc.callers.existingSecret`) replaces the chart's, so senders then use the one token.
*/}}
{{- define "sms.rpcMode" -}}
{{- ternary "shared" .Values.rpc.tokens (ne .Values.rpc.callers.existingSecret "") -}}
{{- end -}}

{{- define "sms.rpcSendsOwn" -}}
{{- if has (include "sms.rpcMode" .) (list "perCaller" "sendOwn") }}true{{ end -}}
{{- end -}}

{{- define "sms.rpcAcceptsOwn" -}}
{{- if ne (include "sms.rpcMode" .) "shared" }}true{{ end -}}
{{- end -}}

{{- define "sms.rpcAcceptsShared" -}}
{{- if ne (include "sms.rpcMode" .) "perCaller" }}true{{ end -}}
{{- end -}}

{{/* The name by which a component calls others. */}}
{{- define "sms.rpcCaller" -}}
{{- ternary "operator" . (eq . "toolbox") -}}
{{- end -}}

{{/* The component that serves each service of RPC: a YAML map. */}}
{{- define "sms.rpcComponents" -}}
{{- $components := dict -}}
{{- range $_, $methods := .Files.Get "files/rpc-callers.yaml" | fromYaml -}}
{{- range $component, $names := $methods -}}
{{- range $names -}}{{- $_ := set $components (splitList "/" . | first) $component -}}{{- end -}}
{{- end -}}
{{- end -}}
{{ toYaml $components }}
{{- end -}}

{{/*
Callers of this release, each with its methods by component: files/rpc-callers.yaml and `rpc.extraCallers`, as YAML.
*/}}
{{- define "sms.rpcCallers" -}}
{{- $callers := .Files.Get "files/rpc-callers.yaml" | fromYaml -}}
{{- if not .Values.test.enabled -}}{{- $callers = omit $callers "test" -}}{{- end -}}
{{- if not (include "sms.hasOperatorConsole" .) -}}{{- $callers = omit $callers "operator-console" -}}{{- end -}}
{{- $components := include "sms.rpcComponents" . | fromYaml -}}
{{- range $caller, $extra := .Values.rpc.extraCallers -}}
{{- $byComponent := dict -}}
{{- range $extra.methods -}}
{{- $component := get $components (splitList "/" . | first) -}}
{{- $_ := set $byComponent $component (append (get $byComponent $component | default list) .) -}}
{{- end -}}
{{- $_ := set $callers $caller $byComponent -}}
{{- end -}}
{{ toYaml $callers }}
{{- end -}}

{{/* The methods that a component permits to each of its callers, as YAML. (list root name) */}}
{{- define "sms.rpcPermits" -}}
{{- $name := index . 1 -}}
{{- $permits := dict -}}
{{- range $caller, $methods := include "sms.rpcCallers" (index . 0) | fromYaml -}}
{{- with get $methods $name -}}{{- $_ := set $permits $caller . -}}{{- end -}}
{{- end -}}
{{ toYaml $permits }}
{{- end -}}

{{/* The key of a caller's token: in a Secret of the operator's, or in the chart's own. (list root caller) */}}
{{- define "sms.rpcTokenKey" -}}
{{- $root := index . 0 -}}
{{- printf "%s-%s" (ternary $root.Values.rpc.existingSecretKey "rpc-token" (ne $root.Values.rpc.existingSecret "")) (index . 1) -}}
{{- end -}}

{{/* Tokens of callers for the chart's own Secret, made from one value: a YAML map. */}}
{{- define "sms.rpcSecretData" -}}
{{- $data := dict -}}
{{- $rpc := .Values.rpc -}}
{{- if include "sms.rpcAcceptsOwn" . -}}
{{- range $caller, $_ := include "sms.rpcCallers" . | fromYaml -}}
{{- $_ := set $data (printf "rpc-token-%s" $caller) (printf "%s/%s" $caller $rpc.token | sha256sum) -}}
{{- if $rpc.otherToken -}}
{{- $_ := set $data (printf "rpc-token-%s-other" $caller) (printf "%s/%s" $caller $rpc.otherToken | sha256sum) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if include "sms.rpcAcceptsShared" . -}}{{- $_ := set $data "rpc-token" $rpc.token -}}{{- end -}}
{{ toYaml $data }}
{{- end -}}

{{/* Variables for calls between services: the token that a component sends, and those that it accepts. (list root component) */}}
{{- define "sms.rpcEnv" -}}
{{- $root := index . 0 -}}
{{- $c := index . 1 -}}
{{- $shared := include "sms.credential" (list $root "rpc") | fromYaml -}}
{{- $permits := include "sms.rpcPermits" (list $root $c.name) | fromYaml -}}
{{- $acceptsShared := include "sms.rpcAcceptsShared" $root -}}
{{- if and $c.calls (include "sms.rpcSendsOwn" $root) }}
- name: RPC_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ $shared.secret }}
      key: {{ include "sms.rpcTokenKey" (list $root (include "sms.rpcCaller" $c.name)) }}
{{- else if and (or $c.calls $permits) $acceptsShared }}
- name: RPC_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ $shared.secret }}
      key: {{ $shared.key }}
{{- end }}
{{- if and $permits (include "sms.rpcAcceptsOwn" $root) }}
{{- $lists := deepCopy $permits }}
{{- range $caller, $_ := $permits }}
{{- $setting := $caller | upper | replace "-" "_" }}
- name: RPC_TOKEN_OF_{{ $setting }}
  valueFrom:
    secretKeyRef:
      name: {{ $shared.secret }}
      key: {{ include "sms.rpcTokenKey" (list $root $caller) }}
# There while the token is replaced.
- name: RPC_OTHER_TOKEN_OF_{{ $setting }}
  valueFrom:
    secretKeyRef:
      name: {{ $shared.secret }}
      key: {{ include "sms.rpcTokenKey" (list $root $caller) }}-other
      optional: true
{{- end }}
{{- if $acceptsShared }}
{{- $_ := set $lists "shared" (list "*") }}
- name: RPC_TOKEN_OF_SHARED
  valueFrom:
    secretKeyRef:
      name: {{ $shared.secret }}
      key: {{ $shared.key }}
{{- end }}
- name: RPC_CALLERS
  value: {{ toJson $lists | squote }}
{{- end }}
{{- with $root.Values.rpc.callers }}
{{- if and .existingSecret $permits }}
- name: RPC_TOKENS
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret }}
      key: {{ .existingSecretKey }}
{{- end }}
{{- end }}
{{- end -}}
