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
