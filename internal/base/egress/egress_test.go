package egress_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// canary is a server on this machine that counts its connections.
type canary struct {
	*httptest.Server
	connections atomic.Int64
	port        string
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	c := &canary{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "secret") }))
	c.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			c.connections.Add(1)
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	u, err := url.Parse(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	c.port = u.Port()
	return c
}

func get(t *testing.T, c *egress.Client, to string) (*egress.Answer, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(r, nil)
}

// names is a resolver whose answers are given by a function: the addresses of a name.
func names(answer func(name string) []netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe() // a stream: each message has its length before it
		go func() {
			defer server.Close()
			for {
				var size [2]byte
				if _, err := server.Read(size[:]); err != nil {
					return
				}
				question := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := server.Read(question); err != nil {
					return
				}
				if _, err := server.Write(reply(question, answer)); err != nil {
					return
				}
			}
		}()
		return client, nil
	}}
}

// reply to a DNS question, with its length before it.
func reply(question []byte, answer func(name string) []netip.Addr) []byte {
	var labels []string
	i := 12
	for question[i] > 0 {
		n := int(question[i])
		labels = append(labels, string(question[i+1:i+1+n]))
		i += n + 1
	}
	kind := binary.BigEndian.Uint16(question[i+1:])
	query := question[12 : i+5]
	var records []byte
	count := uint16(0)
	for _, ip := range answer(strings.Join(labels, ".")) {
		if ip.Is4() != (kind == 1) || kind != 1 && kind != 28 {
			continue
		}
		count++
		records = append(records, 0xc0, 12)
		records = binary.BigEndian.AppendUint16(records, kind)
		records = append(records, 0, 1, 0, 0, 0, 0) // IN, and good for no second
		records = binary.BigEndian.AppendUint16(records, uint16(len(ip.AsSlice())))
		records = append(records, ip.AsSlice()...)
	}
	m := append([]byte{}, question[:2]...)
	m = append(m, 0x81, 0x80, 0, 1)
	m = binary.BigEndian.AppendUint16(m, count)
	m = append(m, 0, 0, 0, 0)
	m = append(append(m, query...), records...)
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(m))), m...)
}

// The client connects to no private address unless allow_private is set, and never to link-local, multicast and reserved addresses.
func TestResolvedAddressesAreRestricted(t *testing.T) {
	c := newCanary(t)
	const refused, bySetting = "is not the address of a server", "set allow_private"
	for address, want := range map[string]string{
		"127.0.0.1": bySetting, "127.8.9.10": bySetting, "::1": bySetting, "::ffff:127.0.0.1": bySetting, "10.0.0.1": bySetting, "172.16.0.1": bySetting, "172.31.255.255": bySetting,
		"192.168.1.1": bySetting, "100.64.0.1": bySetting, "fc00::1": bySetting, "fdab::1": bySetting, "64:ff9b::127.0.0.1": bySetting, "64:ff9b::10.0.0.1": bySetting,
		"0.0.0.0": refused, "0.1.2.3": refused, "169.254.169.254": refused, "::ffff:169.254.169.254": refused, "64:ff9b::169.254.169.254": refused, "192.0.0.8": refused, "198.18.0.1": refused,
		"224.0.0.1": refused, "255.255.255.255": refused, "::": refused, "::7f00:1": refused, "fe80::1": refused, "fec0::1": refused, "ff02::1": refused, "2002:7f00:1::": refused,
		"2001::1": refused, "2001:db8::1": refused, "64:ff9b:1::1": refused,
	} {
		ip := netip.MustParseAddr(address)
		for _, allow := range []bool{false, true} {
			if allow && want == bySetting {
				continue // the connection would be allowed: see below
			}
			client, err := egress.New(egress.Config{Kind: outgoing.CodeWebhook, URL: "https://hooks.example.com:" + c.port, AllowPrivate: allow})
			if err != nil {
				t.Fatal(err)
			}
			client.Resolve(names(func(string) []netip.Addr { return []netip.Addr{ip} }))
			if _, err := get(t, client, "https://hooks.example.com:"+c.port); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s (allow_private %v): %v; want %q", address, allow, err, want)
			}
		}
	}
	if n := c.connections.Load(); n > 0 {
		t.Errorf("got %d connections, want none", n)
	}
}

