package inbox_test

import (
	"cmp"
	"context"
	"database/sql"
	"flag"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// tester is the common part of testing.TB and *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// manualClock is advanced by the test.
type manualClock struct {
	mu sync.Mutex // guards ms
	ms int64
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMilli(c.ms)
}

func (c *manualClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ms += d.Milliseconds()
}

type interval struct{ join, leave uint64 }

// deletion is what a user cleared of a conversation.
type deletion struct {
	through, counted uint64
	deleted          bool
}

type cursorKey struct {
	user         id.User
	conversation id.Conversation
}

// conversations fakes package chat for the inbox.
type conversations struct {
	mu       sync.Mutex // guards the fields below
	members  map[cursorKey]interval
	direct   map[id.Conversation][2]id.User
	large    map[id.Conversation]bool
	blocked  map[id.Conversation]bool
	kept     map[id.Conversation]uint64 // the first retained seq, if older messages have expired
	failing  error
	corrupt  id.Conversation // its state is corrupt
	active   map[cursorKey]int64
	read     int // number of returned memberships
	recalled map[id.Conversation]map[uint64]bool
	mentions map[cursorKey][]uint64
	cleared  map[cursorKey]deletion

	currentCalls, countCalls, mentionCalls atomic.Int64
}

var errNoConversation = errs.New(errs.NotFound, "no_conversation", "there is no such conversation, or you are not in it")

// of returns the memberships of a user that match, by id. The caller holds mu.
func (r *conversations) of(u id.User, match func(inbox.Membership) bool) (list []inbox.Membership) {
	for p, in := range r.members {
		d := r.cleared[p]
		m := inbox.Membership{Conversation: p.conversation, Join: max(in.join, r.kept[p.conversation], d.through+1), Leave: in.leave, Large: r.large[p.conversation], ActiveMs: r.active[p],
			Deleted: d.deleted, ClearedCounted: d.counted}
		if p.user == u && match(m) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b inbox.Membership) int { return cmp.Compare(a.Conversation, b.Conversation) })
	return list
}

// limited returns the first of a list, and counts them. The caller holds mu.
func (r *conversations) limited(list []inbox.Membership, limit int) ([]inbox.Membership, error) {
	list = list[:min(limit, len(list))]
	r.read += len(list)
	return list, r.failing
}

func (r *conversations) MembershipsAfter(_ context.Context, u id.User, above id.Conversation, limit int) ([]inbox.Membership, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limited(r.of(u, func(m inbox.Membership) bool { return m.Conversation > above }), limit)
}

func (r *conversations) RecentMemberships(_ context.Context, u id.User, former bool, after *inbox.Cursor, limit int) ([]inbox.Membership, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := func(ms int64, c id.Conversation, ms2 int64, c2 id.Conversation) int {
		return cmp.Or(cmp.Compare(ms2, ms), cmp.Compare(c2, c))
	}
	list := r.of(u, func(m inbox.Membership) bool {
		return !m.Deleted && former == (m.Leave != 0) && (after == nil || last(after.Ms, after.Conversation, m.ActiveMs, m.Conversation) < 0)
	})
	slices.SortFunc(list, func(a, b inbox.Membership) int { return last(a.ActiveMs, a.Conversation, b.ActiveMs, b.Conversation) })
	return r.limited(list, limit)
}

// RecentThreads returns none: threads are tested with package chat.
func (r *conversations) RecentThreads(context.Context, id.User, *inbox.Cursor, int) ([]inbox.Membership, error) {
	return nil, nil
}

func (r *conversations) AddRoots(context.Context, id.User, []*chatv1.Conversation) error { return nil }

func (r *conversations) MembershipsIn(_ context.Context, u id.User, conversations []id.Conversation) ([]inbox.Membership, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limited(r.of(u, func(m inbox.Membership) bool { return slices.Contains(conversations, m.Conversation) }), len(conversations))
}

// Current leaves contents as they are but those of recalled messages.
func (r *conversations) Current(_ context.Context, _ id.User, list []*message.Stored, _ map[id.Conversation]timeline.Tail) error {
	r.currentCalls.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range list {
		if r.recalled[m.Conversation][m.Seq] {
			m.Entry.Content, m.State = nil, []byte{12 << 3, 1}
		}
	}
	return nil
}

func (r *conversations) DeletedMessages(context.Context, id.User, id.Conversation, uint64, uint64) ([]uint64, error) {
	return nil, nil
}

