// Package balance tests HAProxy, with the configuration in deploy/, in front of three nodes of a cluster: nodes are killed and stopped while
// clients continue.
package balance