// A name is resolved once for a connection, and the resulting address is both checked and used.
func TestNamesAreResolvedOncePerConnection(t *testing.T) {
	c := newCanary(t)
	lookups := atomic.Int64{}
	client, err := egress.New(egress.Config{Kind: outgoing.CodeWebhook, URL: "https://hooks.example.com:" + c.port})
	if err != nil {
		t.Fatal(err)
	}
	client.Resolve(names(func(string) []netip.Addr {
		if lookups.Add(1) <= 2 { // A and AAAA
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	}))
	for range 3 {
		if _, err := get(t, client, "https://hooks.example.com:"+c.port); err == nil {
			t.Error("the request succeeded after the name changed to a private address")
		}
	}
	if lookups.Load() < 4 || c.connections.Load() > 0 {
		t.Errorf("%d lookups and %d connections", lookups.Load(), c.connections.Load())
	}
}

// Addresses that the operator wrote down are connected to, and no others in their names.
func TestConfiguredAddresses(t *testing.T) {
	c := newCanary(t)
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "[::ffff:127.0.0.1]"} {
		to := "http://" + host + ":" + c.port
		client, err := egress.New(egress.Config{Kind: outgoing.CodeWebhook, URL: to})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := get(t, client, to+"/path"); err != nil || a.Status != http.StatusOK || string(a.Body) != "secret" {
			t.Errorf("a request to %s returned %v, %v, want 200 and the body", to, a, err)
		}
		client.Close()
	}
	before := c.connections.Load()
	client, err := egress.New(egress.Config{Kind: outgoing.CodeWebhook, URL: "https://10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{c.URL, "http://10.0.0.1", "https://10.0.0.1:" + c.port, "https://127.0.0.1:" + c.port, "https://evil@127.0.0.1"} {
		if _, err := get(t, client, to); err == nil || !strings.Contains(err.Error(), "by a client of https://10.0.0.1") {
			t.Errorf("%s: error %v, want one that contains 'by a client of https://10.0.0.1'", to, err)
		}
	}
	allowed, err := egress.New(egress.Config{Kind: outgoing.CodeWebhook, URL: "https://hooks.example.com:" + c.port, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	allowed.Resolve(names(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} }))
	if _, err := get(t, allowed, "https://hooks.example.com:"+c.port); err == nil || c.connections.Load() != before+1 {
		t.Errorf("where it is allowed: %d connections more, %v; want one, and that it speaks no TLS", c.connections.Load()-before, err)
	}
}

func TestInvalidAddresses(t *testing.T) {
	for _, bad := range []string{"", "example.com", "https://", "https://user@example.com", "https://user:pass@127.0.0.1/", "http://example.com", "http://10.0.0.1", "http://0.0.0.0", "ftp://127.0.0.1", "file:///etc/passwd",
		"gopher://127.0.0.1:6379", "unix:///run/docker.sock", "https://169.254.169.254/latest/meta-data", "https://[fe80::1]", "https://0.0.0.0", "https://[::]", "https://2130706433", "https://0x7f000001", "https://0177.0.0.1",
		"https://127.1", "https://127.0.0.1.", "https://[::ffff:169.254.169.254]", "https://[64:ff9b::a9fe:a9fe]", "https://[2002:7f00:1::]", "http://localhost.example.com", "http://127.0.0.1.example.com"} {
		if err := egress.CheckURL(bad); err == nil {
			t.Errorf("CheckURL accepts %s", bad)
		}
		if _, err := egress.New(egress.Config{Kind: outgoing.CodeWebhook, URL: bad}); err == nil {
			t.Errorf("New accepts %s", bad)
		}
	}
	for _, good := range []string{"https://example.com/path", "https://10.0.0.1:8443", "https://[fd00::1]", "http://127.0.0.1:80", "http://[::1]", "http://localhost:7000/x", "https://hooks"} {
		if err := egress.CheckURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

// No redirect is followed, no proxy is used, no answer is decompressed, and the length of answers is bounded.
func TestAnswersAreBounded(t *testing.T) {
	c := newCanary(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(make([]byte, 1<<20)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, c.URL, http.StatusTemporaryRedirect)
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		case "/head":
			w.Header().Set("X", strings.Repeat("x", 100<<10))
		default:
			_, _ = w.Write(make([]byte, len(r.URL.RawQuery)))
		}
	}))
	defer server.Close()
	client, err := egress.New(egress.Config{Kind: outgoing.CodeWebhook, URL: server.URL, MaxAnswer: 5000})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if a, err := get(t, client, server.URL+"/redirect"); err != nil || a.Status != http.StatusTemporaryRedirect || c.connections.Load() != 0 {
		t.Errorf("%v, %v, %d connections", a, err, c.connections.Load())
	}
	if a, err := get(t, client, server.URL+"/bomb"); err != nil || len(a.Body) != packed.Len() {
		t.Errorf("the answer is not the %d bytes that were sent; error %v", packed.Len(), err)
	}
	if _, err := get(t, client, server.URL+"/head"); err == nil {
		t.Error("an endless head was read")
	}
	if a, err := get(t, client, server.URL+"/?"+strings.Repeat("x", 5000)); err != nil || len(a.Body) != 5000 {
		t.Errorf("the answer does not have 5000 bytes; error %v", err)
	}
	if _, err := get(t, client, server.URL+"/?"+strings.Repeat("x", 5001)); err == nil || !strings.Contains(err.Error(), "more than 5000 bytes") {
		t.Errorf("a long answer: %v", err)
	}
	if client.Transport().Proxy != nil {
		t.Error("a proxy of the environment would be used")
	}
}

// A server that sends its answer byte by byte, or none, delays a request no longer than the timeout.
func TestSlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := egress.New(egress.Config{Kind: outgoing.CodeWebhook, URL: "http://127.0.0.1", Timeout: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var server sync.WaitGroup
		client.Transport().DialContext = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			server.Add(1)
			go func() {
				defer server.Done()
				defer far.Close()
				if _, err := far.Read(make([]byte, 4096)); err != nil {
					return
				}
				_, err := far.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"))
				for err == nil {
					time.Sleep(time.Second)
					_, err = far.Write([]byte("x"))
				}
			}()
			return near, nil
		}
		defer server.Wait()
		began := time.Now()
		if _, err := get(t, client, "http://127.0.0.1/"); err == nil || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
