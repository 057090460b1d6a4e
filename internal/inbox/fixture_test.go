package inbox_test

import (
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/inbox"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/memlog"
	"github.com/rialto-im/rialto/internal/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/timeline/timelinetest"
	"google.golang.org/protobuf/proto"
)

// tester is what testing.TB and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// clockByHand moves when told.
type clockByHand struct {
	mu sync.Mutex // guards ms
	ms int64
}

func (c *clockByHand) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMilli(c.ms)
}

func (c *clockByHand) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ms += d.Milliseconds()
}

type interval struct{ join, leave uint64 }

type place struct {
	user         id.User
	conversation id.Conversation
}

// rooms are conversations as the inbox room needs them.
type rooms struct {
	mu      sync.Mutex // guards all below
	members map[place]interval
	direct  map[id.Conversation][2]id.User
	large   map[id.Conversation]bool
	apart   map[id.Conversation]bool
	kept    map[id.Conversation]uint64 // the first seq that is kept, of those where not all are
	failing error
	torn    id.Conversation // whose state is damaged
}

var errNoConversation = errs.New(errs.NotFound, "no_conversation", "there is no such conversation, or you are not in it")

func (r *rooms) Of(_ context.Context, u id.User) (list []inbox.Membership, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, in := range r.members {
		if p.user == u {
			list = append(list, inbox.Membership{Conversation: p.conversation, Join: max(in.join, r.kept[p.conversation]), Leave: in.leave, Large: r.large[p.conversation]})
		}
	}
	return list, r.failing
}

func (r *rooms) LargeOf(_ context.Context, users []id.User) ([][]id.Conversation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lists := make([][]id.Conversation, len(users))
	for p, in := range r.members {
		if i := slices.Index(users, p.user); i >= 0 && r.large[p.conversation] && in.leave == 0 {
			lists[i] = append(lists[i], p.conversation)
		}
	}
	return lists, r.failing
}

func (r *rooms) Describe(_ context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in, ok := r.members[place{u, c}]
	if !ok {
		return nil, errNoConversation
	}
	return &chatv1.Conversation{Id: uint64(c), JoinSeq: max(in.join, r.kept[c]), LeaveSeq: in.leave, Peer: uint64(r.peer(u, c))}, r.failing
}

func (r *rooms) peer(u id.User, c id.Conversation) id.User {
	pair, ok := r.direct[c]
	switch {
	case !ok:
		return 0
	case pair[0] == u:
		return pair[1]
	}
	return pair[0]
}

func (r *rooms) Peer(_ context.Context, u id.User, c id.Conversation) (id.User, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peer(u, c), r.apart[c], r.failing
}

func (r *rooms) setApart(c id.Conversation, yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.apart[c] = yes
}

func (r *rooms) May(_ context.Context, u id.User, c id.Conversation) (from, to uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in, ok := r.members[place{u, c}]
	if !ok {
		return 0, 0, errNoConversation
	}
	if in.leave == 0 {
		in.leave = 1<<64 - 1
	}
	return max(in.join, r.kept[c]), in.leave, r.failing
}

func (r *rooms) Kept(_ context.Context, c id.Conversation) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c == r.torn {
		return 0, timeline.ErrDamaged
	}
	return r.kept[c], r.failing
}

func (r *rooms) Audience(_ context.Context, c id.Conversation, seq uint64) (users []id.User, large bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, in := range r.members {
		if p.conversation == c && in.join <= seq && (in.leave == 0 || seq <= in.leave) {
			users = append(users, p.user)
		}
	}
	slices.Sort(users)
	return users, r.large[c], r.failing
}

func (r *rooms) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = err
}

// house is an inbox room on real stores, with conversations by hand.
type house struct {
	*inbox.Service
	t      testing.TB
	log    timeline.Log
	fs     *vfs.MemFS // nil: memlog
	db     *sqldb.DB
	outbox *job.Outbox
	aside  *job.Aside // may be nil
	rooms  *rooms
	clock  *clockByHand
	config inbox.Config
	taken  int // events of the outbox that were seen
	nodes  int // that share the work; 0: one

	mu     sync.Mutex // guards hidden
	hidden map[id.User]bool
}