func (r *conversations) CountRemoved(_ context.Context, _ id.User, spans []message.Span, _ map[id.Conversation]timeline.Tail) ([]uint64, error) {
	r.countCalls.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := make([]uint64, len(spans))
	for i, span := range spans {
		for seq := range r.recalled[span.Conversation] {
			if seq > span.After && seq <= span.Last {
				counts[i]++
			}
		}
	}
	return counts, nil
}

func (r *conversations) UnreadMentions(_ context.Context, u id.User, spans []message.Span) ([][]uint64, error) {
	r.mentionCalls.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	mentions := make([][]uint64, len(spans))
	for i, span := range spans {
		mentions[i] = slices.DeleteFunc(slices.Clone(r.mentions[cursorKey{u, span.Conversation}]), func(seq uint64) bool { return seq <= span.After || seq > span.Last })
	}
	return mentions, r.failing
}

func (r *conversations) ClearedThrough(_ context.Context, u id.User, list []id.Conversation) (map[id.Conversation]uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	through := map[id.Conversation]uint64{}
	for _, c := range list {
		if d, ok := r.cleared[cursorKey{u, c}]; ok {
			through[c] = d.through
		}
	}
	return through, nil
}

func (r *conversations) Restore(_ context.Context, _ *sql.Tx, u id.User, c id.Conversation, counted uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.cleared[cursorKey{u, c}]; d.counted < counted {
		d.deleted = false
		r.cleared[cursorKey{u, c}] = d
	}
	return nil
}

func (r *conversations) RecordActivity(_ context.Context, _ *sql.Tx, u id.User, list []inbox.Activity) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range list {
		p := cursorKey{u, a.Conversation}
		r.active[p] = max(r.active[p], a.Ms)
	}
	return r.failing
}

func (r *conversations) LargeGroups(_ context.Context, users []id.User) ([][]id.Conversation, error) {
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

func (r *conversations) Describe(_ context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in, ok := r.members[cursorKey{u, c}]
	if !ok {
		return nil, errNoConversation
	}
	return &chatv1.Conversation{Id: uint64(c), JoinSeq: max(in.join, r.kept[c]), LeaveSeq: in.leave, Peer: uint64(r.peer(u, c))}, r.failing
}

func (r *conversations) DescribeListed(ctx context.Context, u id.User, m inbox.Membership) (*chatv1.Conversation, error) {
	return r.Describe(ctx, u, m.Conversation)
}

func (r *conversations) peer(u id.User, c id.Conversation) id.User {
	pair, ok := r.direct[c]
	switch {
	case !ok:
		return 0
	case pair[0] == u:
		return pair[1]
	}
	return pair[0]
}

func (r *conversations) Peer(_ context.Context, u id.User, c id.Conversation) (id.User, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peer(u, c), r.blocked[c], r.failing
}

func (r *conversations) setBlocked(c id.Conversation, yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocked[c] = yes
}

func (r *conversations) ReadableRange(_ context.Context, u id.User, c id.Conversation) (from, to uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in, ok := r.members[cursorKey{u, c}]
	if !ok {
		return 0, 0, errNoConversation
	}
	if in.leave == 0 {
		in.leave = 1<<64 - 1
	}
	return max(in.join, r.kept[c], r.cleared[cursorKey{u, c}].through+1), in.leave, r.failing
}

func (r *conversations) FirstRetained(_ context.Context, c id.Conversation) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c == r.corrupt {
		return 0, timeline.ErrCorrupt
	}
	return r.kept[c], r.failing
}

func (r *conversations) AudiencePage(ctx context.Context, c id.Conversation, seq uint64, after id.User, limit int) ([]id.User, id.User, error) {
	users, _, err := r.audience(ctx, c, seq)
	users = slices.DeleteFunc(users, func(u id.User) bool { return u <= after })
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(users) <= limit {
		r.read += len(users)
		return users, 0, err
	}
	r.read += limit
	return users[:limit], users[limit-1], err
}

func (r *conversations) audience(_ context.Context, c id.Conversation, seq uint64) (users []id.User, large bool, err error) {
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

func (r *conversations) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = err
}

// harness is an inbox service on real stores, with fake conversations. The test closes it; a caller that creates many closes it earlier.
type harness struct {
	*inbox.Service
	t             testing.TB
	log           timeline.Log
	fs            *vfs.MemFS // nil: memlog
	db            *sqldb.DB
	outbox        *job.Outbox
	quarantine    *job.Quarantine // may be nil
	conversations *conversations
	clock         *manualClock
	config        inbox.Config
	eventsRead    int                        // number of outbox events that were read
	fannedOut     map[id.Conversation]uint64 // fanOut has appended the references up to this seq
	interest      inbox.Interest             // may be nil
	nodes         int                        // number of nodes that share the work; 0: one
	close         func()

	mu        sync.Mutex // guards the fields below
	hidden    map[id.User]bool
	invisible map[id.User]bool                 // nobody sees their presence
	types     map[id.User]map[id.Device]string // of devices that are logged in
}

