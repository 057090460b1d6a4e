package fanout_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/service/fanout"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var errBroken = errors.New("broken by the test")

// members of conversations that do not change; those in large are read from their log.
type members struct {
	of      map[id.Conversation][]id.User
	large   map[id.Conversation]bool
	fail    atomic.Int64 // number of calls that fail
	gate    atomic.Pointer[chan struct{}]
	applied sync.Map                      // the highest control seq passed to AwaitApplied, by conversation
	refresh func([]*message.Stored) error // nil: no entry is outdated
	// outdated reports which entries are, if refresh is set; nil: all.
	outdated func(stored []byte) bool

	applyCalls atomic.Int64
}

func (m *members) Audience(_ context.Context, c id.Conversation, _ uint64) ([]id.User, bool, error) {
	if gate := m.gate.Load(); gate != nil {
		<-*gate
	}
	if m.fail.Add(-1) >= 0 {
		return nil, false, errBroken
	}
	return m.of[c], m.large[c], nil
}

func (m *members) JoinedAfter(context.Context, id.Conversation, uint64, []id.User) ([]id.User, error) {
	return nil, nil
}

func (m *members) AwaitApplied(_ context.Context, c id.Conversation, seq uint64) error {
	m.applied.Store(c, seq)
	return nil
}

func (m *members) ApplyUpdates(_ context.Context, list []*message.Stored) ([]error, error) {
	m.applyCalls.Add(1)
	for _, u := range list {
		m.applied.Store(u.Conversation, u.Seq)
		u.Entry.Content = append([]byte("applied "), u.Entry.Content...)
	}
	return make([]error, len(list)), nil
}

func (m *members) MayBeOutdated(stored []byte) bool {
	return m.refresh != nil && (m.outdated == nil || m.outdated(stored))
}

func (m *members) Refresh(_ context.Context, list []*message.Stored) error { return m.refresh(list) }

// owners locates even users on node a, and multiples of three on node b.
type owners struct{}

var placed = [6][]string{{"a", "b"}, nil, {"a"}, {"b"}, {"a"}, nil}

func (owners) Locate(u id.User) []string {
	return placed[u%6]
}

func (owners) Nodes() []string { return []string{"a", "b"} }

func (owners) Followers(id.Conversation) []string { return []string{"a", "b"} }

// faulty is a log that fails as many calls as its counters say.
type faulty struct {
	timeline.Log
	posts, records, gets, checkpoints atomic.Int64
	forming                           sync.Map // partitions whose records have no entries yet
}

func (l *faulty) Post(ctx context.Context, posts []timeline.Post) error {
	if l.posts.Add(-1) >= 0 {
		return errBroken
	}
	return l.Log.Post(ctx, posts)
}

func (l *faulty) FanoutRecords(ctx context.Context, p uint16, after uint64, limit int) ([]timeline.FanoutRecord, error) {
	if l.records.Add(-1) >= 0 {
		return nil, errBroken
	}
	if _, is := l.forming.Load(p); is {
		return nil, timeline.ErrRecordIncomplete
	}
	return l.Log.FanoutRecords(ctx, p, after, limit)
}

func (l *faulty) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	if l.gets.Add(-1) >= 0 {
		return nil, errBroken
	}
	return l.Log.Get(ctx, refs)
}

func (l *faulty) GetLimited(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	if l.gets.Add(-1) >= 0 {
		return nil, errBroken
	}
	return l.Log.GetLimited(ctx, refs, bytes)
}

func (l *faulty) PutCheckpoint(ctx context.Context, p uint16, at uint64) error {
	if l.checkpoints.Add(-1) >= 0 {
		return errBroken
	}
	return l.Log.PutCheckpoint(ctx, p, at)
}

// got is a delivery as a node receives it.
type got struct {
	node string
	lane int
	message.Delivery
}

// stage is a log with a worker, which tests stop and replace.
type stage struct {
	t          testing.TB
	log        *faulty
	chat       *members
	custom     fanout.Chat // replaces chat unless nil
	where      fanout.Directory
	quarantine fanout.Quarantine
	bus        *membus.Bus
	worker     atomic.Pointer[fanout.Worker] // nil: no worker receives commits
	deaf       atomic.Bool                   // the worker does not receive every second batch
	calls      atomic.Int64
	reorder    atomic.Bool // the worker receives the later of every two batches first
	stop       func()

	acked, committed atomic.Int64 // entries acknowledged to append, and entries in commits

	holding sync.Mutex        // guards held
	held    []timeline.Commit // back

	count *atomic.Int64 // if not nil, counts deliveries' bytes instead of recording them

	mu  sync.Mutex // guards got
	got []got
}

