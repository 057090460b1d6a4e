package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// byes gives the close codes that a connection was sent.
func byes(t *testing.T, c *conn) (codes []uint32) {
	t.Helper()
	for _, f := range sent(t, c) {
		if f.Bye != nil {
			codes = append(codes, f.Bye.Code)
		}
	}
	return codes
}

// watched has the wheel check a connection for some seconds; second is called in each, and returns whether the process runs.
func watched(t *testing.T, ready bool, seconds int, second func(c *conn, s int) (runs bool)) (codes []uint32, at int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, _ := bench(t)
		s := c.server
		s.config.LongestHeartbeat = 2 * time.Minute
		c.state, c.opened = stateOf(ready), s.now.Load()
		c.lastInput.Store(s.now.Load())
		s.wheel.schedule(c, s.now.Load()+uint32(s.config.AuthWithin.Seconds()))
		for i := range seconds {
			time.Sleep(time.Second)
			if second(c, i+1) {
				s.tick()
			}
			if codes = byes(t, c); codes != nil {
				at = i + 1
				return
			}
		}
	})
	return codes, at
}

// A connection without credentials, or without any input, is closed with a code at the documented time.
func TestSilentConnectionsAreClosed(t *testing.T) {
	for name, test := range map[string]struct {
		ready  bool
		second func(c *conn, s int) bool
		code   uint32
		at     int
	}{
		"no first frame":                      {false, func(*conn, int) bool { return true }, closeAuth, 10},
		"pings, but no first frame":           {false, func(c *conn, _ int) bool { ping(c, true); return true }, closeAuth, 10},
		"nothing":                             {true, func(*conn, int) bool { return true }, closeSilent, 30},
		"nothing after a while":               {true, func(c *conn, s int) bool { ping(c, s <= 50); return true }, closeSilent, 79},
		"a ping now and then":                 {true, func(c *conn, s int) bool { ping(c, s%29 == 0); return true }, 0, 0},
		"the process stands still":            {true, func(c *conn, s int) bool { ping(c, s <= 29 || s > 95); return s <= 29 || s > 90 }, 0, 0},
		"and then nothing comes":              {true, func(_ *conn, s int) bool { return s <= 29 || s > 90 }, closeSilent, 91 + 30},
		"nothing after a ping that said so":   {true, func(c *conn, s int) bool { announce(t, c, s == 5, 90_000); return true }, closeSilent, 5 + 90 + 29},
		"nothing after a ping that said more": {true, func(c *conn, s int) bool { announce(t, c, s == 5, 1<<31); return true }, closeSilent, 5 + 120 + 29},
		"pings that come as announced":        {true, func(c *conn, s int) bool { announce(t, c, s%100 == 0 || s == 5, 100_000); return true }, 0, 0},
		"it is in the foreground again":       {true, func(c *conn, s int) bool { announce(t, c, s == 5, 90_000); announce(t, c, s == 50, 0); return true }, closeSilent, 50 + 29},
		"and it was not greeted before":       {false, func(_ *conn, s int) bool { return s <= 9 || s > 90 }, closeAuth, 91 + 10},
	} {
		t.Run(name, func(t *testing.T) {
			codes, at := watched(t, test.ready, 200, test.second)
			want := []uint32(nil)
			if test.code != 0 {
				want = []uint32{test.code}
			}
			if !slices.Equal(codes, want) || at < test.at || at > test.at+1 {
				t.Errorf("closed with %v in second %d, want %v in %d", codes, at, want, test.at)
			}
		})
	}
}

// announce sends a ping that says when the next one comes.
func announce(t *testing.T, c *conn, now bool, nextMs uint32) {
	if now {
		if err := c.handle(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{NextMs: nextMs}}, 0); err != nil {
			t.Error(err)
		}
		c.lastInput.Store(c.server.now.Load())
	}
}

func ping(c *conn, now bool) {
	if now {
		c.read(masked(0x89, ""))
	}
}

// Connections above the node's limit are refused with a reason and a retry delay; below it their credentials are checked.
func TestConnectionsAboveNodeLimitAreRefused(t *testing.T) {
	c, _ := bench(t)
	s := c.server
	s.config.MaxConnections = 5
	for open, want := range map[int64]struct {
		status int
		reason string
	}{5: {http.StatusServiceUnavailable, "full"}, 6: {http.StatusServiceUnavailable, "full"}, 4: {http.StatusUnauthorized, "no_user"}} {
		s.stats.Connections.Store(open)
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/socket", nil)
		r.Header.Set("Upgrade", "websocket")
		r.Header.Set("Authorization", "Bearer x")
		s.ServeHTTP(w, r)
		var e struct{ Reason string }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != want.status || e.Reason != want.reason {
			t.Errorf("with %d connections: %d %s (%v), want %d %s", open, w.Code, w.Body, err, want.status, want.reason)
		}
		if retry := w.Header().Get("Retry-After"); (retry != "") != (want.status == 503) {
			t.Errorf("with %d connections: Retry-After %q", open, retry)
		}
	}
}

// A token in an address is refused, whatever its parameter is called, before it is verified: addresses end up in logs.
func TestTokensInAddressesAreRefused(t *testing.T) {
	c, _ := bench(t)
	for query, want := range map[string]string{"accessToken=x": "token_in_url", "access_token=x": "token_in_url", "Access-Token=x": "token_in_url", "token=": "token_in_url",
		"ticket=x&jwt=y": "token_in_url", "authorization=Bearer+x": "token_in_url", "ticket=x": "no_user", "ticket=x" + strings.Repeat("&a", 31): "no_user", "ticket=x" + strings.Repeat("&a", 32): "bad_url", "ticket=" + strings.Repeat("x", 4090): "bad_url"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/socket?"+query, nil)
		r.Header.Set("Upgrade", "websocket")
		c.server.ServeHTTP(w, r)
		var e struct{ Reason string }
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Reason != want {
			t.Errorf("?%s is answered %d %s (%v), want %s", query, w.Code, w.Body, err, want)
		}
	}
}