func newHarness(t testing.TB, pebble bool, config inbox.Config) *harness {
	t.Helper()
	h := &harness{t: t, conversations: &conversations{members: map[cursorKey]interval{}, direct: map[id.Conversation][2]id.User{}, large: map[id.Conversation]bool{}, blocked: map[id.Conversation]bool{},
		kept: map[id.Conversation]uint64{}, active: map[cursorKey]int64{}},
		clock: &manualClock{ms: 1_800_000_000_000}, config: config, hidden: map[id.User]bool{}, invisible: map[id.User]bool{}, types: map[id.User]map[id.Device]string{}, fannedOut: map[id.Conversation]uint64{}}
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
	h.close = sync.OnceFunc(func() {
		if err := h.log.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(h.close)
	h.start()
	return h
}

// check tries a property -rapid.checks times. With the race detector SQLite and Pebble take ten times as long, and these
// properties have one goroutine: there it tries a fifth as often, unless ALL_CHECKS is set.
func check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	n, err := strconv.Atoi(before)
	if err != nil {
		t.Fatal(err)
	}
	if sqltest.WithRaceDetector && os.Getenv("ALL_CHECKS") == "" {
		n = max(n/5, 1)
	}
	set := func(text string) {
		if err := checks.Value.Set(text); err != nil {
			t.Error(err)
		}
	}
	set(strconv.Itoa(n))
	defer set(before)
	rapid.Check(t, property)
}

func (h *harness) openPebble() timeline.Log {
	l, err := pebblelog.Open("log", pebblelog.Options{FS: h.fs})
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

// start creates the service on the existing stores.
func (h *harness) start() {
	var err error
	deps := inbox.Deps{Log: h.log, DB: h.db, Outbox: h.outbox, Conversations: h.conversations, HidesRead: h.hides, SeesPresence: h.sees, DeviceTypes: h.deviceTypes, Interest: h.interest, LiveNodes: func() int { return h.nodes },
		Clock: h.clock, Logger: slog.New(slog.DiscardHandler)}
	if h.quarantine != nil {
		deps.Quarantine = h.quarantine
	}
	h.Service, err = inbox.New(context.Background(), deps, h.config)
	if err != nil {
		h.t.Fatal(err)
	}
}

// restart opens the log again, in a new epoch. After a crash, entries that were not synced are lost.
func (h *harness) restart(crash bool) {
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

func (h *harness) hides(_ context.Context, u id.User) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hidden[u], nil
}

func (h *harness) hide(u id.User) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hidden[u] = true
}

func streamKey(u id.User) timeline.Key { return timeline.Key{Kind: timeline.Inbox, ID: uint64(u)} }

func conversationKey(c id.Conversation) timeline.Key {
	return timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
}

// send appends a user's message to a conversation, or a control entry if control is set.
func (h *harness) send(t tester, u id.User, c id.Conversation, control bool) uint64 {
	t.Helper()
	return h.sendText(t, u, c, "hello", control)
}

func (h *harness) sendText(t tester, u id.User, c id.Conversation, text string, control bool) uint64 {
	t.Helper()
	h.clock.move(time.Millisecond)
	e := message.Entry{ID: id.MessageOf(h.clock.Now().UnixMilli(), 1, 1, c), Sender: u, Device: id.Device(u), Control: control, Content: message.AppendText(nil, text)}
	a := &timeline.AppendRequest{Key: conversationKey(c), Payload: e.Append(nil), Author: uint64(u), Counts: !control}
	if control {
		a.Author = 0
	}
	if timelinetest.Append(h.log, a); a.Err != nil {
		t.Fatalf("%v", a.Err)
	}
	return a.Seq
}

// access appends the control entry of a block, or of its end.
func (h *harness) access(t tester, c id.Conversation) {
	t.Helper()
	h.clock.move(time.Millisecond)
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Action: chatv1.Control_ACTION_ACCESS}}})
	if err != nil {
		t.Fatalf("%v", err)
	}
	e := message.Entry{ID: id.MessageOf(h.clock.Now().UnixMilli(), 1, 1, c), Control: true, Content: content}
	a := &timeline.AppendRequest{Key: conversationKey(c), Payload: e.Append(nil)}
	if timelinetest.Append(h.log, a); a.Err != nil {
		t.Fatalf("%v", a.Err)
	}
}

