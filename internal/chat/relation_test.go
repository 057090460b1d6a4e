package chat_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/webhook"
)

// TestTheRelationWebhookDecides: who it refuses may not write, and while it does not answer nothing is lost: it is to be tried again.
func TestTheRelationWebhookDecides(t *testing.T) {
	ctx := context.Background()
	var answer atomic.Value
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var q chat.Relation
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Users[0].ID != "1" || q.Users[1].ID != "2" {
			t.Errorf("asked %+v, %v", q, err)
		}
		_, _ = w.Write([]byte(answer.Load().(string)))
	}))
	defer server.Close()
	h := newHouse(t, chat.Config{WhoMayWrite: "webhook", RelationWebhook: webhook.Config{URL: server.URL, Secret: "a secret of the operator"}, RelationFor: time.Minute})
	s := h.node(t)
	answer.Store(`{"allow":true}`)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	n, again := uint64(0), false
	for _, step := range []struct {
		answer string
		later  time.Duration
		want   string
		asks   bool
	}{
		{`{"allow":true}`, time.Minute, "", true},
		{`{"allow":false}`, time.Second, "", false}, // the answer of before holds
		{`{"allow":false}`, time.Minute, "blocked", true},
		{`{"allow":true}`, time.Second, "blocked", false},
		{`nonsense`, time.Minute, "relation_unknown", true},
		{`{}`, time.Millisecond, "relation_unknown", true},
		{`{"allow":true}`, time.Millisecond, "", true},
	} {
		answer.Store(step.answer)
		h.clock.ms.Add(step.later.Milliseconds())
		before := asked.Load()
		if !again { // one that was refused for now comes again
			n++
		}
		again = step.want == "relation_unknown"
		err := s.Send(ctx, draftOf(c, 1, n, "x"))
		for err != nil && step.asks && asked.Load() == before || step.want == "" && reasonOf(err) == "relation_unknown" { // it came while the one before was refused
			err = s.Send(ctx, draftOf(c, 1, n, "x"))
		}
		if reasonOf(err) != step.want || (asked.Load() > before) != step.asks {
			t.Errorf("%+v: %v, asked %d times", step, err, asked.Load()-before)
		}
		if step.want == "relation_unknown" {
			if errs.Of(err).Retry == 0 {
				t.Error("not to be tried again")
			}
			if _, err := s.History(ctx, 2, &chatv1.HistoryRequest{Conversation: uint64(c)}); err != nil {
				t.Errorf("nobody can read meanwhile: %v", err)
			}
		}
	}
	replay(t, h.entries(t, c))
	if tail := h.tail(t, c); tail.Counted != 3 {
		t.Errorf("%+v", tail)
	}
	// One whom somebody blocks is not asked about.
	h.relations.set(h.relations.blocked, 1, 2, true)
	before := asked.Load()
	must(t, s.AccessChanged(ctx, 1, 2))
	if err := s.Send(ctx, draftOf(c, 1, 100, "x")); reasonOf(err) != "blocked" || asked.Load() != before {
		t.Errorf("%v, asked %d times", err, asked.Load()-before)
	}
}
