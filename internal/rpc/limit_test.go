package rpc_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/rpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// from makes a call without credentials from an address; forwarded is what proxies say.
func (h *house) from(peer, method string, m proto.Message, forwarded ...string) answer {
	h.t.Helper()
	body, err := protojson.Marshal(m)
	if err != nil {
		h.t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodPost, method, bytes.NewReader(body))
	r.RemoteAddr = peer
	r.Header.Set("Content-Type", asJSON)
	r.Header["X-Forwarded-For"] = forwarded
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

// TestGuessesOfOneAddress: one password tried on many handles, each of which is tried once only.
func TestGuessesOfOneAddress(t *testing.T) {
	h := newHouse(t)
	const peer = "192.0.2.7:1234"
	guess := func(peer string, n int, forwarded ...string) answer {
		return h.from(peer, accounts+"Refresh", &accountv1.RefreshRequest{RefreshToken: fmt.Sprint(strings.Repeat("x", 300), n)}, forwarded...)
	}
	good := &accountv1.LoginRequest{Handle: "anna", Password: "a good password"}
	if got := h.from(peer, accounts+"Register", &accountv1.RegisterRequest{Handle: good.Handle, Password: good.Password}); got.status != http.StatusOK {
		t.Fatal(got)
	}
	for range 5 { // what is right is not counted
		if got := h.from(peer, accounts+"Login", good); got.status != http.StatusOK {
			t.Fatal(got)
		}
	}
	for n := range 99 { // with the registration, 100
		if got := guess(peer, n); got.status != http.StatusUnauthorized {
			t.Fatalf("guess %d: %d %s", n, got.status, got.body)
		}
	}
	for what, got := range map[string]answer{"a guess": guess("192.0.2.7:999", 0), "a login": h.from(peer, accounts+"Login", good), "a registration": h.from(peer, accounts+"Register", &accountv1.RegisterRequest{Handle: "bert", Password: good.Password}),
		"a proxy's word that nobody asked for": guess(peer, 1, "198.51.100.1"), "an address in the other form": guess("[::ffff:192.0.2.7]:1", 1)} {
		if got.status != http.StatusTooManyRequests || got.reason() != "too_many_logins" || got.header.Get("Retry-After") != "60" {
			t.Errorf("%s beyond the limit: %d %s", what, got.status, got.body)
		}
	}
	if got := guess("192.0.2.8:1234", 0); got.status != http.StatusUnauthorized {
		t.Errorf("another address: %d %s", got.status, got.body)
	}
	// Who has a token already is not held up.
	if got := h.call(accounts+"ListSessions", &accountv1.ListSessionsRequest{}, bearer(h.person("carol").AccessToken)); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	h.clock.ms.Add(time.Minute.Milliseconds())
	if got := h.from(peer, accounts+"Login", good); got.status != http.StatusOK {
		t.Errorf("after a minute: %d %s", got.status, got.body)
	}
}

// TestWhoseGuessesTheyAre: the client behind a proxy that is known to be one, and never what a client says of itself.
func TestWhoseGuessesTheyAre(t *testing.T) {
	h := newHouse(t)
	for name, c := range map[string]struct {
		proxied bool
		// peer and what it says: the same for all, or with %d for another each time.
		peer, forwarded string
		limited         bool
	}{
		"a program on this machine":           {false, "127.0.0.1:80", "", false},
		"a proxy on this machine":             {false, "127.0.0.1:80", "192.0.2.1", true},
		"a proxy on this machine, IPv6":       {false, "[::1]:80", "2001:db8::1", true},
		"its clients":                         {false, "127.0.0.1:80", "192.0.2.%d", false},
		"a client that adds words of its own": {false, "127.0.0.1:80", "10.0.0.%d, 192.0.2.1", true},
		"one who changes what it says":        {false, "203.0.113.1:80", "192.0.2.%d", true},
		"one network of IPv6":                 {false, "[2001:db8::%x]:80", "", true},
		"many networks of IPv6":               {false, "[2001:db8:0:%x::1]:80", "", false},
		"a proxy elsewhere":                   {true, "10.0.0.1:80", "192.0.2.1", true},
		"its clients, too":                    {true, "10.0.0.1:80", "192.0.2.%d", false},
		"no address":                          {false, "@", "", false},
		"a word that is no address":           {false, "127.0.0.1:80", "unknown", false},
	} {
		t.Run(name, func(t *testing.T) {
			h.deps.Proxied = c.proxied
			h.Server = rpc.New(h.deps) // which has counted nothing
			var got answer
			for n := range 102 {
				with := func(s string) string {
					if strings.Contains(s, "%") {
						return fmt.Sprintf(s, n+1)
					}
					return s
				}
				var forwarded []string
				if c.forwarded != "" {
					forwarded = []string{with(c.forwarded)}
				}
				got = h.from(with(c.peer), accounts+"Refresh", &accountv1.RefreshRequest{RefreshToken: strings.Repeat("x", 300)}, forwarded...)
			}
			if limited := got.reason() == "too_many_logins"; limited != c.limited {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
}

// Who guesses through all nodes has the limit once, rounded up for each node.
func TestGuessesOverManyNodes(t *testing.T) {
	for nodes, want := range map[int]int{1: 100, 3: 34, 30: 20} {
		if got := rpc.Share(nodes); got != want {
			t.Errorf("of %d nodes each admits %d guesses of an address, want %d", nodes, got, want)
		}
	}
}
