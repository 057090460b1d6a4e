// Package signedurl signs addresses of files, and verifies them. An address is valid until its expiry. Anyone who has it may use it. Only the server can create or change one.
// All functions are safe for concurrent use.
package signedurl

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// ErrBad is the refusal of an address with another signature, or for another use.
var ErrBad = errs.New(errs.Denied, "bad_url", "this URL is not valid for this request; get a new one")

var errExpired = errs.New(errs.Denied, "url_expired", "this URL has expired; get a new one")

// Signer signs addresses with a secret.
type Signer struct {
	Secret []byte
	Clock  clock.Clock
}

// Expiry returns how an address has the time until which it holds.
func Expiry(ends time.Time) string { return strconv.FormatInt(ends.Unix(), 10) }

// Sign returns the signature of an address: of what may be done with it, of what it names, and of its expiry.
func (s Signer) Sign(verb, name, expiry string) string {
	h := hmac.New(sha256.New, s.Secret)
	fmt.Fprintf(h, "%s %s %s", verb, name, expiry)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
}

// Check fails unless a signature is that of an address, and it has not expired.
func (s Signer) Check(verb, name, expiry, signature string) error {
	if subtle.ConstantTimeCompare([]byte(signature), []byte(s.Sign(verb, name, expiry))) != 1 {
		return ErrBad
	}
	if ends, err := strconv.ParseInt(expiry, 10, 64); err != nil || s.Clock.Now().Unix() >= ends {
		return errExpired
	}
	return nil
}
