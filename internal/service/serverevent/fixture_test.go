package serverevent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/bulkhead"
	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/fanout"
	"github.com/rialto-im/rialto/internal/service/serverevent"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

var server, auditor = id.Caller{Server: true}, id.Caller{Server: true, Audit: true}

// nobody is a directory without connections.
type nobody struct{}

func (nobody) Locate(id.User) []string            { return nil }
func (nobody) Followers(id.Conversation) []string { return nil }

// fixture has server events above real conversations and fan-out.
type fixture struct {
	t        *testing.T
	db       *sqldb.DB
	log      *memlog.Log
	ids      *idgen.Snowflake
	clock    *clocktest.Manual
	accounts *account.Service
	chat     *chat.Service
	fanout   *fanout.Worker
	events   atomic.Pointer[serverevent.Service]
	stop     func()          // ends Run of events
	attempts int             // before a dead letter; 0: 3
	slots    bulkhead.Config // of deliveries, if it has any
	isSlow   func() bool     // of requests, if it is not nil; then they have one event each
	config   serverevent.Config
	calls    *outgoing.Calls // of all processes
	users    []id.User
	sends    atomic.Uint64
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, users int) *fixture {
	t.Helper()
	db, err := sqldb.Open(context.Background(), sqltest.Place(t))
	must(t, err)
	f := &fixture{t: t, db: db, clock: clocktest.NewManual(), config: serverevent.Config{AllowPrivate: true}, calls: outgoingtest.New()}
	f.log = memlog.New(func(c []timeline.Commit) { f.fanout.Committed(c) })
	logger := slog.New(slog.DiscardHandler)
	ids, err := idgen.NewSnowflake(context.Background(), idgen.Fixed(f.clock, 1), idgen.SnowflakeConfig{})
	must(t, err)
	f.ids = ids
	messages, err := idgen.NewMessages(context.Background(), idgen.Fixed(f.clock, 0), idgen.MessagesConfig{})
	must(t, err)
	outbox, err := job.NewOutbox(t.Context(), db, logger)
	must(t, err)
	f.accounts, err = account.New(t.Context(), account.Deps{DB: db, Outbox: outbox, IDs: ids, Clock: f.clock, Logger: logger, SingleNode: true,
		AccessChanged: func(ctx context.Context, a, b id.User) error { return f.chat.AccessChanged(ctx, a, b) }},
		account.Config{WhoMayAdd: "everyone", PasswordCost: auth.Cost{Memory: 64, Time: 1, Threads: 1}})
	must(t, err)
	f.chat, err = chat.New(t.Context(), chat.Deps{Log: f.log, DB: db, IDs: ids, MessageIDs: messages, Relations: f.accounts, Clock: f.clock, Logger: logger, SingleNode: true}, chat.Config{})
	must(t, err)
	b := membus.New()
	f.fanout = fanout.New(fanout.Deps{Log: f.log, Chat: f.chat, Directory: nobody{}, Bus: b, Logger: logger, Node: "one", EventStreams: true,
		Posted: func(u id.User) { f.events.Load().Posted(u) }})
	f.restart()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { must(t, f.fanout.Run(ctx)) })
	for p := range timeline.Partitions {
		f.fanout.Assigned(cluster.NewGrant(ctx, p, 1))
	}
	t.Cleanup(func() {
		f.stop()
		cancel()
		group.Wait()
		must(t, b.Close())
		must(t, f.log.Close())
		must(t, db.Close())
	})
	for n := range users {
		u, err := f.accounts.PutUser(context.Background(), &accountv1.PutUserRequest{ExternalId: fmt.Sprint("user", n), Handle: fmt.Sprint("person", n), DisplayName: "Person"})
		must(t, err)
		f.users = append(f.users, id.User(u.Id))
	}
	return f
}

