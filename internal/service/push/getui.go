package push

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// GetuiConfig of Getui; the zero value is none.
type GetuiConfig struct {
	// AppID of the app at Getui. Default none.
	AppID string `yaml:"app_id"`
	// AppKey of the app.
	AppKey string `yaml:"app_key"`
	// MasterSecret of the app, which signs requests for tokens.
	MasterSecret string `yaml:"master_secret"`
	// URL of the API; default https://restapi.getui.com.
	URL string `yaml:"url"`
}

func (c GetuiConfig) set() bool { return c.AppID != "" }

func (c GetuiConfig) check() error {
	if c.set() != (c.AppKey != "") || c.set() != (c.MasterSecret != "") {
		return errors.New("give app_id, app_key and master_secret together")
	}
	return checkURLs(map[string]string{"url": c.URL})
}

// getuiProvider sends by version 2 of the REST API.
type getuiProvider struct {
	config  GetuiConfig
	address string
	calls   *egress.Client
	clock   clock.Clock
	access  accessToken
}

func newGetui(config GetuiConfig, calls *outgoing.Calls, c clock.Clock) (*getuiProvider, error) {
	base := strings.TrimSuffix(cmp.Or(config.URL, "https://restapi.getui.com"), "/")
	g := &getuiProvider{config: config, clock: c, address: base + "/v2/" + url.PathEscape(config.AppID)}
	g.access = accessToken{clock: c, request: g.requestToken}
	var err error
	g.calls, err = clientOf("getui.url", base, outgoing.Getui, calls)
	return g, err
}

func (g *getuiProvider) close() { g.calls.Close() }

// getuiAnswer is what all answers have.
type getuiAnswer struct {
	Code    *int            `json:"code"`
	Message string          `json:"msg"`
	Data    json.RawMessage `json:"data"`
}

// requestToken gets a token for a signature of the time by the master secret.
func (g *getuiProvider) requestToken(ctx context.Context) (string, time.Duration, error) {
	now := g.clock.Now().UnixMilli()
	at := strconv.FormatInt(now, 10)
	sum := sha256.Sum256([]byte(g.config.AppKey + at + g.config.MasterSecret))
	body, err := json.Marshal(map[string]string{"sign": hex.EncodeToString(sum[:]), "timestamp": at, "appkey": g.config.AppKey})
	if err != nil {
		return "", 0, err
	}
	answer, err := post(ctx, g.calls, g.address+"/auth", "application/json", body, nil)
	if err != nil {
		return "", 0, err
	}
	return readGetuiToken(answer, now)
}

// readGetuiToken reads what the token endpoint answers at a time.
func readGetuiToken(answer *egress.Answer, now int64) (string, time.Duration, error) {
	var got getuiAnswer
	var granted struct {
		Token  string `json:"token"`
		EndsMs string `json:"expire_time"`
	}
	err := errors.Join(json.Unmarshal(answer.Body, &got), json.Unmarshal(got.Data, &granted))
	ends, notNumber := strconv.ParseInt(granted.EndsMs, 10, 64)
	if err != nil || notNumber != nil || got.Code == nil || *got.Code != 0 || granted.Token == "" {
		return "", 0, fmt.Errorf("no token of Getui: it answered with status %d, %q; check push.getui", answer.Status, got.Message)
	}
	return granted.Token, time.Duration(min(max(ends, now)-now, maxTokenLife.Milliseconds())) * time.Millisecond, nil
}

func (g *getuiProvider) send(ctx context.Context, p *subscription, n *notification) result {
	token, err := g.access.get(ctx)
	if err != nil {
		return unanswered(err)
	}
	payload, err := json.Marshal(n)
	if err != nil {
		return result{kind: failed, detail: err.Error()}
	}
	title, text := n.texts(50, maxPreview)
	body, err := json.Marshal(map[string]any{
		"request_id": rand.Text(), // one that comes again is lost, so that each attempt has its own
		"settings":   map[string]any{"ttl": providerTTL},
		"audience":   map[string]any{"cid": []string{p.token}},
		"push_message": map[string]any{"notification": map[string]any{"title": title, "body": text, "click_type": "payload", "payload": string(payload),
			"notify_id": n.tagNumber(), "channel_level": 4}},
	})
	if err != nil {
		return result{kind: failed, detail: err.Error()}
	}
	answer, err := post(ctx, g.calls, g.address+"/push/single/cid", "application/json", body, http.Header{"Token": {token}})
	if err != nil {
		return unanswered(err)
	}
	return g.resultOf(answer, token)
}

// resultOf reads an answer, which has a code of its own beside the status.
func (g *getuiProvider) resultOf(answer *egress.Answer, token string) result {
	var got getuiAnswer
	asked := answer.RetryAfter(g.clock.Now())
	if json.Unmarshal(answer.Body, &got) != nil || got.Code == nil {
		return uncoded(answer.Status, asked)
	}
	detail := strings.TrimSpace(strconv.Itoa(*got.Code) + " " + strings.ReplaceAll(got.Message, token, "…"))
	r := result{kind: failed, status: answer.Status, detail: detail}
	switch *got.Code {
	case 0:
		return result{kind: sent, status: answer.Status}
	case 10001: // the token has expired, or is wrong
		g.access.forget(token)
		r.kind = retry
	case 2: // the service is starting
		r.kind = retry
	case 10003, 10005: // too many calls of a minute
		return paused(answer.Status, asked, detail)
	case 20001: // a parameter is wrong, which the message names
		if strings.Contains(got.Message, "target user is invalid") {
			r.kind = gone
		}
	default:
		if answer.Status >= 500 {
			r.kind = retry
		}
	}
	return r
}
