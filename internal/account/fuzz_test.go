package account_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

// FuzzKeys: whatever an issuer's server answers, a key that is taken is one of a kind and size that are used.
func FuzzKeys(f *testing.F) {
	for _, raw := range []string{"", "{}", "null", `{"keys":null}`, `{"keys":[{}]}`, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":""}]}`, `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`,
		`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`, `{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"` + strings.Repeat("A", 43) + `"}]}`,
		`{"keys":[{"kty":"RSA","kid":"b","n":"` + strings.Repeat("_", 342) + `","e":"AQAB"}]}`, `{"keys":[{"kty":"RSA","n":"` + strings.Repeat("_", 342) + `","e":"Ag"}]}`, `{"keys":` + strings.Repeat("[", 1000)} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		keys, err := account.ParseKeys(raw)
		if (err == nil) != (len(keys) > 0) || err == nil && !json.Valid(raw) {
			t.Errorf("%d keys, %v", len(keys), err)
		}
		for name, key := range keys {
			switch k := key.(type) {
			case *rsa.PublicKey:
				if k.N.BitLen() < 2048 || k.N.BitLen() > 8192 || k.E < 3 || k.E%2 == 0 || !strings.HasSuffix(name, " RS256") {
					t.Errorf("%s: %d bits, e %d", name, k.N.BitLen(), k.E)
				}
			case *ecdsa.PublicKey:
				if _, err := k.Bytes(); err != nil || k.Curve.Params().BitSize != 256 || !strings.HasSuffix(name, " ES256") {
					t.Errorf("%s: %v", name, err)
				}
			case ed25519.PublicKey:
				if len(k) != ed25519.PublicKeySize || !strings.HasSuffix(name, " EdDSA") {
					t.Errorf("%s: %d bytes", name, len(k))
				}
			default:
				t.Errorf("%s: %T", name, key)
			}
		}
	})
}

// FuzzForeignTokens: what the issuer did not sign is nobody's.
func FuzzForeignTokens(f *testing.F) {
	r := openShared(f)
	f.Add("")
	f.Add("..")
	f.Add("eyJhbGciOiJub25lIn0.eyJpc3MiOiJzaG9wIiwiYXVkIjoiY2hhdCIsInN1YiI6InUtMSIsImV4cCI6OTk5OTk5OTk5OX0.")
	f.Add("eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJzaG9wIiwiYXVkIjoiY2hhdCIsInN1YiI6InUtMSIsImV4cCI6OTk5OTk5OTk5OX0.AAAA")
	f.Add("rk_AAAA")
	f.Add("eyJhbGciOiJIUzI1NiJ9." + strings.Repeat("W", 4000) + ".AAAA")
	f.Fuzz(func(t *testing.T, token string) {
		c, err := r.Verify(t.Context(), token)
		if e := errs.Of(err); e == nil || e.Reason != "bad_token" || c != (id.Caller{}) {
			t.Errorf("%q: %+v, %v", token, c, err)
		}
	})
}
