package egress

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// Poster sends requests to addresses that users chose, such as those of their browsers' push services. It connects to public addresses by https only,
// and to the hosts of FetchConfig. It follows no redirect. The address is checked in the dialer, so that a name cannot be pointed at this machine or
// at its network; a connection that is kept leads to an address that was checked.
type Poster struct {
	hosts   *Fetcher // checks addresses, and dials
	timeout time.Duration
	http    *http.Client
}

// maxPostAnswer bounds the body of an answer, in bytes. What is beyond is not read.
const maxPostAnswer = 4 << 10

// NewPoster creates a Poster for a configuration that Check accepts.
func NewPoster(config FetchConfig) *Poster {
	f := NewFetcher(config)
	p := &Poster{hosts: f, timeout: f.config.Timeout}
	p.http = &http.Client{
		Transport: &http.Transport{DialContext: f.dial, ForceAttemptHTTP2: true, MaxIdleConns: 256, MaxIdleConnsPerHost: 8, MaxConnsPerHost: 32, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: p.timeout, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true}, // Proxy is nil: the environment's proxy is not used
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

// Check returns why requests to an address are refused, as far as its text shows.
func (p *Poster) Check(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("this is not an address")
	}
	return p.check(u)
}

func (p *Poster) check(u *url.URL) error {
	switch internal := p.hosts.isInternal(portedHost(u)); {
	case u.Scheme != "https" && !internal:
		return errors.New("the address begins with https://")
	case u.Port() != "" && u.Port() != "443" && !internal:
		return fmt.Errorf("port %s is not 443", u.Port())
	}
	return p.hosts.permit(u)
}

// Do sends a request. An answer with any status is no error. Its body is cut. Of a host that fails, the error is an *outgoing.Refused.
func (p *Poster) Do(r *http.Request) (*Answer, error) {
	if err := p.check(r.URL); err != nil {
		return nil, err
	}
	return exchange(p.hosts.config.Calls, outgoing.WebPush, portedHost(r.URL), p.http, r, p.timeout, maxPostAnswer, func(*Answer) error { return nil })
}

// Close closes idle connections.
func (p *Poster) Close() { p.http.CloseIdleConnections() }
