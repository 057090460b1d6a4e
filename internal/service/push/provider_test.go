package push_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	"github.com/rialto-im/rialto/internal/service/push"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

const (
	fcm  = pushv1.PushProvider_PUSH_PROVIDER_FCM
	apns = pushv1.PushProvider_PUSH_PROVIDER_APNS
)

// device registers a phone of bob.
func (w *world) device(by pushv1.PushProvider, token string) {
	w.t.Helper()
	_, err := w.Register(w.t.Context(), id.Caller{User: bob, Session: 1}, &pushv1.RegisterPushRequest{Provider: by, Token: token})
	must(w.t, err)
}

func file(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(name, content, 0o600))
	return name
}

func pemOf(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func decode(t *testing.T, body []byte) (v map[string]any) {
	t.Helper()
	must(t, json.Unmarshal(body, &v))
	return v
}

func child(v map[string]any, path ...string) any {
	for _, name := range path[:len(path)-1] {
		v, _ = v[name].(map[string]any)
	}
	return v[path[len(path)-1]]
}

// The operator's own server gets what others would, signed, with the same key each time, and answers for the device.
func TestWebhook(t *testing.T) {
	const secret = "a secret of 16 characters"
	hook := newService(t)
	w := open(t, func(c *push.Config) { c.Webhook = webhook.Config{URL: hook.URL + "/hook", Secret: secret} })
	w.run()
	if got := w.GetProviders().Providers; !slices.Equal(got, []pushv1.PushProvider{webPush, byHook}) {
		t.Errorf("the providers are %v", got)
	}
	w.device(byHook, "huawei:1")
	hook.answer(answer{status: 500}, answer{status: 200}, answer{status: 429, header: map[string]string{"Retry-After": "30"}}, answer{status: 410})
	w.say("hello")
	w.examine()
	w.results(1)
	w.idle()
	w.pass(time.Minute)
	if got := w.results(2); got != "retry sent" {
		t.Errorf("the attempts are %s", got)
	}
	requests := hook.requests()
	for _, r := range requests {
		at := r.header.Get("Rialto-Timestamp")
		if r.header.Get("Rialto-Signature") != "v1="+webhook.Sign(secret, at, r.body) {
			t.Error("a request has another signature")
		}
		v := decode(t, r.body)
		if v["token"] != "huawei:1" || v["type"] != "push" || v["key"] != "1:"+talk.String()+":1" || child(v, "notification", "user") != bob.String() {
			t.Errorf("the body is %v", v)
		}
	}
	w.say("again")
	w.examine()
	w.results(3)
	w.idle()
	w.pass(31 * time.Second)
	if got := w.results(4); got != "retry sent retry gone" || len(w.list(bob, 1)) != 0 {
		t.Errorf("the attempts are %s", got)
	}
}

// FCM gets an access token for a signed assertion, which is used until it ends, or is refused.
func TestFCM(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	google := newService(t)
	account, err := json.Marshal(map[string]string{"project_id": "shop", "client_email": "push@shop", "private_key": string(pemOf(t, key)), "private_key_id": "k1", "token_uri": google.URL + "/token"})
	must(t, err)
	w := open(t, func(c *push.Config) { c.FCM = push.FCMConfig{Credentials: file(t, account), URL: google.URL} })
	w.run()
	w.device(fcm, "token-1")
	grant := func(token string) answer {
		return answer{status: 200, body: `{"access_token":"` + token + `","expires_in":3600}`}
	}
	gone := answer{status: 404, body: `{"error":{"status":"NOT_FOUND","details":[{"errorCode":"UNREGISTERED"}]}}`}
	google.answer(grant("a"), answer{status: 200}, answer{status: 401}, grant("b"), answer{status: 200}, answer{status: 200}, grant("c"), gone)
	_, err = w.SetSettings(t.Context(), bob, &pushv1.PushSettings{ShowText: true})
	must(t, err)
	made := 0 // attempts
	for i, results := range []string{"sent", "sent retry sent", "sent retry sent sent", "sent retry sent sent gone"} {
		w.say("hello")
		w.examine()
		for ; made < len(strings.Fields(results)); made++ {
			w.results(made + 1)
			w.idle()
			w.pass(2 * time.Second) // the delay of a retry
		}
		if got := w.results(1); got != results {
			t.Errorf("after message %d, the attempts are %s", i+1, got)
		}
		if i == 2 {
			w.pass(time.Hour)
		}
	}
	var paths []string
	for _, r := range google.requests() {
		paths = append(paths, r.path)
	}
	token, send := "POST /token", "POST /v1/projects/shop/messages:send"
	if want := []string{token, send, send, token, send, send, token, send}; !slices.Equal(paths, want) {
		t.Errorf("the requests are %v", paths)
	}
	form, err := url.ParseQuery(string(google.requests()[0].body))
	must(t, err)
	claims := jwt.MapClaims{}
	assertion, _, err := jwt.NewParser().ParseUnverified(form.Get("assertion"), claims)
	must(t, err)
	signing := form.Get("assertion")
	if err := assertion.Method.Verify(signing[:strings.LastIndexByte(signing, '.')], assertion.Signature, &key.PublicKey); err != nil || assertion.Method.Alg() != "RS256" ||
		claims["iss"] != "push@shop" || claims["aud"] != google.URL+"/token" || claims["scope"] != "https://www.googleapis.com/auth/firebase.messaging" || form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		t.Errorf("the assertion has %v: %v", claims, err)
	}
	first := google.requests()[1]
	v := decode(t, first.body)
	if first.header.Get("Authorization") != "Bearer a" || child(v, "message", "token") != "token-1" || child(v, "message", "notification", "title") != "Ann" || child(v, "message", "notification", "body") != "hello" ||
		child(v, "message", "data", "conversation") != talk.String() || child(v, "message", "data", "badge") != "1" || child(v, "message", "android", "priority") != "HIGH" || child(v, "message", "android", "ttl") != "86400s" {
		t.Errorf("the message is %v", v)
	}
}

