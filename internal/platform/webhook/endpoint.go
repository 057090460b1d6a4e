package webhook

import (
	"net/url"
	"strings"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/excerpt"
)

const (
	minSecret = 16
	maxSecret = 200
	maxURL    = 2000
	maxError  = 300
)

// ErrSecret is the error of a secret that is missing or not valid.
var ErrSecret = errs.New(errs.Invalid, "bad_secret", "a webhook's secret has 16 to 200 bytes of printable ASCII")

// CheckEndpoint checks the address and the secret of a webhook that a business server registers by its API key. An empty secret is none. Unless allowPrivate, the
// address must be public, also if it is written as an IP address. setting is the name of the operator's setting for allowPrivate.
func CheckEndpoint(address, secret string, allowPrivate bool, setting string) error {
	if secret != "" && (len(secret) < minSecret || len(secret) > maxSecret || !isPrintable(secret)) {
		return ErrSecret
	}
	u, err := url.Parse(address)
	if err != nil || len(address) > maxURL {
		return errs.New(errs.Invalid, "bad_url", "give the address of a webhook, of at most 2,000 bytes")
	}
	if err := egress.CheckURL(address); err != nil {
		return errs.New(errs.Invalid, "bad_url", "this is not the address of a webhook: "+err.Error())
	}
	if !allowPrivate && egress.IsPrivateHost(u.Hostname()) {
		return errs.New(errs.Invalid, "bad_url", "webhooks in private networks and on this machine need the setting "+setting)
	}
	return nil
}

func isPrintable(text string) bool {
	for _, b := range []byte(text) {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return true
}

// ErrorText is an error of a call for the business server, in a form and length that databases store.
func ErrorText(err error) string {
	return strings.ReplaceAll(excerpt.Bytes(err.Error(), maxError), "\x00", "")
}
