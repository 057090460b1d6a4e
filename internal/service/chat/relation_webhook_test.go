package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// While blocks cannot be read, a message gets an error after which it is sent again, whatever the store failed with.
func TestUnreadableRelationsRefuseNoMessageForGood(t *testing.T) {
	h := newHarness(t, chat.Config{})
	c, err := h.node(t).OpenDirect(t.Context(), 1, 2)
	must(t, err)
	s, relations := slowNode(t, h)
	close(relations.gate)
	relations.err = errors.New("the database ended the connection")
	for range 2 {
		if err := s.Send(t.Context(), draftOf(c, 1, 1, "x")); !errs.Is(err, errs.Unavailable) || errs.Of(err).Retry == 0 || !errors.Is(err, relations.err) {
			t.Errorf("without the store, a message gets %v", err)
		}
	}
	relations.err = nil
	must(t, s.Send(t.Context(), draftOf(c, 1, 1, "x")))
}

// A user whom the webhook refuses cannot send. While it does not answer, sends get a retryable error, so that no message is lost.
func TestRelationWebhookDecides(t *testing.T) {
	ctx := context.Background()
	var answer atomic.Value
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var q chat.RelationQuery
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Users[0].ID != "1" || q.Users[1].ID != "2" {
			t.Errorf("the webhook got %+v, %v", q, err)
		}
		_, _ = w.Write([]byte(answer.Load().(string)))
	}))
	defer server.Close()
	h := newHarness(t, chat.Config{WhoMayWrite: "webhook", RelationWebhook: webhook.Config{URL: server.URL, Secret: "a secret of the operator"}, RelationTTL: time.Minute})
	s := h.node(t)
	answer.Store(`{"allow":true}`)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	n, again := uint64(0), false
	for _, step := range []struct {
		answer string
		later  time.Duration
		want   string
		called bool
	}{
		{`{"allow":true}`, time.Minute, "", true},
		{`{"allow":false}`, time.Second, "", false}, // the cached answer applies
		{`{"allow":false}`, time.Minute, "blocked", true},
		{`{"allow":true}`, time.Second, "blocked", false},
		{`nonsense`, time.Minute, "relation_unknown", true},
		{`{}`, time.Millisecond, "relation_unknown", true},
		{`{"allow":true}`, time.Millisecond, "", true},
	} {
		answer.Store(step.answer)
		h.clock.ms.Add(step.later.Milliseconds())
		before := calls.Load()
		if !again { // a retryable rejection is retried
			n++
		}
		again = step.want == "relation_unknown"
		err := s.Send(ctx, draftOf(c, 1, n, "x"))
		for err != nil && step.called && calls.Load() == before || step.want == "" && reasonOf(err) == "relation_unknown" { // submitted while the previous draft was being rejected
			err = s.Send(ctx, draftOf(c, 1, n, "x"))
		}
		if reasonOf(err) != step.want || (calls.Load() > before) != step.called {
			t.Errorf("%+v: got %v and %d calls of the webhook", step, err, calls.Load()-before)
		}
		if step.want == "relation_unknown" {
			if errs.Of(err).Retry == 0 {
				t.Error("the error is not retryable")
			}
			if _, err := s.History(ctx, 2, &chatv1.HistoryRequest{Conversation: uint64(c)}); err != nil {
				t.Errorf("reading without an answer of the webhook: %v", err)
			}
		}
	}
	replay(t, h.entries(t, c))
	if tail := h.tail(t, c); tail.Counted != 3 {
		t.Errorf("the tail is %+v", tail)
	}
	// The webhook is not called for a blocked user.
	h.relations.set(h.relations.blocked, 1, 2, true)
	before := calls.Load()
	must(t, s.AccessChanged(ctx, 1, 2))
	if err := s.Send(ctx, draftOf(c, 1, 100, "x")); reasonOf(err) != "blocked" || calls.Load() != before {
		t.Errorf("sending across a block returned %v and %d calls of the webhook", err, calls.Load()-before)
	}
}
