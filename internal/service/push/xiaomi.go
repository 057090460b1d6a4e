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

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// XiaomiConfig of Mi Push; the zero value is none.
type XiaomiConfig struct {
	// AppSecret of the app at Xiaomi's developer site. Default none.
	AppSecret string `yaml:"app_secret"`
	// Package is the name of the app's package.
	Package string `yaml:"package"`
	// Channel is the notification channel that Xiaomi has assigned to the app for chat messages. Default none.
	Channel string `yaml:"channel"`
	// URL of the API; default https://api.xmpush.xiaomi.com. Apps outside of mainland China have others.
	URL string `yaml:"url"`
}

func (c XiaomiConfig) set() bool { return c.AppSecret != "" }

func (c XiaomiConfig) check() error {
	if c.set() != (c.Package != "") {
		return errors.New("give app_secret and package together")
	}
	return checkURLs(map[string]string{"url": c.URL})
}

// xiaomiProvider sends by version 3 of the API for registration ids.
type xiaomiProvider struct {
	config  XiaomiConfig
	address string
	calls   *egress.Client
	clock   clock.Clock
}

func newXiaomi(config XiaomiConfig, calls *outgoing.Calls, c clock.Clock) (*xiaomiProvider, error) {
	base := strings.TrimSuffix(cmp.Or(config.URL, "https://api.xmpush.xiaomi.com"), "/")
	client, err := clientOf("xiaomi.url", base, outgoing.Xiaomi, calls)
	return &xiaomiProvider{config: config, address: base + "/v3/message/regid", calls: client, clock: c}, err
}

func (x *xiaomiProvider) close() { x.calls.Close() }

func (x *xiaomiProvider) send(ctx context.Context, p *subscription, n *notification) result {
	payload, err := json.Marshal(n)
	if err != nil {
		return result{kind: failed, detail: err.Error()}
	}
	title, body := n.texts(49, 127)
	form := url.Values{"registration_id": {p.token}, "restricted_package_name": {x.config.Package}, "pass_through": {"0"}, "notify_type": {"-1"}, "title": {title}, "description": {body},
		"payload": {string(payload)}, "notify_id": {strconv.Itoa(int(n.tagNumber()))}, "time_to_live": {strconv.FormatInt(providerTTL, 10)}}
	if x.config.Channel != "" {
		form.Set("extra.channel_id", x.config.Channel)
	}
	answer, err := post(ctx, x.calls, x.address, "application/x-www-form-urlencoded", []byte(form.Encode()), http.Header{"Authorization": {"key=" + x.config.AppSecret}})
	if err != nil {
		return unanswered(err)
	}
	return x.resultOf(answer)
}

// resultOf reads an answer. Its status is 200 also if the code says that it failed.
func (x *xiaomiProvider) resultOf(answer *egress.Answer) result {
	var got struct {
		Code        *int   `json:"code"`
		Description string `json:"description"`
		Reason      string `json:"reason"`
	}
	asked := answer.RetryAfter(x.clock.Now())
	if json.Unmarshal(answer.Body, &got) != nil || got.Code == nil {
		return uncoded(answer.Status, asked)
	}
	detail := strings.TrimSpace(strings.Join([]string{strconv.Itoa(*got.Code), got.Description, got.Reason}, " "))
	r := result{kind: failed, status: answer.Status, detail: detail}
	switch *got.Code {
	case 0:
		return result{kind: sent, status: answer.Status}
	case 10029: // the device is not known
		r.kind = gone
	case 20301: // it was not sent, for the reason
		if strings.Contains(strings.ToLower(got.Reason), "no valid targets") {
			r.kind = gone
		}
	case -1, 1, 10001, 10002, 10003, 20607, 22102, 26003, 65029: // an error of theirs, or they are busy
		r.kind = retry
	case 10027, 10034: // too many calls; too many messages of the day
		return paused(answer.Status, asked, detail)
	}
	return r
}
