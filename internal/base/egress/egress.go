// Package egress sends HTTP requests. A Client sends them to servers that the operator configured, such as webhooks and token issuers, a Fetcher to
// addresses that users chose, for link previews, and a Poster to the push services of users' browsers. No other package sends requests (internal/tool/archtest).
//
// A Client guarantees that a request goes to the configured server only: it follows no redirect, uses no proxy of the environment, and
// checks the resolved address when the connection is opened, so that a name cannot point to this machine or its
// network. A Fetcher follows redirects, and guarantees for each that the resolved address is public. A Poster guarantees the same, and follows no redirect. Requests and answers are bounded in
// time and size. Requests to servers that fail are refused for a while (package outgoing). All methods are safe for concurrent use.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rialto-im/rialto/internal/base/certpool"
	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// Config of a client.
type Config struct {
	// URL of the server, in the form that CheckURL accepts. An IP address in it, or localhost, is the operator's explicit choice, and is allowed.
	URL string
	// AllowPrivate lets the URL's host name resolve to an address of a private network or of this machine.
	AllowPrivate bool
	// Kind of the requests, which declares their circuit breaker and their retries. Requests of a kind with retries may be made twice.
	Kind outgoing.Kind
	// Calls has the circuit breakers of this process. Without it the client has its own, which no metrics show.
	Calls *outgoing.Calls
	// Timeout of a request including its answer and its retries; 0 is 5 seconds.
	Timeout time.Duration
	// MaxAnswer bounds the body of an answer, in bytes; 0 is 64 KiB.
	MaxAnswer int64
	// CA is a file with the certificates (PEM) that sign the server's, in place of the system's. Empty: the system's.
	CA string
}

// CheckURL returns an error if a client may not be created for an address.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return errors.New("give an address such as https://example.com/path, without credentials in it")
	}
	host := u.Hostname()
	ip, literal := parseIP(host)
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback.IsHost(host)):
		return errors.New("the address begins with https://, or with http:// for this machine")
	case literal && classOf(ip) == forbidden:
		return fmt.Errorf("%s is not the address of a server", ip)
	case !literal && looksNumeric(host):
		return fmt.Errorf("%s is neither a name nor an IP address", host)
	}
	return nil
}

// IsPrivateHost reports whether the host of an address is this machine, or an IP address that is not public. A name may still resolve to one.
func IsPrivateHost(host string) bool {
	ip, literal := parseIP(host)
	return loopback.IsHost(host) || literal && classOf(ip) != public
}

// Client sends requests to one server.
type Client struct {
	config  Config
	origin  string // scheme and host
	literal netip.Addr
	local   bool           // the configured host is this machine
	roots   *x509.CertPool // nil: the system's
	http    *http.Client
}

// New creates a client for an address that CheckURL accepts.
func New(config Config) (*Client, error) {
	if err := CheckURL(config.URL); err != nil {
		return nil, err
	}
	u, err := url.Parse(config.URL)
	if err != nil {
		return nil, err
	}
	if !config.Kind.Known() {
		return nil, fmt.Errorf("%q is no kind of calls that package outgoing declares", config.Kind)
	}
	config.Calls = outgoing.OrNew(config.Calls)
	if config.Timeout == 0 {
		config.Timeout = 5 * time.Second
	}
	if config.MaxAnswer == 0 {
		config.MaxAnswer = 64 << 10
	}
	c := &Client{config: config, origin: originOf(u), local: loopback.IsHost(u.Hostname())}
	if c.roots, err = certpool.Read(config.CA); err != nil {
		return nil, err
	}
	c.literal, _ = parseIP(u.Hostname())
	c.http = c.client(nil)
	return c, nil
}

// client creates an HTTP client with a resolver; nil is the machine's.
func (c *Client) client(resolver *net.Resolver) *http.Client {
	dialer := &net.Dialer{Timeout: c.config.Timeout, Resolver: resolver, ControlContext: c.control}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16, MaxConnsPerHost: 64, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: c.config.Timeout, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.roots}, MaxResponseHeaderBytes: 64 << 10,
			DisableCompression: true}, // Proxy is nil: the environment's proxy is not used
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Answer of a server.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// RetryAfter is how long the server asks to wait, 0 if it does not say.
func (a *Answer) RetryAfter(now time.Time) time.Duration {
	value := a.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}

func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, limit))
}

