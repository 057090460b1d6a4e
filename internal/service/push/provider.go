package push

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/excerpt"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

// provider sends notifications to the devices of one kind.
type provider interface {
	send(ctx context.Context, p *subscription, n *notification) result
	close()
}

const (
	webPush = pushv1.PushProvider_PUSH_PROVIDER_WEB_PUSH
	byHook  = pushv1.PushProvider_PUSH_PROVIDER_WEBHOOK
	fcm     = pushv1.PushProvider_PUSH_PROVIDER_FCM
	apns    = pushv1.PushProvider_PUSH_PROVIDER_APNS
	huawei  = pushv1.PushProvider_PUSH_PROVIDER_HUAWEI
	xiaomi  = pushv1.PushProvider_PUSH_PROVIDER_XIAOMI
	getui   = pushv1.PushProvider_PUSH_PROVIDER_GETUI
)

const (
	// hiddenTitle and hiddenText are shown by devices whose providers require both, if the user shows no text.
	hiddenTitle = "New message"
	hiddenText  = "Open the app to read it."
	// providerTTL is how long a provider keeps a notification, in milliseconds.
	providerTTL = int64(maxAge / time.Millisecond)
)

// openProviders makes the providers that the configuration has.
func (s *Service) openProviders() (err error) {
	s.providers = map[pushv1.PushProvider]provider{}
	if s.config.Off {
		return nil
	}
	s.poster = egress.NewPoster(egress.FetchConfig{InternalHosts: s.config.InternalHosts, Calls: s.deps.Calls})
	s.providers[webPush] = s.newWebPush()
	if s.config.Webhook.Set() {
		if s.providers[byHook], err = newHookProvider(s.config.Webhook, s.deps.Calls, s.deps.Clock); err != nil {
			return err
		}
	}
	for _, p := range []struct {
		kind pushv1.PushProvider
		set  bool
		open func() (provider, error)
	}{
		{fcm, s.config.FCM.set(), func() (provider, error) { return newFCM(s.config.FCM, s.deps.Calls, s.deps.Clock) }},
		{apns, s.config.APNs.set(), func() (provider, error) { return newAPNs(s.config.APNs, s.deps.Calls, s.deps.Clock) }},
		{huawei, s.config.Huawei.set(), func() (provider, error) { return newHuawei(s.config.Huawei, s.deps.Calls, s.deps.Clock) }},
		{xiaomi, s.config.Xiaomi.set(), func() (provider, error) { return newXiaomi(s.config.Xiaomi, s.deps.Calls, s.deps.Clock) }},
		{getui, s.config.Getui.set(), func() (provider, error) { return newGetui(s.config.Getui, s.deps.Calls, s.deps.Clock) }},
	} {
		if !p.set {
			continue
		}
		if s.providers[p.kind], err = p.open(); err != nil {
			return err
		}
	}
	return nil
}

// host is what a delivery goes to: of Web Push the host of the endpoint, which a user chose, else the provider.
func (p *subscription) host() string {
	if p.provider == webPush {
		if u, err := url.Parse(p.token); err == nil {
			return u.Host
		}
	}
	return p.provider.String()
}

func (s *Service) closeProviders() {
	for _, p := range s.providers {
		p.close()
	}
}

// resultOf is what an answer says, if its status says all. A pause of any status counts.
func resultOf(status int, asked time.Duration, detail string) result {
	r := result{status: status, detail: detail}
	switch {
	case status >= 200 && status <= 299:
		r.kind, r.detail = sent, ""
	case status == http.StatusNotFound || status == http.StatusGone:
		r.kind = gone
	case status == http.StatusTooManyRequests:
		r.kind, r.wait = retry, retryAfter(asked)
	case status >= 500 || status == http.StatusRequestTimeout:
		r.kind = retry
		if asked > 0 {
			r.wait = retryAfter(asked)
		}
	default:
		r.kind = failed
	}
	return r
}

// unanswered is the result of a request that has no answer.
func unanswered(err error) result {
	r := result{kind: retry, detail: cause(err)}
	_ = errors.As(err, &r.refused) // otherwise it is nil
	return r
}

// paused is a result that asks for a pause: as long as the answer says, or a minute.
func paused(status int, asked time.Duration, detail string) result {
	return result{kind: retry, status: status, detail: detail, wait: retryAfter(asked)}
}

// uncoded is the result of an answer without the code that each answer of an API has: not the API has answered.
func uncoded(status int, asked time.Duration) result {
	r := resultOf(status, asked, "")
	if r.kind == sent || r.kind == gone {
		return result{kind: failed, status: status, detail: "the answer has no code; check the provider's url"}
	}
	return r
}

// texts of a notification for providers that require a title and a body, of so many characters at most.
func (n *notification) texts(maxTitle, maxBody int) (title, body string) {
	if n.Title == "" {
		return hiddenTitle, hiddenText
	}
	return excerpt.Marked(n.Title, maxTitle), excerpt.Marked(cmp.Or(n.Body, hiddenBody), maxBody)
}

// tagNumber is topicOf as a number, for providers that replace by number: 1 to 2^31-1. Of two conversations with one number, one replaces the other's
// notification.
func (n *notification) tagNumber() int32 {
	c, _ := strconv.ParseUint(n.Conversation, 10, 64) //nolint:errcheck // compose has formatted it
	return int32(c%math.MaxInt32) + 1
}

// post sends a body to a provider.
func post(ctx context.Context, by *egress.Client, address, contentType string, body []byte, header http.Header) (*egress.Answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, header)
	r.Header.Set("Content-Type", contentType)
	return by.Do(r, nil)
}

// oauthToken requests an access token of OAuth 2.0.
func oauthToken(ctx context.Context, by *egress.Client, address string, form url.Values) (token string, valid time.Duration, err error) {
	answer, err := post(ctx, by, address, "application/x-www-form-urlencoded", []byte(form.Encode()), nil)
	if err != nil {
		return "", 0, err
	}
	return readOAuthToken(answer)
}

// readOAuthToken reads what a token endpoint answers.
func readOAuthToken(answer *egress.Answer) (token string, valid time.Duration, err error) {
	var got struct {
		Token   string `json:"access_token"`
		Seconds int64  `json:"expires_in"`
	}
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &got) != nil || got.Token == "" {
		return "", 0, fmt.Errorf("no access token: the token endpoint answered with status %d; check the credentials of this provider", answer.Status)
	}
	return got.Token, time.Duration(min(max(got.Seconds, 0), int64(maxTokenLife/time.Second))) * time.Second, nil
}

// clientOf makes the client of a setting of that name.
func clientOf(setting, address string, kind outgoing.Kind, calls *outgoing.Calls) (*egress.Client, error) {
	c, err := egress.New(egress.Config{URL: address, Kind: kind, Calls: calls})
	if err != nil {
		return nil, fmt.Errorf("push.%s: %w", setting, err)
	}
	return c, nil
}

// checkURLs checks settings that are addresses, by name.
func checkURLs(addresses map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		if addresses[name] == "" {
			continue
		}
		if err := egress.CheckURL(addresses[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