func newStage(t testing.TB, open func(timeline.Listener) timeline.Log) *stage {
	s := &stage{t: t, chat: &members{of: map[id.Conversation][]id.User{}, large: map[id.Conversation]bool{}}, where: owners{}, bus: membus.New()}
	s.log = &faulty{Log: open(func(c []timeline.Commit) {
		n := 0
		for i := range c {
			n += len(c[i].Entries)
		}
		c = s.reordered(c)
		if w := s.worker.Load(); w != nil && (!s.deaf.Load() || s.calls.Add(1)%2 == 0) {
			w.Committed(c)
		}
		s.committed.Add(int64(n))
	})}
	for _, node := range owners.Nodes(owners{}) {
		for lane := range bus.Lanes {
			_, err := s.bus.Subscribe(bus.Node(node, lane), func(b []byte) { s.take(node, lane, b) }, nil)
			must(t, err)
		}
	}
	return s
}

// reordered holds a batch back until there is another.
func (s *stage) reordered(c []timeline.Commit) []timeline.Commit {
	s.holding.Lock()
	defer s.holding.Unlock()
	if s.held == nil && s.reorder.Load() {
		s.held = slices.Clone(c)
		return nil
	}
	if s.held != nil {
		c = append(slices.Clone(c), s.held...)
		s.held = nil
	}
	return c
}

func (s *stage) take(node string, lane int, b []byte) {
	if s.count != nil {
		s.count.Add(int64(len(b)))
		return
	}
	b = slices.Clone(b)
	for len(b) > 0 {
		g := got{node: node, lane: lane}
		var err error
		if b, err = g.Next(b); err != nil {
			s.t.Error(err)
			return
		}
		s.mu.Lock()
		s.got = append(s.got, g)
		s.mu.Unlock()
	}
}

// assign gives a worker a partition, in a new term.
func assign(w *fanout.Worker, partition int) {
	w.Assigned(cluster.NewGrant(context.Background(), partition, terms.Add(1)))
}

var terms atomic.Uint64

func (s *stage) start() {
	var service fanout.Chat = s.chat
	if s.custom != nil {
		service = s.custom
	}
	w := fanout.New(fanout.Deps{Log: s.log, Chat: service, Directory: s.where, Bus: s.bus, Quarantine: s.quarantine, Logger: slog.New(slog.DiscardHandler)})
	for p := range timeline.Partitions {
		assign(w, p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.worker.Store(w)
	go func() {
		defer close(done)
		if err := w.Run(ctx); err != nil {
			s.t.Error(err)
		}
	}()
	s.stop = func() {
		s.worker.Store(nil)
		cancel()
		<-done
	}
	endsWith(s.t, cancel, done)
}

// endsWith ends a worker with its test, also if the test fails: a later error would be reported to a finished test.
func endsWith(t testing.TB, cancel func(), done <-chan struct{}) {
	t.Cleanup(func() {
		cancel()
		eventually.Receive(t, "the worker ends", done)
	})
}

// settle waits until all is dispatched. An append may be acknowledged before the worker receives its commit.
func (s *stage) settle() {
	eventually.True(s.t, "all entries are dispatched", func() bool { return s.committed.Load() >= s.acked.Load() && s.worker.Load().Idle() })
}

// noGoroutines waits until no goroutine of this repository runs: one that has signalled its end may still have to return.
func noGoroutines(t testing.TB) {
	t.Helper()
	remaining := ""
	defer func() {
		if remaining != "" {
			t.Logf("this goroutine still runs: %s", remaining)
		}
	}()
	eventually.True(t, "all goroutines have ended", func() bool {
		buf := make([]byte, 1<<20)
		remaining = ""
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "rialto/internal/") && !strings.Contains(g, "testing.tRunner") && !strings.Contains(g, "testing.(*T).Run") {
				remaining = g
			}
		}
		return remaining == ""
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func conversation(c id.Conversation) timeline.Key {
	return timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
}

func inbox(u id.User) timeline.Key { return timeline.Key{Kind: timeline.Inbox, ID: uint64(u)} }

func textEntry(text string) []byte {
	e := message.Entry{Sender: 1, Device: 1, Content: message.AppendText(nil, text)}
	return e.Append(nil)
}

func controlEntry(t testing.TB, action chatv1.Control_Action, users ...uint64) []byte {
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Action: action, Users: users}}})
	must(t, err)
	e := message.Entry{Sender: 1, Control: true, Content: content}
	return e.Append(nil)
}

// append appends without waiting, and signals done when the append has completed.
func (s *stage) append(c id.Conversation, payload []byte, done *sync.WaitGroup) {
	done.Add(1)
	s.log.Append(&timeline.AppendRequest{Key: conversation(c), Payload: payload, Counts: true, NeedsFanout: true, Done: func(a *timeline.AppendRequest) {
		if a.Err != nil {
			s.t.Error(a.Err)
		} else if !a.Duplicate {
			s.acked.Add(1)
		}
		done.Done()
	}})
}
