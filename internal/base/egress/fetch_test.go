package egress_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
)

func fetch(t *testing.T, f *egress.Fetcher, to string) (*egress.Document, error) {
	t.Helper()
	return f.Fetch(t.Context(), egress.Request{URL: to, Types: []string{"text/html"}, MaxBody: 1000})
}

// hostOf returns the host and port of a test server.
func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// A fetch connects to public addresses only, however they are written or resolved.
func TestFetchesStayOutOfTheNetwork(t *testing.T) {
	c := newCanary(t)
	f := egress.NewFetcher(egress.FetchConfig{})
	for _, address := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fc00::1", "64:ff9b::10.0.0.1", "0.0.0.0",
		"169.254.169.254", "::ffff:169.254.169.254", "224.0.0.1", "::", "fe80::1", "2002:7f00:1::", "2001:db8::1"} {
		f.Resolve(names(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(address)} }))
		if _, err := fetch(t, f, "http://page.example.com/"); err == nil || !strings.Contains(err.Error(), "is not a public address") {
			t.Errorf("%s: error %v, want one that contains 'is not a public address'", address, err)
		}
		literal := "http://" + netip.AddrPortFrom(netip.MustParseAddr(address), 80).String()
		if _, err := fetch(t, f, literal); err == nil || !strings.Contains(err.Error(), "is not a public address") {
			t.Errorf("%s: error %v, want one that contains 'is not a public address'", literal, err)
		}
	}
	for _, bad := range []string{"", "page.example.com", "ftp://page.example.com", "file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "http://user@page.example.com", "http://page.example.com:22", "https://page.example.com:25", "http://page.example.com.:6379", "http://page.example.com:" + c.port,
		c.URL, "http://localhost:" + c.port, "http://2130706433", "http://0x7f000001", "http://0177.0.0.1", "http://127.1", "http://127.0.0.1.", "https:page.example.com",
		"unix:///var/run/docker.sock", "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "http:///var/run/docker.sock"} {
		if _, err := fetch(t, f, bad); err == nil {
			t.Errorf("%s was fetched", bad)
		}
	}
	// Spellings of a name, and of an address that only a client of HTTP reads as one, lead to the check of the address as well.
	f.Resolve(names(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} }))
	for _, spelling := range []string{"http://page.example.com./", "http://PAGE.example.com", "http://p\u0430ge.example.com", "http://127.0.0.\uff11", "http://127\u30020\u30020\u30021", "http://127.0.0.\u2460"} {
		if _, err := fetch(t, f, spelling); err == nil || !strings.Contains(err.Error(), "is not a public address") {
			t.Errorf("%s: error %v, want one that contains 'is not a public address'", spelling, err)
		}
	}
	if n := c.connections.Load(); n > 0 {
		t.Errorf("got %d connections, want none", n)
	}
}

// Nothing is fetched from the names of this deployment itself, however they are written, and not by a redirect. They come before internal hosts.
func TestFetchesLeaveOutOwnHosts(t *testing.T) {
	asked := atomic.Int64{}
	own := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer own.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://chat.example.com:"+strings.Split(hostOf(t, own.URL), ":")[1], http.StatusFound)
	}))
	defer other.Close()
	port := ":" + strings.Split(hostOf(t, own.URL), ":")[1]
	f := egress.NewFetcher(egress.FetchConfig{InternalHosts: []string{"chat.example.com" + port, hostOf(t, other.URL)}, OwnHosts: []string{"chat.example.com"}})
	f.Resolve(names(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} }))
	for _, address := range []string{"http://chat.example.com" + port, "http://CHAT.example.com" + port, "https://chat.example.com", "http://chat.example.com." + port, other.URL} {
		if _, err := fetch(t, f, address); err == nil || !strings.Contains(err.Error(), "is this server") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the own server got %d requests, want none", n)
	}
}

// Nothing is fetched from a server whose certificate is not valid for its name, or that speaks no TLS.
func TestFetchesCheckCertificates(t *testing.T) {
	asked := atomic.Int64{}
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/html")
	})
	secure, plain := httptest.NewUnstartedServer(page), httptest.NewServer(page)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	defer plain.Close()
	f := egress.NewFetcher(egress.FetchConfig{InternalHosts: []string{hostOf(t, secure.URL), hostOf(t, plain.URL)}})
	for _, address := range []string{secure.URL, "https://" + hostOf(t, plain.URL)} {
		if d, err := fetch(t, f, address); err == nil {
			t.Errorf("%s: %q was fetched", address, d.Body)
		}
	}
	if asked.Load() > 0 {
		t.Error("a request was sent to a server that is not who it says")
	}
}