// Do sends a request to the configured server. An answer with any status is no error; one that is too long is, and one that check refuses, which may be nil.
// Of a server that fails, the error is an *outgoing.Refused.
func (c *Client) Do(r *http.Request, check func(*Answer) error) (*Answer, error) {
	if got := originOf(r.URL); got != c.origin {
		return nil, fmt.Errorf("a request to %s by a client of %s", got, c.origin)
	}
	return exchange(c.config.Calls, c.config.Kind, c.config.URL, c.http, r, c.config.Timeout, c.config.MaxAnswer+1, func(a *Answer) error {
		if int64(len(a.Body)) > c.config.MaxAnswer {
			return fmt.Errorf("the answer has more than %d bytes", c.config.MaxAnswer)
		}
		if check == nil {
			return nil
		}
		return check(a)
	})
}

// exchange sends a request that was checked, and reads at most limit bytes of the answer's body. check says whether the answer is valid.
func exchange(calls *outgoing.Calls, kind outgoing.Kind, key string, by *http.Client, r *http.Request, timeout time.Duration, limit int64, check func(*Answer) error) (answer *Answer, err error) {
	r.Header.Set("User-Agent", "rialto")
	refused := calls.Do(r.Context(), kind, key, timeout, func(ctx context.Context) outgoing.Outcome {
		answer = nil
		var again *http.Request
		if again, err = repeatable(ctx, r); err != nil {
			return outgoing.Outcome{Failure: err}
		}
		if answer, err = send(by, again, limit); err != nil {
			return outgoing.OutcomeOf(0, 0, err)
		}
		o := outgoing.OutcomeOf(answer.Status, answer.RetryAfter(time.Now()), nil)
		if err = check(answer); err != nil {
			answer = nil
			if o.Failure == nil {
				o.Failure = err
			}
		}
		return o
	})
	if refused != nil {
		return nil, refused
	}
	return answer, err
}

// repeatable returns a copy of a request with a body of its own.
func repeatable(ctx context.Context, r *http.Request) (*http.Request, error) {
	again := r.WithContext(ctx)
	if r.GetBody == nil {
		return again, nil
	}
	var err error
	again.Body, err = r.GetBody()
	return again, err
}

func send(by *http.Client, r *http.Request, limit int64) (*Answer, error) {
	res, err := by.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := readAtMost(res.Body, limit)
	if err != nil {
		return nil, err
	}
	return &Answer{Status: res.StatusCode, Header: res.Header, Body: body}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// control checks the address of a connection before it is opened. The name has been resolved, and is not resolved again.
func (c *Client) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%s %s is not an address on a network", network, address)
	}
	return c.permit(to.Addr())
}

func (c *Client) permit(ip netip.Addr) error {
	ip = ip.Unmap()
	class := classOf(ip)
	switch {
	case class == public, class == private && c.config.AllowPrivate, class == private && ip == c.literal, c.local && ip.IsLoopback():
		return nil
	case class == private:
		return fmt.Errorf("%s is an address of a private network; set allow_private if the server is there", ip)
	}
	return fmt.Errorf("%s is not the address of a server", ip)
}

func originOf(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host)
}

func parseIP(host string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(host)
	return ip.Unmap(), err == nil
}

// looksNumeric reports whether a name ends in a number, such as 127.1, 0x7f000001 or 2130706433: some resolvers parse those as addresses.
func looksNumeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	return strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == ""
}

// class of an address.
type class int

const (
	public    class = iota
	private         // of this machine, or of a private network
	forbidden       // of no server: link-local (with it the metadata of clouds), multicast, reserved, tunnels that hide another address
)

var (
	privatePrefixes   = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "::1/128", "fc00::/7")
	forbiddenPrefixes = prefixes("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"224.0.0.0/4", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(list ...string) (all []netip.Prefix) {
	for _, p := range list {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

func classOf(ip netip.Addr) class {
	ip = ip.Unmap()
	if ip.Zone() != "" {
		return forbidden
	}
	if nat64.Contains(ip) {
		all := ip.As16()
		return classOf(netip.AddrFrom4([4]byte(all[12:])))
	}
	for _, p := range privatePrefixes {
		if p.Contains(ip) {
			return private
		}
	}
	for _, p := range forbiddenPrefixes {
		if p.Contains(ip) {
			return forbidden
		}
	}
	if ip.Is6() && !globalUnicast.Contains(ip) {
		return forbidden
	}
	return public
}
