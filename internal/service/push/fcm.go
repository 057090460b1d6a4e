package push

import (
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
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
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
	access        accessToken
}

func newFCM(config FCMConfig, calls *outgoing.Calls, c clock.Clock) (*fcmProvider, error) {
	raw, err := os.ReadFile(config.Credentials)
	if err != nil {
		return nil, fmt.Errorf("push.fcm.credentials: %w", err)
	}
	f := &fcmProvider{clock: c}
	f.access = accessToken{clock: c, request: f.requestToken}
	if err := json.Unmarshal(raw, &f.account); err != nil {
		return nil, errors.New("push.fcm.credentials: the file is not the JSON of a service account's key")
	}
	if f.key, err = jwt.ParseRSAPrivateKeyFromPEM([]byte(f.account.Key)); err != nil || f.account.Project == "" || f.account.Email == "" {
		return nil, errors.New("push.fcm.credentials: the file has no project_id, client_email and private_key; download a key of a service account again")
	}
	f.account.TokenURI = cmp.Or(f.account.TokenURI, "https://oauth2.googleapis.com/token")
	base := strings.TrimSuffix(cmp.Or(config.URL, "https://fcm.googleapis.com"), "/")
	f.address = base + "/v1/projects/" + url.PathEscape(f.account.Project) + "/messages:send"
	if f.tokens, err = egress.New(egress.Config{URL: f.account.TokenURI, Kind: outgoing.FCMToken, Calls: calls}); err != nil {
		return nil, fmt.Errorf("push.fcm.credentials: token_uri: %w", err)
	}
	if f.calls, err = egress.New(egress.Config{URL: base, Kind: outgoing.FCM, Calls: calls}); err != nil {
		return nil, fmt.Errorf("push.fcm.url: %w", err)
	}
	return f, nil
}

func (f *fcmProvider) close() {
	f.tokens.Close()
	f.calls.Close()
}

// requestToken gets an access token for a signed assertion.
func (f *fcmProvider) requestToken(ctx context.Context) (string, time.Duration, error) {
	now := f.clock.Now()
	claims := jwt.MapClaims{"iss": f.account.Email, "scope": fcmScope, "aud": f.account.TokenURI, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	assertion := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	assertion.Header["kid"] = f.account.KeyID
	signed, err := assertion.SignedString(f.key)
	if err != nil {
		return "", 0, err
	}
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {signed}}
	return oauthToken(ctx, f.tokens, f.account.TokenURI, form)
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
	token, err := f.access.get(ctx)
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
	answer, err := post(ctx, f.calls, f.address, "application/json", body, http.Header{"Authorization": {"Bearer " + token}})
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
		f.access.forget(token)
		r.kind = retry
	case answer.Status == http.StatusNotFound && detail != "UNREGISTERED": // the project does not exist
		r.kind = failed
	}
	return r
}
