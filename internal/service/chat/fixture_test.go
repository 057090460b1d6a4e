package chat_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// tester is the common part of testing.TB and *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// manualClock is advanced by the test.
type manualClock struct{ ms atomic.Int64 }

func (c *manualClock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// relations are those of users 1 to most.
type relations struct {
	most uint64

	mu      sync.Mutex // guards the fields below
	blocked map[[2]id.User]bool
	friends map[[2]id.User]bool
}

func pairOf(a, b id.User) [2]id.User { return [2]id.User{min(a, b), max(a, b)} }

func (r *relations) set(of map[[2]id.User]bool, a, b id.User, yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of[pairOf(a, b)] = yes
}

func (r *relations) Blocked(_ context.Context, a, b id.User) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocked[pairOf(a, b)], nil
}

func (r *relations) Friends(_ context.Context, a, b id.User) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.friends[pairOf(a, b)], nil
}

func (r *relations) Exist(_ context.Context, users []id.User) error {
	for _, u := range users {
		if u == 0 || uint64(u) > r.most {
			return errs.New(errs.NotFound, "no_user", "one of these users does not exist")
		}
	}
	return nil
}

// harness has what the nodes of a test share.
type harness struct {
	place     string
	log       timeline.Log
	db        *sqldb.DB
	clock     *manualClock
	relations *relations
	ids       *idgen.Snowflake
	messages  *idgen.Messages
	config    chat.Config
	gate      *overload.Gate  // nil: nothing is refused under overload
	calls     *outgoing.Calls // nil: each service has its own
}

func newHarness(t testing.TB, config chat.Config) *harness {
	t.Helper()
	h := &harness{place: sqltest.Place(t), log: memlog.New(nil), config: config, clock: &manualClock{},
		relations: &relations{most: 1000, blocked: map[[2]id.User]bool{}, friends: map[[2]id.User]bool{}}}
	h.clock.ms.Store(1_800_000_000_000)
	h.db = openDB(t, h.place)
	var err error
	if h.messages, err = idgen.NewMessages(context.Background(), idgen.Fixed(h.clock, 0), idgen.MessagesConfig{}); err != nil {
		t.Fatal(err)
	}
	if h.ids, err = idgen.NewSnowflake(context.Background(), idgen.Fixed(machineClock{}, 1), idgen.SnowflakeConfig{}); err != nil {
		t.Fatal(err)
	}
	return h
}

// machineClock is the clock of the machine: record ids must not wait for the manual clock.
type machineClock struct{}

func (machineClock) Now() time.Time { return time.Now() }

func openDB(t testing.TB, place string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(context.Background(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func (h *harness) deps(db *sqldb.DB) chat.Deps {
	return chat.Deps{Log: h.log, DB: db, IDs: h.ids, MessageIDs: h.messages, Relations: h.relations, Overload: h.gate, Calls: h.calls, Clock: h.clock, Logger: slog.New(slog.DiscardHandler)}
}

// node opens another service on the same stores.
func (h *harness) node(t tester) *chat.Service { return h.nodeOn(t, h.db) }

func (h *harness) nodeOn(t tester, db *sqldb.DB) *chat.Service {
	t.Helper()
	s, err := chat.New(context.Background(), h.deps(db), h.config)
	if err != nil {
		t.Fatalf("%v", err)
	}
	chat.SetMinTextAge(s, 0) // the manual clock does not advance
	return s
}

func draftOf(c id.Conversation, u id.User, n uint64, text string) *message.Draft {
	return &message.Draft{Conversation: c, Sender: u, Device: id.Device(u) + 100, ClientSeq: n, Content: message.AppendText(nil, text)}
}

// reasonOf returns the reason of an error, "" for none.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}

// entry is a decoded entry of a conversation's log.
type entry struct {
	message.Entry
	seq, counted uint64
	control      *chatv1.Control
}

func (h *harness) entries(t tester, c id.Conversation) []entry {
	t.Helper()
	stored, err := h.log.Read(context.Background(), timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, 0, 1<<20)
	if err != nil {
		t.Fatalf("%v", err)
	}
	list := make([]entry, len(stored))
	for i, e := range stored {
		list[i].seq, list[i].counted = e.Seq, e.Counted
		if err := list[i].Decode(e.Payload); err != nil {
			t.Fatalf("%v", err)
		}
		if list[i].Control {
			var content chatv1.Content
			if err := proto.Unmarshal(list[i].Content, &content); err != nil {
				t.Fatalf("%v", err)
			}
			list[i].control = content.GetControl()
		}
	}
	return list
}

func (h *harness) tail(t tester, c id.Conversation) timeline.Tail {
	t.Helper()
	tail, err := h.log.Tail(context.Background(), timeline.Key{Kind: timeline.Conversation, ID: uint64(c)})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return tail
}

// completeFanout moves fan-out's checkpoints to the end: all stored entries have been dispatched.
func (h *harness) completeFanout(t tester) {
	t.Helper()
	ctx := context.Background()
	for p := range uint16(timeline.Partitions) {
		at, err := h.log.Checkpoint(ctx, p)
		must(t, err)
		records, err := h.log.FanoutRecords(ctx, p, at, 1<<20)
		must(t, err)
		if n := len(records); n > 0 {
			must(t, h.log.PutCheckpoint(ctx, p, records[n-1].Seq))
		}
	}
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

var errForeign = errs.New(errs.NotFound, "foreign", "this is not your upload")
