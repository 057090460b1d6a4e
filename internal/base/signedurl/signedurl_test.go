package signedurl_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/signedurl"
)

// An address holds for what it was signed, unchanged, and until its expiry.
func TestCheck(t *testing.T) {
	now := clocktest.NewManual()
	s := signedurl.Signer{Secret: []byte("secret"), Clock: now}
	expiry := signedurl.Expiry(now.Now().Add(time.Minute))
	signature := s.Sign("get", "7", expiry)
	if err := s.Check("get", "7", expiry, signature); err != nil {
		t.Error(err)
	}
	other := signedurl.Signer{Secret: []byte("another"), Clock: now}
	for what, err := range map[string]error{"another verb": s.Check("put", "7", expiry, signature), "another name": s.Check("get", "8", expiry, signature),
		"a later expiry": s.Check("get", "7", signedurl.Expiry(now.Now().Add(time.Hour)), signature), "no signature": s.Check("get", "7", expiry, ""),
		"another secret": other.Check("get", "7", expiry, signature)} {
		if errs.Of(err).Reason != "bad_url" {
			t.Errorf("%s is answered with %v", what, err)
		}
	}
	now.Advance(time.Minute)
	if err := s.Check("get", "7", expiry, signature); errs.Of(err).Reason != "url_expired" {
		t.Errorf("an expired address is answered with %v", err)
	}
}
