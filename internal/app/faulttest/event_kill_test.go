package faulttest

import (
	"bytes"
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
	"github.com/rialto-im/rialto/internal/base/eventually"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/event/v1/eventv1connect"
	"google.golang.org/protobuf/encoding/protojson"
)

// eventFailpoints are the steps of an event from the log to a consumer: its reference is posted, a webhook receives it, and its position is stored.
var eventFailpoints = []string{
	"timeline/after-sync-before-done", "inbox/before-post", "inbox/after-post", "fanout/before-checkpoint", "fanout/after-checkpoint",
	"serverevent/read", "serverevent/posted", "serverevent/confirmed",
}

// recorder has the events that a consumer received, each once.
type recorder struct {
	t      *testing.T
	who    string
	mu     sync.Mutex // guards the fields below
	texts  map[uint64][]string
	newest map[uint64]uint64 // the highest seq of each conversation
	ids    map[string]string // texts by the events' ids
}

func newRecorder(t *testing.T, who string) *recorder {
	return &recorder{t: t, who: who, texts: map[uint64][]string{}, newest: map[uint64]uint64{}, ids: map[string]string{}}
}

// add records events. One with a lower seq than an earlier one must be a repetition: what is new comes in the order of its conversation.
func (r *recorder) add(events []*eventv1.ServerEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		text := e.Message.GetContent().GetText()
		before, repeated := r.ids[e.Id]
		switch {
		case repeated && before != text:
			r.t.Errorf("%s: event %s was %q, and is %q", r.who, e.Id, before, text)
		case repeated:
		case e.Seq <= r.newest[e.Conversation]:
			r.t.Errorf("%s: event %s with seq %d comes after %d", r.who, e.Id, e.Seq, r.newest[e.Conversation])
		default:
			r.ids[e.Id], r.newest[e.Conversation] = text, e.Seq
			r.texts[e.Conversation] = append(r.texts[e.Conversation], text)
		}
	}
}

func (r *recorder) of(conversation uint64) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.texts[conversation])
}

// webhook is a business server. It dies as well: of five deliveries, it stores one and does not say so, and it refuses another one.
func (r *recorder) webhook() *httptest.Server {
	n := 0 // guarded by turn
	var turn sync.Mutex
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		n++
		var d eventv1.EventDelivery
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the server was killed
		}
		if err := protojson.Unmarshal(body, &d); err != nil {
			r.t.Errorf("the webhook got %q: %v", body, err)
		}
		if n%5 != 4 {
			r.add(d.Events)
		}
		if n%5 > 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
}

// eventWork is what is done between two kills: somebody writes in each group, and a business server pulls.
type eventWork struct {
	t      *testing.T
	p      *process
	alice  *rialto.Client
	events eventv1connect.ServerEventServiceClient
	groups []uint64
	pulled *recorder
	cursor string
	n      int
}

// step returns false if the server died. Then the puller has died as well, and begins after its last confirmation.
func (w *eventWork) step() bool {
	w.t.Helper()
	for _, g := range w.groups {
		text := fmt.Sprint(w.n)
		_, err := w.alice.Chat().Send(w.t.Context(), connect.NewRequest(&chatv1.SendRequest{Conversation: g, ClientMsgId: text, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}))
		if !w.p.answered(err) {
			w.cursor = ""
			return false
		}
	}
	w.n++
	if !w.pull() {
		w.cursor = ""
		return false
	}
	return true
}

func (w *eventWork) pull() bool {
	w.t.Helper()
	page, err := w.events.PullEvents(w.t.Context(), connect.NewRequest(&eventv1.PullEventsRequest{Consumer: "puller", Cursor: w.cursor, Limit: 5}))
	if !w.p.answered(err) {
		return false
	}
	w.pulled.add(page.Msg.Events)
	w.cursor = page.Msg.Cursor
	_, err = w.events.ConfirmEvents(w.t.Context(), connect.NewRequest(&eventv1.ConfirmEventsRequest{Consumer: "puller", Cursor: w.cursor}))
	return w.p.answered(err)
}

// TestServerEventsKilledAtEachFailpoint: whatever is killed, the server at any step or the business servers, each message reaches a webhook and a puller, and
// those of a conversation come in its order.
func TestServerEventsKilledAtEachFailpoint(t *testing.T) {
	p := newProcess(t, "--set", "server_events.allow_private=true", "--set", "limits.call_user=1000000/s")
	var key, errs bytes.Buffer
	if code := app.AdminMain(t.Context(), []string{"key", "create", "--name", "shop", "--data", p.dir}, &key, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	shop, err := rialto.NewBridge(rialto.BridgeConfig{URL: p.url(), Key: strings.TrimSpace(key.String())})
	if err != nil {
		t.Fatal(err)
	}
	posted := newRecorder(t, "the webhook")
	hook := posted.webhook()
	defer hook.Close()
	w := &eventWork{t: t, p: p, alice: p.register("alice"), events: shop.Events, pulled: newRecorder(t, "the puller")}
	kinds := []eventv1.EventKind{eventv1.EventKind_EVENT_KIND_MESSAGE}
	for _, c := range []*eventv1.EventConsumer{{Name: "puller", Kinds: kinds}, {Name: "poster", Kinds: kinds, Webhook: &eventv1.EventWebhook{Url: hook.URL, Secret: "a secret of the operator"}}} {
		if _, err := w.events.PutEventConsumer(t.Context(), connect.NewRequest(&eventv1.PutEventConsumerRequest{Consumer: c, FromStart: true})); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		g, err := w.alice.Chat().CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: fmt.Sprint("group ", i)}))
		if err != nil {
			t.Fatal(err)
		}
		w.groups = append(w.groups, g.Msg.Id)
	}
	p.killedAt(eventFailpoints, w.step, 2)
	for _, g := range w.groups {
		want := textsOf(t, w.alice, g)
		if len(want) < w.n {
			t.Errorf("group %d has %d messages, and %d were acknowledged", g, len(want), w.n)
		}
		eventually.True(t, "all events are pulled", func() bool { return w.pull() && len(w.pulled.of(g)) >= len(want) })
		eventually.True(t, "all events are posted", func() bool { return len(posted.of(g)) >= len(want) })
		for _, r := range []*recorder{w.pulled, posted} {
			if got := r.of(g); !slices.Equal(got, want) {
				t.Errorf("%s got %q, want %q", r.who, got, want)
			}
		}
	}
	p.stop()
	p.verify()
}
