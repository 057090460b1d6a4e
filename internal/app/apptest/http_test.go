package apptest_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
)

// exchange writes bytes to a new connection, and returns the status of each answer until the server closes it.
func exchange(t *testing.T, h *apptest.Server, request string) (statuses []int, bodies string) {
	t.Helper()
	c, err := net.Dial("tcp", h.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() { _, _ = io.WriteString(c, request) }() // ends with the connection; the server may refuse before everything is written
	in := bufio.NewReader(c)
	for {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses, bodies
		}
		b, err := io.ReadAll(res.Body)
		statuses, bodies = append(statuses, res.StatusCode), bodies+string(b)
		if err != nil || res.Close {
			return statuses, bodies
		}
	}
}

// Ambiguous requests are refused, or parsed in the only way that cannot be abused for request smuggling.
func TestAmbiguousRequestsAreRefused(t *testing.T) {
	h := apptest.Open(t, nil)
	const (
		call   = "POST /rialto.account.v1.AccountService/Login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
		hidden = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
		last   = "Connection: close\r\n"
	)
	for _, c := range []struct {
		name, request string
		statuses      []int
	}{
		{"a plain request", "GET /healthz HTTP/1.1\r\nHost: a\r\n" + last + "\r\n", []int{200}},
		{"another's name", "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n" + last + "\r\n", []int{200}},
		{"no name", "GET /healthz HTTP/1.1\r\n\r\n", []int{400}},
		{"two names", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", []int{400}},
		{"two lengths", call + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}" + hidden, []int{400}},
		{"a negative length", call + "Content-Length: -1\r\n\r\n{}", []int{400}},
		{"a length with a sign", call + "Content-Length: +2\r\n\r\n{}", []int{400}},
		{"chunks and a length: chunks win, and the connection ends", call + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + hidden, []int{401}},
		{"an unknown transfer encoding", call + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden, []int{501}},
		{"chunks twice", call + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, []int{501}},
		{"chunks after another encoding", call + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + hidden, []int{501}},
		{"space before the colon", "GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n", []int{400}},
		{"a name with a line in it", "GET /healthz HTTP/1.1\r\nHost: a\r\nX-\x00: b\r\n\r\n", []int{400}},
		{"a value with a null", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: b\x00c\r\n\r\n", []int{400}},
		{"an unknown version", "GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n", []int{505}},
		{"a tunnel", "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n" + last + "\r\n", []int{405}},
		{"a proxy's request", "GET http://127.0.0.1:1/healthz HTTP/1.1\r\nHost: 127.0.0.1:1\r\n" + last + "\r\n", []int{200}},
		{"a proxy's preface", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
		{"a header over two lines", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n" + last + "\r\n", []int{200}},
		{"a length over two lines", call + "Content-Length:\r\n 2\r\n" + last + "\r\n{}", []int{401}},
		{"an empty line before a request", "\r\n" + hidden, []int{400}},
		{"three requests, with a body and chunks, after which the connection ends", call + "Content-Length: 2\r\n\r\n{}" + call + "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\nX: y\r\n\r\n" + hidden, []int{401, 401}},
		{"lines in a body", call + "Content-Length: 8\r\n\r\n{ \n\n   }" + hidden, []int{401, 200}},
		{"lines in a chunk", call + "Transfer-Encoding: chunked\r\n\r\n8\r\n{ \n\n   }\r\n0\r\n\r\n" + hidden, []int{401}},
		{"a second line before the first header", "GET /healthz HTTP/1.1\r\n Host: a\r\n\r\n", []int{400}},
		{"lines without a carriage return: unambiguous, nothing is smuggled", "GET /healthz HTTP/1.1\nHost: a\nConnection: close\n\n" + hidden, []int{200}},
		{"a carriage return alone in a value", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: b\rContent-Length: 5\r\n\r\n", []int{400}},
		{"64 KiB of address", "GET /" + strings.Repeat("a", 80<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", []int{431}},
		{"1 MiB of headers", "GET /healthz HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X-Long: "+strings.Repeat("a", 1000)+"\r\n", 1000) + "\r\n", []int{431}},
		{"10,000 headers", "GET /healthz HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A: b\r\n", 20_000) + "\r\n", []int{431}},
		{"TLS on the plain port", "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + strings.Repeat("\x00", 100) + "\r\n\r\n", []int{400}},
		{"a socket without a version", "GET /v1/socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", []int{400}},
		{"a socket without a key", "GET /v1/socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n", []int{400}},
		{"a socket by POST", "POST /v1/socket HTTP/1.1\r\nHost: a\r\n" + last + "Upgrade: websocket\r\nContent-Length: 0\r\n\r\n", []int{400}},
	} {
		if got, body := exchange(t, h, c.request); !slices.Equal(got, c.statuses) || strings.Contains(body, "goroutine ") {
			t.Errorf("%s: got statuses %v, want %v: %.200s", c.name, got, c.statuses, body)
		}
	}
	// A TLS port without a TLS handshake.
	s := apptest.OpenTLS(t)
	if got, _ := exchange(t, s, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); !slices.Equal(got, []int{400}) {
		t.Errorf("plain HTTP on the TLS port: got %v, want only the status 400", got)
	}
	if c, err := tls.Dial("tcp", s.Address().String(), &tls.Config{RootCAs: s.TLS.RootCAs, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Errorf("TLS 1.1: got accepted, %v", c.Close())
	}
}

// No path leads outside of the served files.
func TestPathsDoNotLeaveTheServedFiles(t *testing.T) {
	h := apptest.Open(t, nil)
	for _, path := range []string{
		"/../../../../etc/passwd", "/..%2f..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%5c..%5cetc%5cpasswd", "/%252e%252e/etc/passwd", "//etc/passwd", "/assets/../../../etc/passwd",
		"/assets/..%2f..%2f..%2fetc%2fpasswd", "/v1/media/../../../etc/passwd", "/v1/media/..%2f..%2f..%2fetc%2fpasswd", "/v1/media/%00", "/%00", "/etc/passwd%00.html", "/./.git/config", "/records.db", "/v1/media/records.db", "/LOCK",
	} {
		got, body := exchange(t, h, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", path))
		if len(got) != 1 || got[0] >= 500 || strings.Contains(body, "root:") || strings.Contains(body, "SQLite") || strings.Contains(body, "[core]") {
			t.Errorf("path %s: got %v %.100s", path, got, body)
		}
	}
}
