// Package balance puts HAProxy, with the configuration that deploy/ has, in front of three nodes of one cluster, and stops nodes under
// clients that go on. All of it is tests.
package balance
