{{- define "leakmon.selector" -}}
app.kubernetes.io/name: leakmon
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "leakmon.labels" -}}
{{ include "leakmon.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* "true" where the Prometheus operator is. */}}
{{- define "leakmon.operator" -}}
{{- if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1" }}true{{ end }}
{{- end }}

{{- define "leakmon.http" -}}
{{- if eq (toString .Values.http.enabled) "auto" }}{{ include "leakmon.operator" . }}{{ else if .Values.http.enabled }}true{{ end }}
{{- end }}

{{- define "leakmon.alerts" -}}
{{- if eq (toString .Values.alerts.enabled) "auto" }}{{ include "leakmon.operator" . }}{{ else if .Values.alerts.enabled }}true{{ end }}
{{- end }}

{{- define "leakmon.account" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default .Release.Name }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "leakmon.metadata" -}}
name: {{ .Release.Name }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "leakmon.labels" . | nindent 2 }}
{{- end }}
