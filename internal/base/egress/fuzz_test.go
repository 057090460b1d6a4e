package egress_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
)

// FuzzAddresses: an address that users or operators name is refused, or has the scheme, the port and the kind of host that are allowed, and no
// credentials. No spelling of a private IP address counts as a public one.
func FuzzAddresses(f *testing.F) {
	for _, text := range []string{"", "https://page.example.com/a?b#c", "http://page.example.com:22", "http://user@page.example.com", "http://2130706433", "http://0x7f000001", "http://127.1", "http://127.0.0.1.",
		"http://[::ffff:127.0.0.1]:80", "http://[fe80::1%25eth0]", "https:page.example.com", "http://\uff11\uff12\uff17.0.0.1", "//page.example.com", "http:///path", "file:///etc/passwd", "http://a:80:80", "http://.", "unix:///run/x.sock"} {
		f.Add(text, []byte{127, 0, 0, 1})
	}
	for _, ip := range []string{"10.0.0.1", "8.8.8.8", "::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b::ffff:a00:1", "2002:7f00:1::", "2001::1", "fe80::1", "2606:4700::1"} {
		f.Add("", netip.MustParseAddr(ip).AsSlice())
	}
	fetcher := egress.NewFetcher(egress.FetchConfig{})
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		u, err := url.Parse(text)
		if err == nil && fetcher.Permits(u) == nil {
			if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Hostname() == "" || !slices.Contains([]string{"", "80", "443"}, u.Port()) {
				t.Errorf("%q may be fetched", text)
			}
			checkHost(t, u.Hostname())
		}
		if egress.CheckURL(text) == nil {
			if err != nil || u.Scheme != "https" && (u.Scheme != "http" || !egress.IsPrivateHost(u.Hostname())) || u.User != nil || u.Hostname() == "" {
				t.Errorf("%q is accepted as the address of a server", text)
			}
			checkHost(t, u.Hostname())
			if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !egress.IsServer(ip) {
				t.Errorf("%q is accepted, which is no server", text)
			}
		}
		ip, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		if mapped := netip.AddrFrom16(ip.As16()); egress.IsPublic(mapped) != egress.IsPublic(ip) {
			t.Errorf("%s counts as another address than %s", mapped, ip)
		}
		inner := ip.Unmap()
		if inner.Is4() {
			embedded := netip.AddrFrom16([16]byte(append([]byte{0, 0x64, 0xff, 0x9b, 11: 0}, inner.AsSlice()...)))
			if egress.IsPublic(embedded) != egress.IsPublic(inner) {
				t.Errorf("%s counts as another address than %s", embedded, inner)
			}
		}
		hidden := !inner.IsGlobalUnicast() || inner.IsPrivate() || inner.IsLoopback() || inner.IsLinkLocalUnicast() || inner.IsMulticast() || inner.IsUnspecified() || inner.Zone() != ""
		if hidden && egress.IsPublic(ip) {
			t.Errorf("%s counts as public", ip)
		}
	})
}

// checkHost: a host is an IP address, or a name that no resolver takes for one.
func checkHost(t *testing.T, host string) {
	t.Helper()
	if _, err := netip.ParseAddr(host); err == nil {
		return
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	if last := labels[len(labels)-1]; last == "" || strings.Trim(last, "0123456789") == "" {
		t.Errorf("the host %q is neither an address nor a name", host)
	}
}

// FuzzRetryAfter: however a server asks for a pause, it is none, or a time in the future.
func FuzzRetryAfter(f *testing.F) {
	for _, text := range []string{"", "1", "-1", "1e9", "2147483647", "4294967296", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 02 Jan 0001 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", "\x00"} {
		f.Add(text)
	}
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, text string) {
		answer := egress.Answer{Header: http.Header{"Retry-After": {text}}}
		wait := answer.RetryAfter(now)
		if _, err := http.ParseTime(text); wait < 0 || wait > 0 && err != nil && strings.Trim(text, "0123456789") != "" {
			t.Errorf("%q is a pause of %v", text, wait)
		}
	})
}
