// Package stomp tests the server with a client of STOMP that is not ours: go-stomp.
package stomp
