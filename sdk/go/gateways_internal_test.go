package rialto

import (
	"testing"
	"time"
)

// Where the deployment's address has TLS, tokens go to no gateway without it.
func TestGatewaysDoNotTakeTLSAway(t *testing.T) {
	for _, test := range []struct {
		url, address string
		want         bool
	}{
		{"https://chat.example.com", "wss://n1.example.com/v1/socket", true},
		{"https://chat.example.com", "ws://n1.example.com/v1/socket", false},
		{"http://127.0.0.1:7070", "ws://127.0.0.1:7071/v1/socket", true},
		{"http://127.0.0.1:7070", "wss://n1.example.com/v1/socket", true},
		{"http://127.0.0.1:7070", "file:///etc/passwd", false},
		{"http://127.0.0.1:7070", "", false},
	} {
		g := newGateways(&Config{URL: test.url})
		if got := g.accepts(test.address); got != test.want {
			t.Errorf("with %s, %q is accepted: %v", test.url, test.address, got)
		}
	}
}

// Gateways that failed are tried in turn, the one that failed longest ago first.
func TestGatewaysThatFailedAreTriedInTurn(t *testing.T) {
	g := newGateways(&Config{URL: "http://own", Discover: true})
	g.list, g.askAt = []string{"ws://a", "ws://b"}, time.Now().Add(time.Hour)
	begin := time.Now()
	for i, want := range []string{"ws://a", "ws://b", "ws://own/v1/socket", "ws://a", "ws://b"} {
		if got := g.next(t.Context()); got != want {
			t.Errorf("try %d goes to %s, want %s", i, got, want)
		}
		others := g.fail()
		if want := i < 2; others != want {
			t.Errorf("after try %d there are others that have not failed: %v", i, others)
		}
		g.failed[g.current] = begin.Add(time.Duration(i) * time.Second) // clocks may not have moved
	}
	g.opened("b")
	if got := g.next(t.Context()); got != "ws://b" || g.list[0] != "ws://b" || g.previous != "b" {
		t.Errorf("after a connection to b: %s of %v, previous %s", got, g.list, g.previous)
	}
}
