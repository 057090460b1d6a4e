package push

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
)

// FCMConfig of Firebase Cloud Messaging; the zero value is none.
type FCMConfig struct {
	// Credentials is the file of a service account's key, in JSON, as the Google Cloud console gives it. Default none.
	Credentials string `yaml:"credentials"`
	// URL of the API; default https://fcm.googleapis.com.
	URL string `yaml:"url"`
}

func (c FCMConfig) set() bool { return c.Credentials != "" }

func (c FCMConfig) check() error {
	if c.URL == "" {
		return nil
	}
	if err := egress.CheckURL(c.URL); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	return nil
}

const (
	fcmScope = "https://www.googleapis.com/auth/firebase.messaging"
	// tokenMargin is how long before its end an access token is not used any more.
	tokenMargin = time.Minute
	// hiddenBody is shown by devices whose app does not replace it, if the user shows no text.
	hiddenBody = "New message"
)

// serviceAccount is what the file of credentials has.
type serviceAccount struct {
	Project  string `json:"project_id"`
	Email    string `json:"client_email"`
	Key      string `json:"private_key"`
	KeyID    string `json:"private_key_id"`
	TokenURI string `json:"token_uri"`
}

// fcmProvider sends by the HTTP v1 API.
type fcmProvider struct {
	account       serviceAccount
	key           *rsa.PrivateKey
	address       string
	tokens, calls *egress.Client
	clock         clock.Clock

	mu      sync.Mutex // guards the fields below; held while a token is requested, so that one request does it
	token   string
	validMs int64
}

func newFCM(config FCMConfig, c clock.Clock) (*fcmProvider, error) {
	raw, err := os.ReadFile(config.Credentials)
	if err != nil {
		return nil, fmt.Errorf("push.fcm.credentials: %w", err)
	}
	f := &fcmProvider{clock: c}
	if err := json.Unmarshal(raw, &f.account); err != nil {
		return nil, errors.New("push.fcm.credentials: the file is not the JSON of a service account's key")
	}
	if f.key, err = jwt.ParseRSAPrivateKeyFromPEM([]byte(f.account.Key)); err != nil || f.account.Project == "" || f.account.Email == "" {
		return nil, errors.New("push.fcm.credentials: the file has no project_id, client_email and private_key; download a key of a service account again")
	}
	f.account.TokenURI = cmp.Or(f.account.TokenURI, "https://oauth2.googleapis.com/token")
	base := strings.TrimSuffix(cmp.Or(config.URL, "https://fcm.googleapis.com"), "/")
	f.address = base + "/v1/projects/" + url.PathEscape(f.account.Project) + "/messages:send"
	if f.tokens, err = egress.New(egress.Config{URL: f.account.TokenURI}); err != nil {
		return nil, fmt.Errorf("push.fcm.credentials: token_uri: %w", err)
	}
	if f.calls, err = egress.New(egress.Config{URL: base}); err != nil {
		return nil, fmt.Errorf("push.fcm.url: %w", err)
	}
	return f, nil
}

func (f *fcmProvider) close() {
	f.tokens.Close()
	f.calls.Close()
}

// accessToken returns a token that is valid for a while.
func (f *fcmProvider) accessToken(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	if now.UnixMilli() < f.validMs {
		return f.token, nil
	}
	claims := jwt.MapClaims{"iss": f.account.Email, "scope": fcmScope, "aud": f.account.TokenURI, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	assertion := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	assertion.Header["kid"] = f.account.KeyID
	signed, err := assertion.SignedString(f.key)
	if err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {signed}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.account.TokenURI, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := f.tokens.Do(r)
	if err != nil {
		return "", err
	}
	var got struct {
		Token   string `json:"access_token"`
		Seconds int64  `json:"expires_in"`
	}
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &got) != nil || got.Token == "" {
		return "", fmt.Errorf("no access token for FCM: the token endpoint answered with status %d", answer.Status)
	}
	f.token, f.validMs = got.Token, now.Add(time.Duration(got.Seconds)*time.Second-tokenMargin).UnixMilli()
	return f.token, nil
}

// forget makes the next call request another token.
func (f *fcmProvider) forget(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.token == token {
		f.validMs = 0
	}
}

// fcmMessage is the body of messages:send.
type fcmMessage struct {
	Token        string            `json:"token"`
	Data         map[string]string `json:"data"`
	Notification fcmText           `json:"notification"`
	Android      fcmAndroid        `json:"android"`
}

type fcmText struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body"`
}

type fcmAndroid struct {
	CollapseKey  string `json:"collapse_key"`
	Priority     string `json:"priority"`
	TTL          string `json:"ttl"`
	Notification struct {
		Tag   string `json:"tag"`
		Count uint64 `json:"notification_count"`
	} `json:"notification"`
}

func (f *fcmProvider) send(ctx context.Context, p *subscription, n *notification) result {
	token, err := f.accessToken(ctx)
	if err != nil {
		return unanswered(err)
	}
	m := fcmMessage{Token: p.token, Notification: fcmText{n.Title, cmp.Or(n.Body, hiddenBody)},
		Data:    map[string]string{"v": strconv.Itoa(n.Version), "user": n.User, "conversation": n.Conversation, "seq": n.Seq, "badge": strconv.FormatUint(n.Badge, 10)},
		Android: fcmAndroid{CollapseKey: topicOf(n), Priority: "HIGH", TTL: strconv.Itoa(int(maxAge.Seconds())) + "s"}}
	m.Android.Notification.Tag, m.Android.Notification.Count = topicOf(n), n.Badge
	body, err := json.Marshal(map[string]any{"message": m})
	if err != nil {
		return result{kind: failed, detail: err.Error()}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.address, bytes.NewReader(body))
	if err != nil {
		return result{kind: failed, detail: err.Error()}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := f.calls.Do(r)
	if err != nil {
		return unanswered(err)
	}
	return f.resultOf(answer, token)
}

// resultOf reads an answer: https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode.
func (f *fcmProvider) resultOf(answer *egress.Answer, token string) result {
	var e struct {
		Error struct {
			Status  string `json:"status"`
			Details []struct {
				Code string `json:"errorCode"`
			} `json:"details"`
		} `json:"error"`
	}
	_ = json.Unmarshal(answer.Body, &e) // an answer without it has a status at least
	detail := e.Error.Status
	for _, d := range e.Error.Details {
		detail = cmp.Or(d.Code, detail)
	}
	r := resultOf(answer.Status, answer.RetryAfter(f.clock.Now()), detail)
	switch {
	case answer.Status == http.StatusUnauthorized: // a token that was revoked
		f.forget(token)
		r.kind = retry
	case answer.Status == http.StatusNotFound && detail != "UNREGISTERED": // the project does not exist
		r.kind = failed
	}
	return r
}
