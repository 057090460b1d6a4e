package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// maxRedirects that a Fetcher follows.
const maxRedirects = 3

// FetchConfig of a Fetcher.
type FetchConfig struct {
	// InternalHosts are hosts, with a port unless it is 80 or 443, that may have addresses of a private network or of this machine.
	InternalHosts []string
	// OwnHosts are names of this deployment, without ports, from which nothing is fetched: a user could make servers ask each other in a circle.
	OwnHosts []string
	// Timeout of a fetch including its redirects and its body; 0 is 5 seconds.
	Timeout time.Duration
	// Calls has the circuit breakers of this process, of which each host has one. Without it there are own ones, which no metrics show.
	Calls *outgoing.Calls
}

// Check reports hosts that are not valid.
func (c FetchConfig) Check() error {
	for _, host := range c.InternalHosts {
		u, err := url.Parse("https://" + host)
		if err != nil || u.Host != host || u.Hostname() == "" {
			return fmt.Errorf("%q is not a host such as wiki.example.com or 10.0.0.7:8080", host)
		}
	}
	return nil
}

// Fetcher gets documents from addresses that users chose. It connects to public addresses only, and to the hosts of FetchConfig: the
// address is checked in the dialer, for each redirect again.
type Fetcher struct {
	config   FetchConfig
	resolver *net.Resolver // nil: the machine's
	http     *http.Client
}

// NewFetcher creates a Fetcher for a configuration that Check accepts.
func NewFetcher(config FetchConfig) *Fetcher {
	if config.Timeout == 0 {
		config.Timeout = 5 * time.Second
	}
	config.Calls = outgoing.OrNew(config.Calls)
	f := &Fetcher{config: config}
	f.http = &http.Client{
		// No connection is kept: the next one to the same name is checked again. Proxy is nil: the environment's proxy is not used.
		Transport: &hopTransport{calls: config.Calls, timeout: config.Timeout, base: &http.Transport{DialContext: f.dial, ForceAttemptHTTP2: true, DisableKeepAlives: true, TLSHandshakeTimeout: config.Timeout,
			MaxResponseHeaderBytes: 64 << 10, DisableCompression: true}},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			r.Header.Del("Referer") // the address may be private
			return f.permit(r.URL)
		},
	}
	return f
}

// Document that was fetched.
type Document struct {
	// URL of the document, after redirects.
	URL *url.URL
	// Type is the media type, without parameters; ContentType has them.
	Type, ContentType string
	// Body of the document, or its beginning: see Request.Truncate.
	Body []byte
}

// Request for a document.
type Request struct {
	URL string
	// Types are the accepted media types.
	Types []string
	// MaxBody in bytes. A longer document is refused, or with Truncate cut.
	MaxBody  int64
	Truncate bool
}

// Fetch gets a document. An answer other than 200, of another type, or in a compressed form is an error. Of a host that fails, the error wraps an *outgoing.Refused.
func (f *Fetcher) Fetch(ctx context.Context, q Request) (*Document, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, callerKey{}, ctx), f.config.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, q.URL, nil)
	if err != nil {
		return nil, err
	}
	if err := f.permit(r.URL); err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "rialto (link preview)")
	r.Header.Set("Accept", strings.Join(q.Types, ", "))
	res, err := f.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	d := &Document{URL: res.Request.URL, ContentType: res.Header.Get("Content-Type")}
	d.Type, _, err = mime.ParseMediaType(d.ContentType)
	switch encoding := res.Header.Get("Content-Encoding"); {
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the answer has the status %d", res.StatusCode)
	case err != nil || !slices.Contains(q.Types, d.Type):
		return nil, errors.New("the answer has another content type")
	case encoding != "" && encoding != "identity": // what is not decompressed cannot be a decompression bomb
		return nil, errors.New("the answer is compressed")
	}
	d.Body, err = io.ReadAll(io.LimitReader(res.Body, q.MaxBody+1))
	if err != nil {
		return nil, err
	}
	if int64(len(d.Body)) > q.MaxBody {
		if !q.Truncate {
			return nil, fmt.Errorf("the answer has more than %d bytes", q.MaxBody)
		}
		d.Body = d.Body[:q.MaxBody]
	}
	return d, nil
}

// permit checks the text of an address; dial checks to what its name resolves.
func (f *Fetcher) permit(u *url.URL) error {
	host := u.Hostname()
	_, literal := parseIP(host)
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || host == "" || u.Opaque != "":
		return errors.New("the address begins with https:// or http://")
	case u.User != nil:
		return errors.New("the address has credentials")
	case slices.ContainsFunc(f.config.OwnHosts, func(own string) bool { return strings.EqualFold(own, strings.TrimSuffix(host, ".")) }):
		return fmt.Errorf("%s is this server", host)
	case f.isInternal(portedHost(u)):
		return nil
	case u.Port() != "" && u.Port() != "80" && u.Port() != "443":
		return fmt.Errorf("port %s is not that of a web site", u.Port())
	case !literal && looksNumeric(host):
		return fmt.Errorf("%s is neither a name nor an IP address", host)
	}
	return nil
}

// portedHost returns the host and port of an address, as dial gets them.
func portedHost(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func (f *Fetcher) isInternal(hostPort string) bool {
	host, port, err := net.SplitHostPort(hostPort)
	return err == nil && slices.ContainsFunc(f.config.InternalHosts, func(internal string) bool {
		return strings.EqualFold(internal, hostPort) || (port == "80" || port == "443") && strings.EqualFold(strings.Trim(internal, "[]"), host)
	})
}

// dial connects to a host. The address to which its name resolves is checked, and is not resolved again.
func (f *Fetcher) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	internal := f.isInternal(hostPort)
	dialer := net.Dialer{Timeout: f.config.Timeout, Resolver: f.resolver, ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || network != "tcp4" && network != "tcp6" {
			return fmt.Errorf("%s %s is not an address on a network", network, address)
		}
		if class := classOf(to.Addr()); class == public || class == private && internal {
			return nil
		}
		return fmt.Errorf("%s is not a public address", to.Addr())
	}}
	return dialer.DialContext(ctx, network, hostPort)
}
