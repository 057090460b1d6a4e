package push_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

// browser is a subscription of Web Push, with the keys that only the browser has.
type browser struct {
	t        testing.TB
	at       *service
	endpoint string
	key      *ecdh.PrivateKey
	auth     []byte
	id       uint64
}

func newBrowser(t testing.TB, at *service) *browser {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	must(t, err)
	b := &browser{t: t, at: at, endpoint: at.URL + "/push/" + rand.Text(), key: key, auth: make([]byte, 16)}
	_, err = rand.Read(b.auth)
	must(t, err)
	return b
}

type shown struct {
	V                                                  int
	User, Conversation, Seq, Title, Body, Parent, Root string
	Badge                                              uint64
}

// shows waits for as many notifications for the browser, and returns them.
func (b *browser) shows(n int) (list []shown) {
	b.t.Helper()
	eventually.True(b.t, "the browser has its notifications", func() bool { return len(b.requests()) >= n })
	for _, r := range b.requests() {
		var s shown
		must(b.t, json.Unmarshal(b.decrypt(r.body), &s))
		list = append(list, s)
	}
	return list
}

func (b *browser) requests() []*received {
	return slices.DeleteFunc(slices.Clone(b.at.requests()), func(r *received) bool { return !strings.HasSuffix(b.endpoint, strings.TrimPrefix(r.path, "POST ")) })
}

// decrypt opens a body as RFC 8291 and RFC 8188 say, with nothing of the library that made it.
func (b *browser) decrypt(body []byte) []byte {
	b.t.Helper()
	salt, size, length := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	theirs, sealed := body[21:21+length], body[21+length:]
	if uint32(len(sealed)) > size {
		b.t.Fatalf("a record of %d bytes has %d", size, len(sealed))
	}
	public, err := ecdh.P256().NewPublicKey(theirs)
	must(b.t, err)
	shared, err := b.key.ECDH(public)
	must(b.t, err)
	derive := func(secret, salt []byte, info string, n int) []byte {
		key, err := hkdf.Key(sha256.New, secret, salt, info, n)
		must(b.t, err)
		return key
	}
	ikm := derive(shared, b.auth, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(theirs), 32)
	block, err := aes.NewCipher(derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16))
	must(b.t, err)
	gcm, err := cipher.NewGCM(block)
	must(b.t, err)
	plain, err := gcm.Open(nil, derive(ikm, salt, "Content-Encoding: nonce\x00", 12), sealed, nil)
	must(b.t, err)
	plain = []byte(strings.TrimRight(string(plain), "\x00"))
	if plain[len(plain)-1] != 2 {
		b.t.Fatalf("the last record ends with %d", plain[len(plain)-1])
	}
	return plain[:len(plain)-1]
}

// A browser that sleeps is pushed what came, encrypted for it alone, and signed with the key that it subscribed with.
func TestABrowserIsPushed(t *testing.T) {
	w := open(t, nil)
	w.run()
	b := w.browser(bob, 1)
	w.say("hello")
	w.examine()
	got := b.shows(1)
	if got[0] != (shown{V: 1, User: bob.String(), Conversation: talk.String(), Seq: "1", Badge: 1}) {
		t.Errorf("the browser got %+v; it gets no text unless its user wants it", got[0])
	}
	r := b.requests()[0]
	for name, want := range map[string]string{"Content-Encoding": "aes128gcm", "Ttl": "86400", "Urgency": "high", "Topic": "c" + talk.String()} {
		if r.header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, r.header.Get(name), want)
		}
	}
	providers := w.GetProviders()
	parts := regexp.MustCompile(`^vapid t=(\S+), k=(\S+)$`).FindStringSubmatch(r.header.Get("Authorization"))
	if parts == nil || parts[2] != base64.RawURLEncoding.EncodeToString(providers.VapidPublicKey) {
		t.Fatalf("the authorization is %q", r.header.Get("Authorization"))
	}
	point := providers.VapidPublicKey
	key := &ecdsa.PublicKey{Curve: elliptic.P256(), X: new(big.Int).SetBytes(point[1:33]), Y: new(big.Int).SetBytes(point[33:])}
	claims := jwt.MapClaims{}
	if _, err := jwt.ParseWithClaims(parts[1], claims, func(*jwt.Token) (any, error) { return key, nil }, jwt.WithValidMethods([]string{"ES256"})); err != nil || claims["aud"] != w.at.URL || claims["sub"] == "" {
		t.Errorf("the token has %v: %v", claims, err)
	}
	if again := w.process().GetProviders(); string(again.VapidPublicKey) != string(point) {
		t.Error("another process has another key")
	}
}

// Endpoints are addresses that users choose. None of them leads into the operator's network.
func TestEndpointsInTheNetworkAreRefused(t *testing.T) {
	w := open(t, nil)
	w.run()
	b := newBrowser(t, w.at)
	try := func(r *pushv1.RegisterPushRequest) string {
		_, err := w.Register(t.Context(), id.Caller{User: bob, Session: 1}, r)
		return reason(err)
	}
	with := func(endpoint string) *pushv1.RegisterPushRequest {
		return &pushv1.RegisterPushRequest{Provider: webPush, Token: endpoint, P256Dh: b.key.PublicKey().Bytes(), Auth: b.auth}
	}
	for _, endpoint := range []string{"", "push", "http://example.com/x", "https://u:p@example.com/x", "https://example.com:22/x", "https://example.com:80/x", "https://2130706433/x", "https://0x7f.1/x", "file:///etc/passwd", "https://" + strings.Repeat("x", 1024)} {
		if got := try(with(endpoint)); got != "bad_push_subscription" {
			t.Errorf("the endpoint %q: %q", endpoint, got)
		}
	}
	short := with(b.endpoint)
	short.P256Dh = short.P256Dh[:64]
	off := with(b.endpoint)
	off.P256Dh = slices.Clone(off.P256Dh)
	off.P256Dh[64] ^= 1 // not on the curve
	noAuth := with(b.endpoint)
	noAuth.Auth = nil
	for i, r := range []*pushv1.RegisterPushRequest{short, off, noAuth} {
		if got := try(r); got != "bad_push_subscription" {
			t.Errorf("keys %d: %q", i, got)
		}
	}
	// What an address resolves to is known only when it is called.
	for i, endpoint := range []string{"https://127.0.0.1/x", "https://[::1]/x", "https://10.0.0.1/x", "https://169.254.169.254/x", "https://localhost/x"} {
		r := with(endpoint)
		_, err := w.Register(t.Context(), id.Caller{User: bob, Session: id.Session(i + 1)}, r)
		must(t, err)
	}
	w.say("hello")
	w.examine()
	if got := w.results(5); got != "retry retry retry retry retry" {
		t.Errorf("the attempts are %s", got)
	}
	for _, a := range w.attempts() {
		if !strings.Contains(a.Detail, "is not a public address") || strings.Contains(a.Detail, "/x") {
			t.Errorf("an attempt says %q", a.Detail)
		}
	}
}
