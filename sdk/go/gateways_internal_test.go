package rialto

import "testing"

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
