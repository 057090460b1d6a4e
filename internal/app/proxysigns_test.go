package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
)

// millis is a clock that a test moves.
type millis struct{ ms atomic.Int64 }

func (c *millis) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

func newSigns(proxied bool) (*proxySigns, *bytes.Buffer, *millis) {
	var log bytes.Buffer
	at := &millis{}
	return &proxySigns{proxied: proxied, clock: at, logger: slog.New(slog.NewTextHandler(&log, nil))}, &log, at
}

// TestProxySignsOfRequests: each sign is logged once, with what to set; a configured proxy and programs on this machine give none.
func TestProxySignsOfRequests(t *testing.T) {
	const unreported, untrusted = "without a client's address in X-Forwarded-For", "X-Forwarded-For from another machine is not trusted"
	for name, c := range map[string]struct {
		proxied               bool
		peer, host, forwarded string
		want                  string
	}{
		"a client":                                       {false, "203.0.113.1:80", "chat.example.com", "", ""},
		"a program on this machine":                      {false, "127.0.0.1:80", "localhost:7070", "", ""},
		"by its address, IPv6":                           {false, "[::1]:80", "[::1]:7070", "", ""},
		"by its address, IPv6 without a port":            {false, "[::1]:80", "[::1]", "", ""},
		"a program that names no host":                   {false, "127.0.0.1:80", "", "", ""},
		"a proxy here":                                   {false, "127.0.0.1:80", "chat.example.com", "203.0.113.1", ""},
		"a proxy here without the header":                {false, "127.0.0.1:80", "chat.example.com", "", unreported},
		"a proxy here with a word that is no address":    {false, "127.0.0.1:80", "chat.example.com", "unknown", unreported},
		"a proxy elsewhere":                              {true, "10.0.0.1:80", "chat.example.com", "203.0.113.1", ""},
		"a proxy elsewhere without the header":           {true, "10.0.0.1:80", "chat.example.com", "", unreported},
		"a proxy elsewhere that names its own address":   {true, "10.0.0.1:80", "10.0.0.2", "", unreported},
		"a program on this machine, beside such a proxy": {true, "127.0.0.1:80", "127.0.0.1:7070", "", ""},
		"a proxy that is not configured":                 {false, "10.0.0.1:80", "chat.example.com", "203.0.113.1", untrusted},
		"no address":                                     {false, "@", "chat.example.com", "203.0.113.1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, log, _ := newSigns(c.proxied)
			for range 3 {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
				r.RemoteAddr, r.Host = c.peer, c.host
				if c.forwarded != "" {
					r.Header.Set("X-Forwarded-For", c.forwarded)
				}
				s.request(r)
			}
			lines := strings.Count(log.String(), "\n")
			if c.want == "" && lines > 0 || c.want != "" && (lines != 1 || !strings.Contains(log.String(), c.want)) {
				t.Errorf("the log has %d lines, want %q:\n%s", lines, c.want, log)
			}
		})
	}
}

// sampled returns so many users who are counted.
func sampled(count int) (users []uint64) {
	for user := uint64(1); len(users) < count; user++ {
		if isSampled(user) {
			users = append(users, user)
		}
	}
	return users
}

// TestAccountsAreSampledEvenly: about one in accountsPerSample, of ids in any distance. The others are not remembered.
func TestAccountsAreSampledEvenly(t *testing.T) {
	for _, distance := range []uint64{1, 3, 16, 1000, 1 << 12, 1<<22 + 1} {
		count := 0
		for n := range uint64(16_000) {
			if isSampled(1<<60 + n*distance) {
				count++
			}
		}
		if count < 750 || count > 1250 {
			t.Errorf("of 16,000 users with ids %d apart, %d are counted", distance, count)
		}
	}
	s, _, _ := newSigns(false)
	for user := range uint64(manyAccounts / accountsPerSample) { // too few for a sign
		if !isSampled(user) {
			s.account(user, netip.MustParsePrefix("203.0.113.1/32"))
		}
	}
	if s.seen != nil {
		t.Errorf("%d accounts outside the sample are remembered", len(s.seen))
	}
}

// TestManyAccountsOfAnAddressAreASign: only different accounts count, of one address, within an hour.
func TestManyAccountsOfAnAddressAreASign(t *testing.T) {
	office, home := netip.MustParsePrefix("203.0.113.1/32"), netip.MustParsePrefix("203.0.113.2/32")
	s, log, at := newSigns(false)
	users := sampled(maxAccountsSeen)
	const many = manyAccounts / accountsPerSample
	for _, user := range users[:many-1] {
		for range 3 {
			s.account(user, office)
		}
		s.account(user, home)
	}
	at.ms.Add(accountsTime.Milliseconds())
	s.account(users[many], office)
	for n, user := range users { // addresses of their own
		s.account(user, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 32))
	}
	if log.Len() > 0 {
		t.Fatalf("fewer accounts are a sign: %s", log)
	}
	if n := len(s.seen); n > maxAccountsSeen {
		t.Errorf("%d accounts are remembered", n)
	}
	for _, user := range users[:3*many] {
		s.account(user, office)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "plaintext=true") || !strings.Contains(got, fmt.Sprint(office)) {
		t.Errorf("the log is %q", got)
	}
	if s.seen != nil || s.accounts != nil {
		t.Error("the accounts are still remembered")
	}
}

// TestANodeLooksForProxySigns: at calls and at sockets, and counts the accounts of an address.
func TestANodeLooksForProxySigns(t *testing.T) {
	for _, path := range []string{"/v1/socket", "/rialto.account.v1.AccountService/GetLoginMethods"} {
		h, log := open(t)
		for _, host := range []string{"", "chat.example.com"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("{}"))
			r.RemoteAddr, r.Host = "127.0.0.1:80", host
			r.Header.Set("Content-Type", "application/json")
			h.publicHandler().ServeHTTP(httptest.NewRecorder(), r)
			if got, want := strings.Contains(log.String(), "without a client's address in X-Forwarded-For"), host != ""; got != want {
				t.Errorf("%s for the host %q: logged %v, want %v", path, host, got, want)
			}
		}
		for range 2 {
			caller := id.Caller{User: id.User(sampled(1)[0])}
			if _, err := h.rpc.Invoke(ratelimit.WithNetwork(t.Context(), netip.MustParsePrefix("203.0.113.1/32")), caller, "/rialto.chat.v1.ChatService/ListConversations", []byte("{}"), true); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(h.proxySigns.seen); n != 1 {
			t.Errorf("%d accounts were seen", n)
		}
	}
}
