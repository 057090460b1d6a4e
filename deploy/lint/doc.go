// Package lint checks the files in deploy/ with the parsers of their tools (Compose, Kubernetes, Helm, HAProxy, systemd and Prometheus), and
// with the server itself, which validates each setting.
package lint
