package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6238, as authenticator apps compute it; HMAC does not depend on collisions
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const (
	totpPeriod    = 30 * time.Second
	totpSkew      = 1 // steps before and after the current one whose codes are accepted
	totpSecretLen = 20
)

// NewTOTPSecret returns a random secret for codes of an authenticator app.
func NewTOTPSecret() []byte {
	secret := make([]byte, totpSecretLen)
	rand.Read(secret) //nolint:errcheck // never fails
	return secret
}

// TOTPText returns a secret as it is typed into an authenticator app.
func TOTPText(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}

// TOTPURI returns the otpauth URI of a secret, which apps read from a QR code. They do not take a plus for a blank, as readers of forms do.
func TOTPURI(secret []byte, issuer, account string) string {
	query := url.Values{"secret": {TOTPText(secret)}, "issuer": {issuer}}
	return "otpauth://totp/" + url.PathEscape(issuer+":"+account) + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
}

// TOTPStep returns the number of the period that a time is in.
func TOTPStep(t time.Time) int64 { return t.Unix() / int64(totpPeriod/time.Second) }

// TOTPCode returns the code of a step (RFC 6238: HMAC-SHA-1, 30 seconds, six digits).
func TOTPCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
	sum := mac.Sum(nil)
	n := binary.BigEndian.Uint32(sum[sum[len(sum)-1]&0xf:]) & 0x7fffffff
	return fmt.Sprintf("%06d", n%1_000_000)
}

// MatchTOTP returns the step of a code, which is the current one, the one before, or the next one. It compares all of them, in constant time.
func MatchTOTP(secret []byte, code string, now time.Time) (step int64, ok bool) {
	for s := TOTPStep(now) - totpSkew; s <= TOTPStep(now)+totpSkew; s++ {
		if subtle.ConstantTimeCompare([]byte(TOTPCode(secret, s)), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}