// join and leave append control entries, which start and end membership intervals.
func (h *harness) join(t tester, c id.Conversation, users ...id.User) {
	t.Helper()
	seq := h.send(t, users[0], c, true)
	h.conversations.mu.Lock()
	defer h.conversations.mu.Unlock()
	for _, u := range users {
		h.conversations.members[cursorKey{u, c}] = interval{join: seq}
	}
}

func (h *harness) leave(t tester, c id.Conversation, u id.User) {
	t.Helper()
	seq := h.send(t, u, c, true)
	h.conversations.mu.Lock()
	defer h.conversations.mu.Unlock()
	h.conversations.members[cursorKey{u, c}] = interval{h.conversations.members[cursorKey{u, c}].join, seq}
}

// open creates a one-to-one conversation.
func (h *harness) open(t tester, c id.Conversation, a, b id.User) {
	t.Helper()
	h.join(t, c, a, b)
	h.conversations.mu.Lock()
	defer h.conversations.mu.Unlock()
	h.conversations.direct[c] = [2]id.User{a, b}
}

// expire lets the messages below first expire. With deleted, it deletes them from the log as well.
func (h *harness) expire(t tester, c id.Conversation, first uint64, deleted bool) {
	t.Helper()
	if deleted {
		entries, err := h.log.Read(context.Background(), conversationKey(c), 0, 1000)
		if err != nil {
			t.Fatalf("%v", err)
		}
		var keep []uint64
		for _, e := range entries {
			if message.IsControl(e.Payload) {
				keep = append(keep, e.Seq)
			}
		}
		if err := h.log.Expire(context.Background(), conversationKey(c), first, keep); err != nil {
			t.Fatalf("%v", err)
		}
	}
	h.conversations.mu.Lock()
	defer h.conversations.mu.Unlock()
	h.conversations.kept[c] = max(first, h.conversations.kept[c])
}

// fanOut appends references to all new entries to the streams of their receivers, as fan-out does.
func (h *harness) fanOut(t tester) {
	t.Helper()
	ctx := context.Background()
	keys, err := h.log.Keys(ctx, timeline.Conversation, 0, 1<<20)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var posts []timeline.Post
	for _, k := range keys {
		c := id.Conversation(k.ID)
		tail, err := h.log.Tail(ctx, k)
		if err != nil {
			t.Fatalf("%v", err)
		}
		for seq := h.fannedOut[c] + 1; seq <= tail.Seq; seq++ {
			users, large, err := h.conversations.audience(ctx, c, seq)
			if err != nil {
				t.Fatalf("%v", err)
			}
			for _, u := range users {
				if !large {
					posts = append(posts, timeline.Post{Key: streamKey(u), Payload: message.AppendInboxRef(nil, c, seq)})
				}
			}
		}
		h.fannedOut[c] = tail.Seq
	}
	if err := h.log.Post(ctx, posts); err != nil {
		t.Fatalf("%v", err)
	}
}

// post appends payloads to a user's stream.
func (h *harness) post(t tester, u id.User, payloads ...[]byte) {
	t.Helper()
	posts := make([]timeline.Post, len(payloads))
	for i, p := range payloads {
		posts[i] = timeline.Post{Key: streamKey(u), Payload: p}
	}
	if err := h.log.Post(context.Background(), posts); err != nil {
		t.Fatalf("%v", err)
	}
}

// run runs the service until the returned function is called.
func (h *harness) run(t tester) (stop func()) {
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

// outboxEvent is an event of the outbox.
type outboxEvent struct {
	to    id.User
	event *chatv1.Event
}

// events returns the outbox events since the last call.
func (h *harness) events(t tester) (list []outboxEvent) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	end := job.Event{User: 1 << 40, Body: []byte{}}
	if err := h.db.Write(ctx, func(tx *sql.Tx) error { return h.outbox.Put(ctx, tx, end) }); err != nil {
		t.Fatalf("%v", err)
	}
	err := h.outbox.Run(ctx, func(_ context.Context, events []job.Event) error {
		for _, e := range events[h.eventsRead:] {
			if e.User == end.User {
				continue
			}
			v := &chatv1.Event{}
			if err := proto.Unmarshal(e.Body, v); err != nil {
				t.Fatalf("%v", err)
			}
			list = append(list, outboxEvent{e.User, v})
		}
		h.eventsRead = len(events)
		cancel()
		return context.Canceled // so that they remain in the outbox and are delivered again
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return list
}