// restart makes a new service, as a new process does.
func (f *fixture) restart() {
	f.t.Helper()
	if f.stop != nil {
		f.stop()
	}
	s, err := serverevent.New(context.Background(), serverevent.Deps{DB: f.db, Log: f.log, Chat: f.chat, Accounts: f.accounts, IDs: f.ids, Secret: []byte("of cursors"), Calls: f.calls, Clock: f.clock, Logger: slog.New(slog.DiscardHandler)}, f.config)
	must(f.t, err)
	s.Hasten(cmp.Or(f.attempts, 3))
	if f.slots.Slots > 0 {
		s.Divide(f.slots)
	}
	if f.isSlow != nil {
		s.Single(f.isSlow)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for p := range timeline.Partitions {
		s.Assigned(cluster.NewGrant(ctx, p, 1))
	}
	group.Go(func() { must(f.t, s.Run(ctx)) })
	f.events.Store(s)
	f.stop = func() { cancel(); group.Wait() }
}

func (f *fixture) group(title string, members ...id.User) id.Conversation {
	f.t.Helper()
	r := &chatv1.CreateGroupRequest{Title: title}
	for _, m := range members[1:] {
		r.Members = append(r.Members, uint64(m))
	}
	c, err := f.chat.CreateGroup(context.Background(), members[0], r)
	must(f.t, err)
	return c
}

func (f *fixture) sendContent(c id.Conversation, u id.User, content *chatv1.Content) uint64 {
	f.t.Helper()
	raw, err := proto.Marshal(content)
	must(f.t, err)
	d := &message.Draft{Conversation: c, Sender: u, Device: id.Device(u), ClientMsgID: fmt.Sprint(f.sends.Add(1)), Content: raw}
	if err := f.chat.Send(context.Background(), d); err != nil {
		f.t.Error(err)
	}
	return d.Seq
}

func (f *fixture) send(c id.Conversation, u id.User, text string) uint64 {
	f.t.Helper()
	return f.sendContent(c, u, &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}})
}

func (f *fixture) dispatched() {
	f.t.Helper()
	eventually.True(f.t, "fan-out has dispatched everything", f.fanout.Idle)
}

func (f *fixture) put(c *eventv1.EventConsumer, fromStart bool) {
	f.t.Helper()
	f.dispatched()
	_, err := f.events.Load().PutConsumer(context.Background(), auditor, &eventv1.PutEventConsumerRequest{Consumer: c, FromStart: fromStart})
	must(f.t, err)
}

// pull pulls until there is no more, without confirming, and returns the cursor after it.
func (f *fixture) pull(consumer, cursor string) ([]*eventv1.ServerEvent, string) {
	f.t.Helper()
	f.dispatched()
	var all []*eventv1.ServerEvent
	for {
		res, err := f.events.Load().Pull(context.Background(), auditor, &eventv1.PullEventsRequest{Consumer: consumer, Cursor: cursor, Limit: 7})
		must(f.t, err)
		all, cursor = append(all, res.Events...), res.Cursor
		if !res.More {
			return all, cursor
		}
	}
}

func (f *fixture) confirm(consumer, cursor string) {
	f.t.Helper()
	must(f.t, f.events.Load().Confirm(context.Background(), auditor, &eventv1.ConfirmEventsRequest{Consumer: consumer, Cursor: cursor}))
}

// texts returns the texts of events.
func texts(events []*eventv1.ServerEvent) (list []string) {
	for _, e := range events {
		list = append(list, e.Message.GetContent().GetText())
	}
	return list
}

// checkOrder reports events of a conversation that are not in the order of their seqs, or that come twice.
func checkOrder(t *testing.T, events []*eventv1.ServerEvent) {
	t.Helper()
	last := map[uint64]uint64{}
	for _, e := range events {
		if e.Seq <= last[e.Conversation] {
			t.Errorf("event %s comes after seq %d", e.Id, last[e.Conversation])
		}
		last[e.Conversation] = e.Seq
	}
}

const secret = "a secret of the operator"

// receiver is a webhook of a business server.
type receiver struct {
	*httptest.Server
	// refuse answers a delivery with a status; 0 accepts it.
	refuse atomic.Pointer[func(*eventv1.EventDelivery) int]

	mu         sync.Mutex // guards the fields below
	deliveries []*eventv1.EventDelivery
	attempts   int
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return // the server gave up, and delivers it again
		}
		var d eventv1.EventDelivery
		if q.Header.Get("Rialto-Signature") != "v1="+webhook.Sign(secret, q.Header.Get("Rialto-Timestamp"), body) || !json.Valid(body) || protojson.Unmarshal(body, &d) != nil {
			t.Errorf("a delivery is not signed or cannot be read: %s", body)
		}
		status := 0
		if refuse := r.refuse.Load(); refuse != nil {
			status = (*refuse)(&d)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.attempts++
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		r.deliveries = append(r.deliveries, &d)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) setRefuse(f func(*eventv1.EventDelivery) int) { r.refuse.Store(&f) }

// events returns what was accepted.
func (r *receiver) events() (all []*eventv1.ServerEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.deliveries {
		all = append(all, d.Events...)
	}
	return all
}

func (r *receiver) consumer(name string, kinds ...eventv1.EventKind) *eventv1.EventConsumer {
	return &eventv1.EventConsumer{Name: name, Kinds: kinds, Webhook: &eventv1.EventWebhook{Url: r.URL, Secret: secret}}
}

// streamOf returns the event stream that has a conversation's entries.
func streamOf(c id.Conversation) timeline.Key {
	return timeline.EventStream(timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}.Partition())
}
