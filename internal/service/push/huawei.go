package push

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// HuaweiConfig of Huawei's Push Kit; the zero value is none.
type HuaweiConfig struct {
	// AppID is the app's id in AppGallery Connect, which is also the client id of its OAuth 2.0 client. Default none.
	AppID string `yaml:"app_id"`
	// AppSecret is the secret of that client.
	AppSecret string `yaml:"app_secret"`
	// ProjectID has messages sent by the project (v2 of the API) in place of the app (v1). Default none.
	ProjectID string `yaml:"project_id"`
	// BadgeClass is the app's entry activity, such as com.example.chat.MainActivity, whose icon shows the badge. Default none: no badge.
	BadgeClass string `yaml:"badge_class"`
	// Category of the messages, for apps with that right, such as IM. Default none.
	Category string `yaml:"category"`
	// URL of the API; default https://push-api.cloud.huawei.com.
	URL string `yaml:"url"`
	// TokenURL gives access tokens; default https://oauth-login.cloud.huawei.com/oauth2/v3/token.
	TokenURL string `yaml:"token_url"`
}

func (c HuaweiConfig) set() bool { return c.AppID != "" }

func (c HuaweiConfig) check() error {
	if c.set() != (c.AppSecret != "") {
		return errors.New("give app_id and app_secret together")
	}
	return checkURLs(map[string]string{"url": c.URL, "token_url": c.TokenURL})
}

// huaweiProvider sends by the REST API of Push Kit for HMS, version 1 or 2.
type huaweiProvider struct {
	config            HuaweiConfig
	address, tokenURL string
	tokens, calls     *egress.Client
	clock             clock.Clock
	access            accessToken
}

func newHuawei(config HuaweiConfig, calls *outgoing.Calls, c clock.Clock) (*huaweiProvider, error) {
	h := &huaweiProvider{config: config, clock: c, tokenURL: cmp.Or(config.TokenURL, "https://oauth-login.cloud.huawei.com/oauth2/v3/token")}
	h.access = accessToken{clock: c, request: h.requestToken}
	base := strings.TrimSuffix(cmp.Or(config.URL, "https://push-api.cloud.huawei.com"), "/")
	h.address = base + "/v1/" + url.PathEscape(config.AppID) + "/messages:send"
	if config.ProjectID != "" {
		h.address = base + "/v2/" + url.PathEscape(config.ProjectID) + "/messages:send"
	}
	var err error
	if h.tokens, err = clientOf("huawei.token_url", h.tokenURL, outgoing.HuaweiToken, calls); err != nil {
		return nil, err
	}
	h.calls, err = clientOf("huawei.url", base, outgoing.Huawei, calls)
	return h, err
}

func (h *huaweiProvider) close() {
	h.tokens.Close()
	h.calls.Close()
}

func (h *huaweiProvider) requestToken(ctx context.Context) (string, time.Duration, error) {
	return oauthToken(ctx, h.tokens, h.tokenURL, url.Values{"grant_type": {"client_credentials"}, "client_id": {h.config.AppID}, "client_secret": {h.config.AppSecret}})
}

// huaweiMessage is the message of a body.
type huaweiMessage struct {
	Data    string        `json:"data"` // the app gets it when the notification is tapped
	Android huaweiAndroid `json:"android"`
	Token   []string      `json:"token"`
}

type huaweiAndroid struct {
	Urgency      string             `json:"urgency"`
	TTL          string             `json:"ttl"`
	Category     string             `json:"category,omitempty"`
	Notification huaweiNotification `json:"notification"`
}

type huaweiNotification struct {
	Title       string            `json:"title"`
	Body        string            `json:"body"`
	ClickAction huaweiClickAction `json:"click_action"`
	Tag         string            `json:"tag"` // a newer one of the tag replaces it
	Badge       *huaweiBadge      `json:"badge,omitempty"`
}

type huaweiClickAction struct {
	Type int `json:"type"`
}

type huaweiBadge struct {
	Class string `json:"class"`
	Count uint64 `json:"set_num"`
}

// huaweiOpensApp is the click_action that starts the app.
const huaweiOpensApp = 3

func (h *huaweiProvider) send(ctx context.Context, p *subscription, n *notification) result {
	token, err := h.access.get(ctx)
	if err != nil {
		return unanswered(err)
	}
	data, err := json.Marshal(n)
	if err != nil {
		return result{kind: failed, detail: err.Error()}
	}
	title, body := n.texts(100, maxPreview)
	m := huaweiMessage{Data: string(data), Token: []string{p.token}, Android: huaweiAndroid{Urgency: "HIGH", TTL: strconv.FormatInt(providerTTL/1000, 10) + "s", Category: h.config.Category,
		Notification: huaweiNotification{Title: title, Body: body, ClickAction: huaweiClickAction{huaweiOpensApp}, Tag: topicOf(n)}}}
	if h.config.BadgeClass != "" {
		m.Android.Notification.Badge = &huaweiBadge{h.config.BadgeClass, min(n.Badge, 99)} // the API's bound
	}
	raw, err := json.Marshal(map[string]any{"validate_only": false, "message": m})
	if err != nil {
		return result{kind: failed, detail: err.Error()}
	}
	answer, err := post(ctx, h.calls, h.address, "application/json", raw, http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		return unanswered(err)
	}
	return h.resultOf(answer, token)
}

// resultOf reads an answer, which has a code of its own beside the status.
func (h *huaweiProvider) resultOf(answer *egress.Answer, token string) result {
	var got struct {
		Code    string `json:"code"`
		Message string `json:"msg"`
	}
	_ = json.Unmarshal(answer.Body, &got) // an answer without it has a status at least
	detail := strings.TrimSpace(got.Code + " " + strings.ReplaceAll(got.Message, token, "…"))
	asked := answer.RetryAfter(h.clock.Now())
	switch got.Code {
	case "80000000":
		return result{kind: sent, status: answer.Status}
	case "80300007", "80100000": // no token is valid; some are not, and there is one
		return result{kind: gone, status: answer.Status, detail: detail}
	case "80200001", "80200003": // the access token is refused, or has expired
		h.access.forget(token)
		return result{kind: retry, status: answer.Status, detail: detail}
	case "80600003", "81000001": // their authorization service failed; an internal error
		return result{kind: retry, status: answer.Status, detail: detail}
	}
	switch r := resultOf(answer.Status, asked, detail); {
	case answer.Status == http.StatusUnauthorized:
		h.access.forget(token)
		return result{kind: retry, status: answer.Status, detail: detail}
	case answer.Status == http.StatusServiceUnavailable: // flow control
		return paused(answer.Status, asked, detail)
	case r.kind == retry:
		return r
	}
	return result{kind: failed, status: answer.Status, detail: detail}
}
