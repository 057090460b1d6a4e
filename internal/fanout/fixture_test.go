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

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/bus/membus"
	"github.com/rialto-im/rialto/internal/fanout"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

var errBroken = errors.New("broken by the test")

// members of conversations that do not change; those in large are read from their log.
type members struct {
	of      map[id.Conversation][]id.User
	large   map[id.Conversation]bool
	fail    atomic.Int64 // so many calls
	gate    atomic.Pointer[chan struct{}]
	applied sync.Map // the highest control entry that was asked for, by conversation
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

func (m *members) Applied(_ context.Context, c id.Conversation, seq uint64) error {
	m.applied.Store(c, seq)
	return nil
}

// places: even users are on node a, those that 3 divides on b.
type places struct{}

var placed = [6][]string{{"a", "b"}, nil, {"a"}, {"b"}, {"a"}, nil}

func (places) Locate(u id.User) []string {
	return placed[u%6]
}

func (places) Nodes() []string { return []string{"a", "b"} }

func (places) Followers(id.Conversation) []string { return []string{"a", "b"} }

// faulty is a log whose calls fail so many times.
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

func (l *faulty) Records(ctx context.Context, p uint16, after uint64, limit int) ([]timeline.Record, error) {
	if l.records.Add(-1) >= 0 {
		return nil, errBroken
	}
	if _, is := l.forming.Load(p); is {
		return nil, timeline.ErrForming
	}
	return l.Log.Records(ctx, p, after, limit)
}

func (l *faulty) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	if l.gets.Add(-1) >= 0 {
		return nil, errBroken
	}
	return l.Log.Get(ctx, refs)
}

func (l *faulty) GetMost(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	if l.gets.Add(-1) >= 0 {
		return nil, errBroken
	}
	return l.Log.GetMost(ctx, refs, bytes)
}

func (l *faulty) PutCheckpoint(ctx context.Context, p uint16, at uint64) error {
	if l.checkpoints.Add(-1) >= 0 {
		return errBroken
	}
	return l.Log.PutCheckpoint(ctx, p, at)
}

// got is a delivery as a node takes it.
type got struct {
	node string
	lane int
	message.Delivery
}

// stage has a log with a worker on it, that may be stopped and replaced.
type stage struct {
	t      testing.TB
	log    *faulty
	chat   *members
	room   fanout.Chat // instead of chat, where it is not nil
	where  fanout.Presence
	aside  fanout.Aside
	bus    *membus.Bus
	worker atomic.Pointer[fanout.Worker] // nil: none is told of commits
	deaf   atomic.Bool                   // of every second batch the worker is not told
	calls  atomic.Int64
	turns  atomic.Bool // of every two batches the worker is told the later first
	stop   func()

	acked, told atomic.Int64 // entries that append stored, and that commits had

	holding sync.Mutex        // guards held
	held    []timeline.Commit // back

	count *atomic.Int64 // where it is not nil, deliveries' bytes are counted and not kept

	mu  sync.Mutex // guards got
	got []got
}

func newStage(t testing.TB, open func(timeline.Listener) timeline.Log) *stage {
	s := &stage{t: t, chat: &members{of: map[id.Conversation][]id.User{}, large: map[id.Conversation]bool{}}, where: places{}, bus: membus.New()}
	s.log = &faulty{Log: open(func(c []timeline.Commit) {
		n := 0
		for i := range c {
			n += len(c[i].Entries)
		}
		c = s.inTurns(c)
		if w := s.worker.Load(); w != nil && (!s.deaf.Load() || s.calls.Add(1)%2 == 0) {
			w.Committed(c)
		}
		s.told.Add(int64(n))
	})}
	for _, node := range places.Nodes(places{}) {
		for lane := range bus.Lanes {
			_, err := s.bus.Subscribe(bus.Node(node, lane), func(b []byte) { s.take(node, lane, b) }, nil)
			must(t, err)
		}
	}
	return s
}

// inTurns holds a batch back until there is another.
func (s *stage) inTurns(c []timeline.Commit) []timeline.Commit {
	s.holding.Lock()
	defer s.holding.Unlock()
	if s.held == nil && s.turns.Load() {
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

func (s *stage) start() {
	var room fanout.Chat = s.chat
	if s.room != nil {
		room = s.room
	}
	w := fanout.New(fanout.Deps{Log: s.log, Chat: room, Presence: s.where, Bus: s.bus, Aside: s.aside, Logger: slog.New(slog.DiscardHandler)})
	for p := range timeline.Partitions {
		w.Begin(p)
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
}

// settle waits until all is carried. Who appended may know before the worker is told.
func (s *stage) settle() {
	for s.told.Load() < s.acked.Load() || !s.worker.Load().Idle() {
		runtime.Gosched()
	}
}

// noneLeft fails when goroutines of this repository are left behind.
func noneLeft(t testing.TB) {
	t.Helper()
	var left string
	for range 1000 {
		buf := make([]byte, 1<<20)
		left = ""
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "rialto/internal/") && !strings.Contains(g, "testing.tRunner") && !strings.Contains(g, "testing.(*T).Run") {
				left = g
			}
		}
		if left == "" {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("left behind: %s", left)
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

// append appends without waiting, and has done told.
func (s *stage) append(c id.Conversation, payload []byte, done *sync.WaitGroup) {
	done.Add(1)
	s.log.Append(&timeline.Append{Key: conversation(c), Payload: payload, Counts: true, Carry: true, Done: func(a *timeline.Append) {
		if a.Err != nil {
			s.t.Error(a.Err)
		} else if !a.Duplicate {
			s.acked.Add(1)
		}
		done.Done()
	}})
}
