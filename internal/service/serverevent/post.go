package serverevent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// post delivers a batch to a webhook, and notes whether that succeeded. A *outgoing.Refused is its error if it was no attempt.
func (s *Service) post(ctx context.Context, c *consumer, h *delivery, b *batch, retried bool) error {
	body, err := protojson.Marshal(&eventv1.EventDelivery{Consumer: c.name, Events: b.events, Gap: b.gap, Retried: retried})
	if err != nil {
		return err
	}
	began := time.Now()
	err = h.Call(ctx, json.RawMessage(body), nil)
	if outgoing.IsRefused(err) {
		return err
	}
	h.asked = true
	h.slow = h.slow || s.deliverer.isSlow(time.Since(began))
	if err != nil && ctx.Err() != nil {
		return err
	}
	text := ""
	if err != nil {
		s.failed.Add(1)
		text = webhook.ErrorText(err)
	} else {
		s.delivered.Add(uint64(len(b.events)))
	}
	if h.failed.Swap(err != nil) != (err != nil) {
		if err := s.setError(ctx, c.name, text); err != nil {
			s.deps.Logger.Warn("the state of a webhook could not be stored", "consumer", c.name, "error", err)
		}
	}
	return err
}