// APNs gets a provider token, which is used for a while, and says which devices are gone.
func TestAPNs(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	apple := newService(t)
	w := open(t, func(c *push.Config) {
		c.APNs = push.APNsConfig{Key: file(t, pemOf(t, key)), KeyID: "ABC123DEFG", Team: "DEF123GHIJ", Topic: "com.example.chat", URL: apple.URL}
	})
	w.run()
	w.device(apns, "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0")
	apple.answer(answer{status: 200}, answer{status: 403, body: `{"reason":"ExpiredProviderToken"}`}, answer{status: 200}, answer{status: 410, body: `{"reason":"Unregistered"}`})
	made := 0 // attempts
	for i, results := range []string{"sent", "sent retry sent", "sent retry sent gone"} {
		w.say("hello")
		w.examine()
		for ; made < len(strings.Fields(results)); made++ {
			w.results(made + 1)
			w.idle()
			w.pass(2 * time.Second) // the delay of a retry
		}
		if got := w.results(1); got != results {
			t.Errorf("after message %d, the attempts are %s", i+1, got)
		}
	}
	var tokens []string
	for _, r := range apple.requests() {
		bearer := strings.TrimPrefix(r.header.Get("Authorization"), "bearer ")
		claims := jwt.MapClaims{}
		parsed, _, err := jwt.NewParser().ParseUnverified(bearer, claims)
		must(t, err)
		if err := parsed.Method.Verify(bearer[:strings.LastIndexByte(bearer, '.')], parsed.Signature, &key.PublicKey); err != nil || parsed.Method.Alg() != "ES256" || parsed.Header["kid"] != "ABC123DEFG" || claims["iss"] != "DEF123GHIJ" {
			t.Errorf("the token has %v and %v: %v", parsed.Header, claims, err)
		}
		tokens = append(tokens, bearer)
		for name, want := range map[string]string{"Apns-Topic": "com.example.chat", "Apns-Push-Type": "alert", "Apns-Priority": "10", "Apns-Collapse-Id": "c" + talk.String()} {
			if r.header.Get(name) != want {
				t.Errorf("%s is %q", name, r.header.Get(name))
			}
		}
		if v := decode(t, r.body); !strings.HasPrefix(r.path, "POST /3/device/00fc13adff") || child(v, "aps", "alert", "body") != "New message" || child(v, "rialto", "conversation") != talk.String() {
			t.Errorf("%s has %v", r.path, v)
		}
	}
	if len(tokens) != 4 || tokens[0] != tokens[1] || tokens[1] == tokens[2] || tokens[2] != tokens[3] {
		t.Errorf("a token is used until it is refused: %d requests", len(tokens))
	}
}

func TestConfig(t *testing.T) {
	for says, c := range map[string]push.Config{
		"push.workers":        {Workers: 1001},
		"push.contact":        {Contact: "me"},
		"push.internal_hosts": {InternalHosts: []string{"http://x"}},
		"push.webhook.url":    {Webhook: webhook.Config{URL: "http://example.com", Secret: "a secret of 16 characters"}},
		"push.fcm: url":       {FCM: push.FCMConfig{URL: "ftp://x"}},
		"push.apns: url":      {APNs: push.APNsConfig{URL: "ftp://x"}},
		"push.apns: with key": {APNs: push.APNsConfig{Key: "x"}},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want an error that says %s", err, says)
		}
	}
	for _, contact := range []string{"", "ops@example.com", "https://example.com/contact"} {
		must(t, push.Config{Contact: contact}.Check())
	}
	w := open(t, nil)
	for says, c := range map[string]push.Config{
		"push.fcm.credentials: open":                    {FCM: push.FCMConfig{Credentials: "/nonexistent"}},
		"push.fcm.credentials: the file is not":         {FCM: push.FCMConfig{Credentials: file(t, []byte("x"))}},
		"push.fcm.credentials: the file has no":         {FCM: push.FCMConfig{Credentials: file(t, []byte("{}"))}},
		"push.apns.key: open":                           {APNs: push.APNsConfig{Key: "/nonexistent"}},
		"push.apns.key: the file is not a signing key ": {APNs: push.APNsConfig{Key: file(t, []byte("x"))}},
	} {
		if _, err := push.New(t.Context(), push.Deps{DB: w.db, Jobs: w.jobs, Secret: make([]byte, 32), Clock: w.clock}, c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want an error that says %s", err, says)
		}
	}
}
