package natsbus

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/rialto-im/rialto/internal/engine/bus"
)

// maxFollowed is the number of series that a subscription remembers. Each start of a publisher begins one. Beyond it, all are forgotten,
// which counts as one gap in each active series.
const maxFollowed = 4096

// subscription is one subscriber.
type subscription struct {
	bus     *Bus
	handle  func([]byte)
	missed  func()
	sub     *nats.Subscription
	subject string
	over    atomic.Bool // cancelled
	suspect atomic.Bool // the connection was lost: messages may be missing

	last map[uint64]uint64 // last number of each series; used by the goroutine of sub only

	handling sync.Mutex // one message at a time: from NATS, or published by this node
}

// Subscribe subscribes to subject. It returns when the server knows the subscription; other nodes' servers know it shortly after.
func (b *Bus) Subscribe(subject string, handle func([]byte), missed func()) (func(), error) {
	if err := bus.Check(subject, nil); err != nil {
		return nil, err
	}
	s := &subscription{bus: b, subject: subject, handle: handle, missed: missed, last: map[uint64]uint64{}}
	if err := s.begin(); err != nil {
		return nil, err
	}
	b.settle()
	return sync.OnceFunc(s.cancel), nil
}

func (s *subscription) begin() (err error) {
	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed.Load() {
		return bus.ErrClosed
	}
	if s.sub, err = b.conn.Subscribe(b.subjectOf(message, s.subject), s.receive); err != nil {
		return classify(err)
	}
	b.subs[s] = true
	if strings.HasPrefix(s.subject, b.ownSubjects) {
		b.local[s.subject] = append(slices.Clone(b.local[s.subject]), s)
	}
	return classify(s.sub.SetPendingLimits(b.config.PendingMessages, b.config.PendingBytes))
}

func (s *subscription) cancel() {
	s.over.Store(true)
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.dropped += s.dropped()
	delete(s.bus.subs, s)
	if local := slices.DeleteFunc(slices.Clone(s.bus.local[s.subject]), func(o *subscription) bool { return o == s }); len(local) > 0 {
		s.bus.local[s.subject] = local
	} else {
		delete(s.bus.local, s.subject)
	}
	_ = s.sub.Unsubscribe() // fails if the connection is closed, which ends it as well
}

// dropped counts messages beyond the subscription's bounds.
func (s *subscription) dropped() uint64 {
	n, err := s.sub.Dropped()
	if err != nil {
		return 0 // the subscription has ended
	}
	return uint64(n)
}

// receive is called for one message at a time, on the subscription's goroutine.
func (s *subscription) receive(m *nats.Msg) {
	f, ok := parse(m.Data)
	if !ok {
		s.bus.odd.Add(1)
	}
	gap := !ok || s.follow(f)
	s.deliver(f.data, ok && f.kind == kindMessage, gap)
}

// deliver handles a message, after a notice if one before it may be missing. Without a message there is only the notice.
func (s *subscription) deliver(data []byte, message, gap bool) {
	s.handling.Lock()
	defer s.handling.Unlock()
	if s.over.Load() {
		return
	}
	if s.suspect.Swap(false) || gap {
		s.bus.gaps.Add(1)
		if s.missed != nil {
			s.missed()
		}
	}
	if message {
		s.bus.received.Add(1)
		s.handle(data)
	}
}

// follow records a frame's number, and reports whether one before it is missing.
func (s *subscription) follow(f frame) bool {
	last, known := s.last[f.series]
	if !known && len(s.last) >= maxFollowed {
		clear(s.last)
	}
	s.last[f.series] = max(last, f.number)
	if f.kind == kindTally {
		return f.number > last
	}
	return f.number > last+1
}

// suspectAll notifies each subscriber of a possible gap, with its next message or tally.
func (b *Bus) suspectAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		s.suspect.Store(true)
	}
}
