package account

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// androidOrigin begins the origin of an Android app, which ends with the hash of the certificate that signs the app.
const androidOrigin = "android:apk-key-hash:"

// localhost is the domain of passkeys where none is configured. Browsers accept it without TLS.
const localhost = "localhost"

// Page is where a call comes from.
type Page struct {
	// Origin of the web page, as https://chat.example.com; empty for other clients.
	Origin string
	// Address by which the request was made, likewise; empty if it is not known.
	Address string
}

// relyingParty is what passkeys belong to: a domain, and the origins of the pages and apps that may use them.
type relyingParty struct {
	domain string
	pages  []string
	apps   []string
}

// newRelyingParty returns that of the configured origins. Without any, it is that of pages of localhost, on all ports.
func newRelyingParty(origins []string) (rp relyingParty, err error) {
	for _, o := range origins {
		if strings.HasPrefix(o, androidOrigin) && len(o) > len(androidOrigin) {
			rp.apps = append(rp.apps, o)
			continue
		}
		host, ok := passkeyHost(o)
		if !ok {
			return rp, fmt.Errorf("%q is not the origin of a page with a name, as https://chat.example.com, nor of an Android app", o)
		}
		if rp.domain == "" {
			rp.domain = host
		}
		if host != rp.domain && !strings.HasSuffix(host, "."+rp.domain) {
			return rp, fmt.Errorf("%q is not below %s, the host of the first page", o, rp.domain)
		}
		rp.pages = append(rp.pages, o)
	}
	if len(origins) > 0 && rp.domain == "" {
		return rp, errors.New("name the origin of a page as well, to which passkeys belong")
	}
	return rp, nil
}

// passkeyHost returns the host of an origin, if its pages can use passkeys.
func passkeyHost(origin string) (host string, ok bool) {
	u, err := url.Parse(origin)
	if err != nil || origin != strings.ToLower(u.Scheme+"://"+u.Host) {
		return "", false
	}
	host = u.Hostname()
	ok = host != "" && net.ParseIP(host) == nil && (u.Scheme == "https" || u.Scheme == "http" && host == localhost)
	return host, ok
}

// CanHavePasskeys reports whether the pages of an origin can use passkeys: it has TLS, or is localhost, and is no IP address.
func CanHavePasskeys(origin string) bool {
	_, ok := passkeyHost(origin)
	return ok
}

// at returns the relying party for a call, or an error that says where passkeys work.
func (rp relyingParty) at(p Page) (relyingParty, error) {
	if rp.domain == "" {
		from := p.Origin
		if from == "" {
			from = p.Address
		}
		if host, ok := passkeyHost(from); from != "" && (!ok || host != localhost) {
			return rp, errs.New(errs.Denied, "passkeys_unavailable", "passkeys work only at the address http://localhost, until the operator sets public.url or account.passkey_origins")
		}
		return relyingParty{domain: localhost}, nil
	}
	if p.Origin != "" && !slices.Contains(rp.pages, p.Origin) {
		return rp, errs.New(errs.Denied, "passkeys_unavailable", "passkeys work only at "+rp.pages[0]+"; open the app there, or let the operator add this page to account.passkey_origins")
	}
	return rp, nil
}

// allowed returns the origins of pages of which an answer may come, given the one that it names.
func (rp relyingParty) allowed(origin string) []string {
	if rp.pages != nil {
		return rp.pages
	}
	if host, ok := passkeyHost(origin); ok && host == localhost {
		return []string{origin}
	}
	return nil
}
