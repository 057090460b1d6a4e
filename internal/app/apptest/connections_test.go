package apptest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
)

// The number of unauthenticated connections of one address, here reported by a proxy, is limited. Authenticated connections and other addresses
// do not count. A connection that closes or authenticates frees its slot.
func TestTheConnectionsOfAnAddressAreLimited(t *testing.T) {
	h := apptest.Open(t, func(c *config.Config) { c.Input.UnauthenticatedPerAddress = 3 })
	alice := h.Register(t, "alice")
	dial := func(from, credentials string) (*wire, int) {
		t.Helper()
		header := http.Header{"X-Forwarded-For": {from}}
		if credentials != "" {
			header.Set("Authorization", "Bearer "+credentials)
		}
		status := 0
		d := ws.Dialer{Protocols: []string{"rialto.v1.json"}, Header: ws.HandshakeHeaderHTTP(header), OnStatusError: func(code int, _ []byte, _ io.Reader) { status = code }}
		conn, in, _, err := d.Dial(t.Context(), "ws"+strings.TrimPrefix(h.URL, "http")+"/v1/socket")
		if err != nil {
			return nil, status
		}
		t.Cleanup(func() { conn.Close() })
		if in == nil {
			in = bufio.NewReader(conn)
		}
		return &wire{conn, in}, 0
	}
	var open []*wire
	for range 3 {
		w, status := dial("192.0.2.1", "")
		if w == nil {
			t.Fatalf("connection refused: got status %d", status)
		}
		open = append(open, w)
	}
	if _, status := dial("192.0.2.1", ""); status != http.StatusTooManyRequests {
		t.Errorf("fourth connection of an address: got status %d", status)
	}
	if w, status := dial("192.0.2.2", ""); w == nil {
		t.Errorf("connection of another address: got status %d", status)
	}
	for range 5 {
		if w, status := dial("192.0.2.1", alice.AccessToken); w == nil {
			t.Errorf("connection with credentials: got status %d", status)
		}
	}
	// One connection authenticates, and one closes: two more are accepted.
	if _, err := open[0].Write(frame(final|text, fmt.Appendf(nil, `{"auth":{"accessToken":%q}}`, alice.AccessToken))); err != nil {
		t.Fatal(err)
	}
	if _, b, err := open[0].next(); err != nil || !strings.Contains(string(b), "hello") {
		t.Fatalf("authentication: got %s %v", b, err)
	}
	if _, err := open[1].Write(frame(final|end, []byte{3, 232})); err != nil {
		t.Fatal(err)
	}
	open[1].closed()
	open[1].Close()
	for range 2 {
		var w *wire
		for status := 0; w == nil; { // until the server has noticed
			if w, status = dial("192.0.2.1", ""); w == nil && status != http.StatusTooManyRequests {
				t.Fatalf("connection refused: got status %d", status)
			}
		}
	}
	if _, status := dial("192.0.2.1", ""); status != http.StatusTooManyRequests {
		t.Errorf("one connection too many: got status %d", status)
	}
}

// The total is limited: more connections are closed at once, until others end.
func TestTheTotalOfConnectionsIsLimited(t *testing.T) {
	h := apptest.Open(t, func(c *config.Config) { c.Input.UnauthenticatedConnections = 5 })
	address := h.Address().String()
	var open []net.Conn
	refused := func(c net.Conn) bool {
		_, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
		if err == nil {
			_, err = http.ReadResponse(bufio.NewReader(c), nil)
		}
		return err != nil
	}
	for n := range 6 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := refused(c); got != (n == 5) {
			t.Errorf("connection %d: got refused %v", n+1, got)
		}
		open = append(open, c)
	}
	open[0].Close()
	for more := true; more; { // until the server has noticed
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		more = refused(c)
	}
}
