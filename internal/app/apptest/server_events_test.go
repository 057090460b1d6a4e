package apptest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/event/v1/eventv1connect"
	"google.golang.org/protobuf/encoding/protojson"
)

// received has the events that a webhook or a puller got.
type received struct {
	mu     sync.Mutex // guards what follows
	events []*eventv1.ServerEvent
	seen   map[string]bool
}

// add adds events that are new, and reports one that comes before an earlier one of its conversation.
func (r *received) add(t *testing.T, who string, events []*eventv1.ServerEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		if r.seen[e.Id] {
			continue
		}
		for _, before := range r.events {
			if before.Conversation == e.Conversation && before.Seq > e.Seq {
				t.Errorf("%s: %s comes after %s", who, e.Id, before.Id)
			}
		}
		r.seen[e.Id] = true
		r.events = append(r.events, e)
	}
}

func (r *received) texts() (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		list = append(list, e.Message.GetContent().GetText())
	}
	slices.Sort(list)
	return list
}

// Messages that are sent on any node reach a puller and a webhook of any node, each in the order of its conversation.
func TestServerEvents(t *testing.T) {
	at := []string{}
	h := apptest.Open(t, func(c *config.Config) {
		if at = []string{"--data", c.Data}; c.Postgres != "" {
			at = []string{"--postgres", c.Postgres}
		}
		c.ServerEvents.AllowPrivate = true
	})
	var out, errs bytes.Buffer
	if code := app.AdminMain(t.Context(), append([]string{"key", "create", "--name", "events", "--audit"}, at...), &out, &errs); code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, errs.String())
	}
	key := strings.TrimSpace(out.String())
	events := eventv1connect.NewServerEventServiceClient(h.HTTP, h.URL, connect.WithInterceptors(connect.UnaryInterceptorFunc(func(call connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Authorization", "Bearer "+key)
			return call(ctx, r)
		}
	})))
	pulled, posted := &received{seen: map[string]bool{}}, &received{seen: map[string]bool{}}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var d eventv1.EventDelivery
		if err != nil || !json.Valid(body) || protojson.Unmarshal(body, &d) != nil {
			t.Errorf("the webhook got %s (%v)", body, err)
		}
		posted.add(t, "the webhook", d.Events)
	}))
	defer hook.Close()
	kinds := []eventv1.EventKind{eventv1.EventKind_EVENT_KIND_MESSAGE}
	for _, c := range []*eventv1.EventConsumer{{Name: "puller", Kinds: kinds}, {Name: "poster", Kinds: kinds, Webhook: &eventv1.EventWebhook{Url: hook.URL, Secret: "a secret of the operator"}}} {
		if _, err := events.PutEventConsumer(t.Context(), connect.NewRequest(&eventv1.PutEventConsumerRequest{Consumer: c, FromStart: true})); err != nil {
			t.Fatal(err)
		}
	}
	ann, ben := h.Register(t, "ann"), h.Register(t, "ben")
	var want []string
	for g := range 5 {
		group := h.Group(t, ann, ben)
		for n := range 4 {
			text := fmt.Sprint(g, " ", n)
			h.Send(t, ann, group, text, text)
			want = append(want, text)
		}
	}
	cursor := ""
	eventually.True(t, "all messages are pulled", func() bool {
		r, err := events.PullEvents(t.Context(), connect.NewRequest(&eventv1.PullEventsRequest{Consumer: "puller", Cursor: cursor, WaitMs: 1000}))
		if err != nil {
			t.Fatal(err)
		}
		pulled.add(t, "the puller", r.Msg.Events)
		if _, err := events.ConfirmEvents(t.Context(), connect.NewRequest(&eventv1.ConfirmEventsRequest{Consumer: "puller", Cursor: r.Msg.Cursor})); err != nil {
			t.Fatal(err)
		}
		cursor = r.Msg.Cursor
		return len(pulled.texts()) >= len(want)
	})
	eventually.True(t, "all messages are posted", func() bool { return len(posted.texts()) >= len(want) })
	if got := pulled.texts(); !slices.Equal(got, want) {
		t.Errorf("pulled %q, want %q", got, want)
	}
	if got := posted.texts(); !slices.Equal(got, want) {
		t.Errorf("the webhook got %q, want %q", got, want)
	}
}
