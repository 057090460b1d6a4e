// Package lint holds what is in deploy/ against the parsers of those who read it: Compose, Kubernetes, Helm, HAProxy, systemd and
// Prometheus, and against the server itself, which says whether it knows each setting. All of it is tests.
package lint
