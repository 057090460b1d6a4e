{{- define "rialto.name" -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "rialto.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rialto.labels" -}}
{{ include "rialto.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "rialto.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "rialto.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "rialto.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "rialto.check" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.postgres.existingSecret) }}
{{- fail "several nodes share a database: give postgres.existingSecret" }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (not .Values.s3.bucket) }}
{{- fail "several nodes share a bucket for files: give s3.endpoint and s3.bucket" }}
{{- end }}
{{- if and .Values.s3.bucket (not .Values.s3.endpoint) }}
{{- fail "give s3.endpoint, the URL of the server that has the bucket" }}
{{- end }}
{{- if le (int .Values.terminationGracePeriodSeconds) (add .Values.drainSeconds 30 | int) }}
{{- fail "terminationGracePeriodSeconds must leave 30 seconds beyond drainSeconds" }}
{{- end }}
{{- end }}