func newHouse(t testing.TB, pebble bool, config inbox.Config) *house {
	t.Helper()
	h := &house{t: t, rooms: &rooms{members: map[place]interval{}, direct: map[id.Conversation][2]id.User{}, large: map[id.Conversation]bool{}, apart: map[id.Conversation]bool{},
		kept: map[id.Conversation]uint64{}},
		clock: &clockByHand{ms: 1_800_000_000_000}, config: config, hidden: map[id.User]bool{}}
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	h.db = db
	if h.outbox, err = job.NewOutbox(t.Context(), db, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	h.log = memlog.New(nil)
	if pebble {
		h.fs = vfs.NewCrashableMem()
		h.log = h.openPebble()
	}
	t.Cleanup(func() {
		if err := h.log.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	h.start()
	return h
}

func (h *house) openPebble() timeline.Log {
	l, err := pebblelog.Open("log", pebblelog.Options{FS: h.fs})
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

// start makes the room, on the stores as they are.
func (h *house) start() {
	var err error
	deps := inbox.Deps{Log: h.log, DB: h.db, Outbox: h.outbox, Conversations: h.rooms, HidesRead: h.hides, Nodes: func() int { return h.nodes },
		Clock: h.clock, Logger: slog.New(slog.DiscardHandler)}
	if h.aside != nil {
		deps.Aside = h.aside
	}
	h.Service, err = inbox.New(context.Background(), deps, h.config)
	if err != nil {
		h.t.Fatal(err)
	}
}

// restart opens the log again, in a new epoch; after a crash without what was not synced.
func (h *house) restart(crash bool) {
	if h.fs == nil {
		return
	}
	clone := h.fs.CrashClone(vfs.CrashCloneCfg{})
	if err := h.log.Close(); err != nil {
		h.t.Fatal(err)
	}
	if crash {
		h.fs = clone
	}
	h.log = h.openPebble()
	h.start()
}

func (h *house) hides(_ context.Context, u id.User) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hidden[u], nil
}

func (h *house) hide(u id.User) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hidden[u] = true
}

func inboxOf(u id.User) timeline.Key { return timeline.Key{Kind: timeline.Inbox, ID: uint64(u)} }

func logOf(c id.Conversation) timeline.Key {
	return timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
}

// send appends a user's message to a conversation; a control entry where control is set.
func (h *house) send(t tester, u id.User, c id.Conversation, control bool) uint64 {
	t.Helper()
	return h.say(t, u, c, "hello", control)
}

func (h *house) say(t tester, u id.User, c id.Conversation, text string, control bool) uint64 {
	t.Helper()
	h.clock.move(time.Millisecond)
	e := message.Entry{ID: id.MessageOf(h.clock.Now().UnixMilli(), 1, 1, c), Sender: u, Device: id.Device(u), Control: control, Content: message.AppendText(nil, text)}
	a := &timeline.Append{Key: logOf(c), Payload: e.Append(nil), Author: uint64(u), Counts: !control}
	if control {
		a.Author = 0
	}
	if timelinetest.Append(h.log, a); a.Err != nil {
		t.Fatalf("%v", a.Err)
	}
	return a.Seq
}

// access appends the control entry of a block, or of its end.
func (h *house) access(t tester, c id.Conversation) {
	t.Helper()
	h.clock.move(time.Millisecond)
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Action: chatv1.Control_ACTION_ACCESS}}})
	if err != nil {
		t.Fatalf("%v", err)
	}
	e := message.Entry{ID: id.MessageOf(h.clock.Now().UnixMilli(), 1, 1, c), Control: true, Content: content}
	a := &timeline.Append{Key: logOf(c), Payload: e.Append(nil)}
	if timelinetest.Append(h.log, a); a.Err != nil {
		t.Fatalf("%v", a.Err)
	}
}

// join and leave are control entries, and intervals from and to them.
func (h *house) join(t tester, c id.Conversation, users ...id.User) {
	t.Helper()
	seq := h.send(t, users[0], c, true)
	h.rooms.mu.Lock()
	defer h.rooms.mu.Unlock()
	for _, u := range users {
		h.rooms.members[place{u, c}] = interval{join: seq}
	}
}

func (h *house) leave(t tester, c id.Conversation, u id.User) {
	t.Helper()
	seq := h.send(t, u, c, true)
	h.rooms.mu.Lock()
	defer h.rooms.mu.Unlock()
	h.rooms.members[place{u, c}] = interval{h.rooms.members[place{u, c}].join, seq}
}

// open makes a one-to-one conversation.
func (h *house) open(t tester, c id.Conversation, a, b id.User) {
	t.Helper()
	h.join(t, c, a, b)
	h.rooms.mu.Lock()
	defer h.rooms.mu.Unlock()
	h.rooms.direct[c] = [2]id.User{a, b}
}

// expire lets what is below first expire; gone: it was removed as well.
func (h *house) expire(t tester, c id.Conversation, first uint64, gone bool) {
	t.Helper()
	if gone {
		entries, err := h.log.Read(context.Background(), logOf(c), 0, 1000)
		if err != nil {
			t.Fatalf("%v", err)
		}
		var keep []uint64
		for _, e := range entries {
			if message.IsControl(e.Payload) {
				keep = append(keep, e.Seq)
			}
		}
		if err := h.log.Expire(context.Background(), logOf(c), first, keep); err != nil {
			t.Fatalf("%v", err)
		}
	}
	h.rooms.mu.Lock()
	defer h.rooms.mu.Unlock()
	h.rooms.kept[c] = max(first, h.rooms.kept[c])
}

// post puts payloads into a user's stream.
func (h *house) post(t tester, u id.User, payloads ...[]byte) {
	t.Helper()
	posts := make([]timeline.Post, len(payloads))
	for i, p := range payloads {
		posts[i] = timeline.Post{Key: inboxOf(u), Payload: p}
	}
	if err := h.log.Post(context.Background(), posts); err != nil {
		t.Fatalf("%v", err)
	}
}

// run runs the room until the function that it gives is called.
func (h *house) run(t tester) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// told is an event of the outbox.
type told struct {
	to    id.User
	event *chatv1.Event
}

// events gives what was put into the outbox since the last call.
func (h *house) events(t tester) (list []told) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	end := job.Event{User: 1 << 40, Body: []byte{}}
	if err := h.db.Write(ctx, func(tx *sql.Tx) error { return h.outbox.Put(ctx, tx, end) }); err != nil {
		t.Fatalf("%v", err)
	}
	err := h.outbox.Run(ctx, func(_ context.Context, events []job.Event) error {
		for _, e := range events[h.taken:] {
			if e.User == end.User {
				continue
			}
			v := &chatv1.Event{}
			if err := proto.Unmarshal(e.Body, v); err != nil {
				t.Fatalf("%v", err)
			}
			list = append(list, told{e.User, v})
		}
		h.taken = len(events)
		cancel()
		return context.Canceled // so that they stay, and are given again
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return list
}
