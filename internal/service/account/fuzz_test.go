package account_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/account/passkeytest"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// FuzzKeys: whatever an issuer's server answers, accepted keys have a supported kind and size.
func FuzzKeys(f *testing.F) {
	for _, raw := range []string{"", "{}", "null", `{"keys":null}`, `{"keys":[{}]}`, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":""}]}`, `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`,
		`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`, `{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"` + strings.Repeat("A", 43) + `"}]}`,
		`{"keys":[{"kty":"RSA","kid":"b","n":"` + strings.Repeat("_", 342) + `","e":"AQAB"}]}`, `{"keys":[{"kty":"RSA","n":"` + strings.Repeat("_", 342) + `","e":"Ag"}]}`, `{"keys":` + strings.Repeat("[", 1000)} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		keys, err := account.ParseKeys(raw)
		if (err == nil) != (len(keys) > 0) || err == nil && !json.Valid(raw) {
			t.Errorf("got %d keys, %v", len(keys), err)
		}
		for name, key := range keys {
			switch k := key.(type) {
			case *rsa.PublicKey:
				if k.N.BitLen() < 2048 || k.N.BitLen() > 8192 || k.E < 3 || k.E%2 == 0 || !strings.HasSuffix(name, " RS256") {
					t.Errorf("key %s: got %d bits, e %d", name, k.N.BitLen(), k.E)
				}
			case *ecdsa.PublicKey:
				if _, err := k.Bytes(); err != nil || k.Curve.Params().BitSize != 256 || !strings.HasSuffix(name, " ES256") {
					t.Errorf("key %s: got %v", name, err)
				}
			case ed25519.PublicKey:
				if len(k) != ed25519.PublicKeySize || !strings.HasSuffix(name, " EdDSA") {
					t.Errorf("key %s: got %d bytes", name, len(k))
				}
			default:
				t.Errorf("key %s: got type %T", name, key)
			}
		}
	})
}

// FuzzExternalTokens: a token that the issuer did not sign is never accepted.
func FuzzExternalTokens(f *testing.F) {
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
			t.Errorf("token %q: got %+v, %v", token, c, err)
		}
	})
}

// FuzzTickets: a signed ticket decodes to its content, and a ticket with any changed letter is rejected.
func FuzzTickets(f *testing.F) {
	r := openOn(f, sqltest.Place(f), 1, account.Config{}, nil)
	f.Add(uint64(1), uint64(2), uint64(3), int64(1_800_000_000_000), uint16(0), uint16(0), "")
	f.Add(uint64(1)<<63-1, uint64(0), uint64(1)<<63-1, int64(1), uint16(3), uint16(1), "A")
	f.Add(uint64(7), uint64(7), uint64(7), int64(0), uint16(109), uint16(1), "-")
	f.Add(uint64(7), uint64(7), uint64(7), int64(0), uint16(109), uint16(0), "=\n")
	f.Add(uint64(7), uint64(7), uint64(7), int64(0), uint16(0), uint16(200), "rt_")
	f.Fuzz(func(t *testing.T, user, device, session uint64, ms int64, at, cut uint16, put string) {
		c := id.Caller{User: id.User(user), Device: id.Device(device), Session: id.Session(session)}
		made := r.MakeTicket(c, time.UnixMilli(ms))
		if got, ends, ok := r.ReadTicket(made); !ok || got != c || ends.UnixMilli() != ms {
			t.Errorf("ticket of %+v until %d: got %+v until %d, %v", c, ms, got, ends.UnixMilli(), ok)
		}
		from := min(int(at), len(made))
		changed := made[:from] + put + made[min(from+int(cut), len(made)):]
		for _, text := range []string{changed, put} {
			if got, _, ok := r.ReadTicket(text); ok && text != made {
				t.Errorf("changed ticket %q is accepted as %+v", text, got)
			}
		}
	})
}

// FuzzPasskeys: bytes in the place of what an authenticator signs, and whole answers, are refused with a reason, or are a good answer.
func FuzzPasskeys(f *testing.F) {
	r := openOn(f, sqltest.Place(f), 1, ofPasskeys, nil)
	_, c := r.register("anna")
	device := &passkeytest.Authenticator{Origin: chatPage}
	if _, err := r.addPasskey(c, device, "phone"); err != nil {
		f.Fatal(err)
	}
	device.Passkeys[0].NoCount = true
	started, err := r.StartPasskey(f.Context(), c, onPage)
	if err != nil {
		f.Fatal(err)
	}
	created, err := (&passkeytest.Authenticator{Origin: chatPage}).Create(started.Options)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(created, []byte("\xa5\x01\x02\x03\x26"), "\xa0", byte(0x45))
	device.Change = func(a *passkeytest.Answer) { a.Flags &^= passkeytest.UserVerified }
	f.Add(r.passkeyAnswer(device), []byte("\xa4\x01\x03\x03\x39\x01\x00\x20\x41\x01\x21\x43\x01\x00\x01"), "\x80", byte(0xc5))
	f.Add("{}", []byte("\xa4\x01\x01\x03\x27\x20\x06\x21\x58\x20"+strings.Repeat("k", 32)), "\xbf\xff", byte(0xff))
	f.Add(`{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AA","attestationObject":"oA"}}`, []byte{}, "", byte(0))
	f.Fuzz(func(t *testing.T, answer string, key []byte, statement string, flags byte) {
		if s, err := r.LoginWithPasskey(t.Context(), onPage, &accountv1.LoginWithPasskeyRequest{Credential: answer}); err == nil {
			t.Errorf("the answer %q opened %v", answer, s)
		} else if e := errs.Of(err); e.Kind == errs.Internal {
			t.Errorf("the answer %q: %v", answer, err)
		}
		add := func(credential string) error {
			_, err := r.AddPasskey(t.Context(), c, onPage, &accountv1.AddPasskeyRequest{Name: "phone", Credential: credential})
			if err != nil && errs.Of(err).Kind == errs.Internal {
				t.Errorf("the answer %q: %v", credential, err)
			}
			return err
		}
		_ = add(answer) // a seed is a good one, once
		list, err := r.ListPasskeys(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Passkeys[1:] { // good ones that the fuzzer has made
			if err := r.RemovePasskey(t.Context(), c, p.Id); err != nil {
				t.Fatal(err)
			}
		}
		o, err := r.StartPasskey(t.Context(), c, onPage)
		if err != nil {
			t.Fatal(err)
		}
		made, err := (&passkeytest.Authenticator{Origin: chatPage, Change: func(a *passkeytest.Answer) { a.Key, a.Statement, a.Flags = key, statement, flags }}).Create(o.Options)
		if err != nil {
			t.Fatal(err)
		}
		if err := add(made); err == nil && (flags&0x45 != 0x45 || len(key) < 34) {
			t.Errorf("key %x with flags %x was accepted", key, flags)
		}
	})
}
