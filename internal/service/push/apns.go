package push

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// APNsConfig of the Apple Push Notification service; the zero value is none.
type APNsConfig struct {
	// Key is the file of an authentication token signing key (.p8), as Apple's developer account gives it. Default none.
	Key string `yaml:"key"`
	// KeyID of the key, of 10 characters.
	KeyID string `yaml:"key_id"`
	// Team is the id of the team, of 10 characters.
	Team string `yaml:"team"`
	// Topic is the bundle id of the app.
	Topic string `yaml:"topic"`
	// URL of the service; default https://api.push.apple.com. For apps in development: https://api.sandbox.push.apple.com.
	URL string `yaml:"url"`
}

func (c APNsConfig) set() bool { return c.Key != "" }

func (c APNsConfig) check() error {
	if c.URL != "" {
		if err := egress.CheckURL(c.URL); err != nil {
			return fmt.Errorf("url: %w", err)
		}
	}
	if c.set() && (c.KeyID == "" || c.Team == "" || c.Topic == "") {
		return errors.New("with key, give key_id, team and topic as well")
	}
	return nil
}

// apnsTokenAge is how long a provider token is used. Apple refuses those older than an hour, and new ones more often than every 20 minutes.
const apnsTokenAge = 40 * time.Minute

// apnsProvider sends by HTTP/2 with provider tokens.
type apnsProvider struct {
	config  APNsConfig
	key     *ecdsa.PrivateKey
	address string
	calls   *egress.Client
	clock   clock.Clock

	mu     sync.Mutex // guards the fields below
	token  string
	sinceS int64 // the second in which the token was made
}

func newAPNs(config APNsConfig, calls *outgoing.Calls, c clock.Clock) (*apnsProvider, error) {
	raw, err := os.ReadFile(config.Key)
	if err != nil {
		return nil, fmt.Errorf("push.apns.key: %w", err)
	}
	a := &apnsProvider{config: config, clock: c, address: strings.TrimSuffix(cmp.Or(config.URL, "https://api.push.apple.com"), "/")}
	if a.key, err = jwt.ParseECPrivateKeyFromPEM(raw); err != nil {
		return nil, errors.New("push.apns.key: the file is not a signing key (.p8) of Apple")
	}
	if a.calls, err = egress.New(egress.Config{URL: a.address, Kind: outgoing.APNs, Calls: calls}); err != nil {
		return nil, fmt.Errorf("push.apns.url: %w", err)
	}
	return a, nil
}

func (a *apnsProvider) close() { a.calls.Close() }

// providerToken returns the present token.
func (a *apnsProvider) providerToken() (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	if a.token != "" && now.Unix()-a.sinceS < int64(apnsTokenAge.Seconds()) {
		return a.token, nil
	}
	t := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": a.config.Team, "iat": now.Unix()})
	t.Header["kid"] = a.config.KeyID
	signed, err := t.SignedString(a.key)
	if err != nil {
		return "", err
	}
	a.token, a.sinceS = signed, now.Unix()
	return signed, nil
}

// apnsPayload is what the device gets.
type apnsPayload struct {
	APS    apnsAlert     `json:"aps"`
	Rialto *notification `json:"rialto"`
}

type apnsAlert struct {
	Alert   fcmText `json:"alert"`
	Badge   uint64  `json:"badge"`
	Sound   string  `json:"sound"`
	Thread  string  `json:"thread-id"`
	Mutable int     `json:"mutable-content"` // lets the app's extension replace the text
}

func (a *apnsProvider) send(ctx context.Context, p *subscription, n *notification) result {
	token, err := a.providerToken()
	if err != nil {
		return result{kind: failed, detail: err.Error()}
	}
	body, err := json.Marshal(apnsPayload{APS: apnsAlert{Alert: fcmText{n.Title, cmp.Or(n.Body, hiddenBody)}, Badge: n.Badge, Sound: "default", Thread: topicOf(n), Mutable: 1}, Rialto: n})
	if err != nil {
		return result{kind: failed, detail: err.Error()}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.address+"/3/device/"+url.PathEscape(p.token), bytes.NewReader(body))
	if err != nil {
		return result{kind: failed, detail: err.Error()}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "bearer "+token)
	r.Header.Set("apns-topic", a.config.Topic)
	r.Header.Set("apns-push-type", "alert")
	r.Header.Set("apns-priority", "10")
	r.Header.Set("apns-collapse-id", topicOf(n))
	r.Header.Set("apns-expiration", strconv.FormatInt(a.clock.Now().Add(maxAge).Unix(), 10))
	answer, err := a.calls.Do(r, nil)
	if err != nil {
		return unanswered(err)
	}
	return a.resultOf(answer, token)
}

// resultOf reads an answer: https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns.
func (a *apnsProvider) resultOf(answer *egress.Answer, token string) result {
	var e struct {
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(answer.Body, &e) // an answer without it has a status at least
	done := resultOf(answer.Status, answer.RetryAfter(a.clock.Now()), e.Reason)
	switch {
	case e.Reason == "BadDeviceToken" || e.Reason == "Unregistered" || e.Reason == "DeviceTokenNotForTopic":
		done.kind = gone
	case answer.Status == http.StatusNotFound: // of the path
		done.kind = failed
	case slices.Contains([]string{"ExpiredProviderToken", "InvalidProviderToken"}, e.Reason):
		a.mu.Lock()
		if a.token == token && e.Reason == "ExpiredProviderToken" {
			a.token = ""
		}
		a.mu.Unlock()
		done.kind = retry
	}
	return done
}
