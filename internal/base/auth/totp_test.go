package auth_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
)

// TestTOTPCodes are the last six digits of those in RFC 6238, appendix B.
func TestTOTPCodes(t *testing.T) {
	secret := []byte("12345678901234567890")
	for at, code := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		now := time.Unix(at, 0)
		if got := auth.TOTPCode(secret, auth.TOTPStep(now)); got != code {
			t.Errorf("the code at %d is %s, want %s", at, got, code)
		}
		for offset, want := range map[time.Duration]bool{-2 * 30 * time.Second: false, -30 * time.Second: true, 0: true, 30 * time.Second: true, 2 * 30 * time.Second: false} {
			if now.Add(offset).Unix() < 0 {
				continue
			}
			step, ok := auth.MatchTOTP(secret, code, now.Add(offset))
			if ok != want || ok && step != auth.TOTPStep(now) {
				t.Errorf("the code of %d, entered %v later: step %d, %v", at, offset, step, ok)
			}
		}
	}
}

func TestTOTPURI(t *testing.T) {
	text := auth.TOTPURI([]byte("12345678901234567890"), "Our chat", "anna")
	if strings.Contains(text, "+") || !strings.Contains(text, "issuer=Our%20chat") {
		t.Errorf("an app would show the issuer of %s with a plus", text)
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Our chat:anna" || u.Query().Get("secret") != "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" || u.Query().Get("issuer") != "Our chat" {
		t.Errorf("the URI is %s", u)
	}
	if a, b := auth.NewTOTPSecret(), auth.NewTOTPSecret(); len(a) != 20 || string(a) == string(b) {
		t.Error("secrets are not random")
	}
}