// A name is resolved for each connection, and the address that was checked is the one that is used.
func TestFetchesCheckTheAddressThatTheyUse(t *testing.T) {
	c := newCanary(t)
	lookups := atomic.Int64{}
	f := egress.NewFetcher(egress.FetchConfig{Timeout: time.Second})
	f.Resolve(names(func(string) []netip.Addr {
		if lookups.Add(1) <= 2 { // A and AAAA
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	}))
	for range 3 {
		if _, err := fetch(t, f, "http://page.example.com/"); err == nil {
			t.Error("a page was fetched after its name changed to a private address")
		}
	}
	if lookups.Load() < 4 || c.connections.Load() > 0 {
		t.Errorf("%d lookups and %d connections", lookups.Load(), c.connections.Load())
	}
}

// Each redirect is checked as the first address was, and there are three at most.
func TestFetchesFollowCheckedRedirects(t *testing.T) {
	c := newCanary(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		n := 0
		switch _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); {
		case r.URL.Path == "/inside":
			http.Redirect(w, r, c.URL, http.StatusFound)
		case r.URL.Path == "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		case r.URL.Path == "/port":
			http.Redirect(w, r, "http://page.example.com:22/", http.StatusFound)
		case r.URL.Path == "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case r.URL.Path == "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case err == nil && n > 0:
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusMovedPermanently)
		default:
			fmt.Fprint(w, "page", r.Referer())
		}
	}))
	defer server.Close()
	f := egress.NewFetcher(egress.FetchConfig{InternalHosts: []string{hostOf(t, server.URL)}})
	if d, err := fetch(t, f, server.URL+"/3"); err != nil || string(d.Body) != "page" || d.URL.Path != "/0" || d.Type != "text/html" {
		t.Errorf("three redirects: %+v, %v", d, err)
	}
	for _, path := range []string{"/4", "/inside", "/metadata", "/file", "/loop"} {
		if d, err := fetch(t, f, server.URL+path); err == nil {
			t.Errorf("%s: %q was fetched", path, d.Body)
		}
	}
	f.Resolve(names(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} }))
	if _, err := fetch(t, f, server.URL+"/port"); err == nil || !strings.Contains(err.Error(), "port 22") {
		t.Errorf("a redirect to another port: %v", err)
	}
	if n := c.connections.Load(); n > 0 {
		t.Errorf("got %d connections to a server inside, want none", n)
	}
}

// A document has the wanted type and size, and is not compressed.
func TestFetchedDocumentsAreBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		case "/binary":
			w.Header().Set("Content-Type", "application/octet-stream")
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
		case "/endless":
			for i := 0; i < 1<<10 && r.Context().Err() == nil; i++ {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
			return
		case "/header":
			w.Header().Set("X", strings.Repeat("x", 100<<10))
		}
		_, _ = w.Write(bytes.Repeat([]byte("x"), len(r.URL.RawQuery)))
	}))
	defer server.Close()
	f := egress.NewFetcher(egress.FetchConfig{InternalHosts: []string{hostOf(t, server.URL)}})
	for _, path := range []string{"/missing", "/binary", "/bomb", "/endless", "/header", "/?" + strings.Repeat("x", 1001)} {
		if d, err := fetch(t, f, server.URL+path); err == nil {
			t.Errorf("%.20s: %d bytes were fetched", path, len(d.Body))
		}
	}
	if d, err := fetch(t, f, server.URL+"/?"+strings.Repeat("x", 1000)); err != nil || len(d.Body) != 1000 {
		t.Errorf("the longest document: %v", err)
	}
	d, err := f.Fetch(context.Background(), egress.Request{URL: server.URL + "/endless", Types: []string{"text/html"}, MaxBody: 1000, Truncate: true})
	if err != nil || len(d.Body) != 1000 {
		t.Errorf("the beginning of an endless document: %v", err)
	}
}

// A server that does not answer is given up after the timeout.
func TestFetchesEnd(t *testing.T) {
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>slow"))
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the client has gone
		close(gone)
	}))
	defer server.Close()
	f := egress.NewFetcher(egress.FetchConfig{InternalHosts: []string{hostOf(t, server.URL)}, Timeout: 50 * time.Millisecond})
	if d, err := fetch(t, f, server.URL); err == nil {
		t.Errorf("%q was fetched", d.Body)
	}
	<-gone
}

func TestInternalHosts(t *testing.T) {
	for _, bad := range []string{"", "https://wiki.example.com", "wiki.example.com/path", "user@wiki.example.com", ":80"} {
		if err := (egress.FetchConfig{InternalHosts: []string{bad}}).Check(); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if err := (egress.FetchConfig{InternalHosts: []string{"wiki.example.com", "10.0.0.7:8080", "[fd00::1]"}}).Check(); err != nil {
		t.Error(err)
	}
	f := egress.NewFetcher(egress.FetchConfig{InternalHosts: []string{"wiki.example.com"}, Timeout: 50 * time.Millisecond})
	f.Resolve(names(func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("169.254.169.254")} }))
	if _, err := fetch(t, f, "http://wiki.example.com"); err == nil || !strings.Contains(err.Error(), "is not a public address") {
		t.Errorf("an internal host with the address of the metadata service: %v", err)
	}
}
