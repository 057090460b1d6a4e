package push

import (
	"context"
	"net/http"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
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
)

// openProviders makes the providers that the configuration has.
func (s *Service) openProviders() (err error) {
	s.providers = map[pushv1.PushProvider]provider{}
	if s.config.Off {
		return nil
	}
	s.poster = egress.NewPoster(egress.FetchConfig{InternalHosts: s.config.InternalHosts})
	s.providers[webPush] = s.newWebPush()
	if s.config.Webhook.Set() {
		if s.providers[byHook], err = newHookProvider(s.config.Webhook, s.deps.Clock); err != nil {
			return err
		}
	}
	if s.config.FCM.set() {
		if s.providers[fcm], err = newFCM(s.config.FCM, s.deps.Clock); err != nil {
			return err
		}
	}
	if s.config.APNs.set() {
		if s.providers[apns], err = newAPNs(s.config.APNs, s.deps.Clock); err != nil {
			return err
		}
	}
	return nil
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
func unanswered(err error) result { return result{kind: retry, detail: cause(err)} }
