package push

import (
	"context"
	"errors"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/webhook"
)

// hookProvider posts notifications to the operator's own server.
type hookProvider struct{ hook *webhook.Hook }

func newHookProvider(config webhook.Config, calls *outgoing.Calls, c clock.Clock) (*hookProvider, error) {
	hook, err := webhook.New(config, webhook.Kind{Kind: outgoing.PushWebhook, Calls: calls}, c)
	if err != nil {
		return nil, err
	}
	return &hookProvider{hook}, nil
}

// hookPush is the body of a request.
type hookPush struct {
	Type string `json:"type"` // push
	// Key is the same each time that a notification is sent again.
	Key          string        `json:"key"`
	Subscription string        `json:"subscription"`
	Token        string        `json:"token"`
	Notification *notification `json:"notification"`
}

func (h *hookProvider) send(ctx context.Context, p *subscription, n *notification) result {
	number := strconv.FormatInt(p.id, 10)
	err := h.hook.Call(ctx, hookPush{Type: "push", Key: number + ":" + n.Conversation + ":" + n.Seq, Subscription: number, Token: p.token, Notification: n}, nil)
	var status *webhook.StatusError
	switch {
	case err == nil:
		return result{kind: sent, status: 200}
	case errors.As(err, &status):
		return resultOf(status.Status, status.RetryAfter, err.Error())
	}
	return unanswered(err)
}

func (h *hookProvider) close() { h.hook.Close() }
