package natsbus

import (
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/rialto-im/rialto/internal/bus"
)

// maxFollowed is how many series a subscription remembers. Each start of each publisher is one; beyond, all are forgotten,
// which looks like one hole in each that goes on.
const maxFollowed = 4096

// subscription is one subscriber.
type subscription struct {
	bus     *Bus
	handle  func([]byte)
	missed  func()
	sub     *nats.Subscription
	over    atomic.Bool // cancelled
	suspect atomic.Bool // the connection was lost: something may be missing

	last map[uint64]uint64 // the last number heard of each series; used by the subscription's own goroutine only
}

// Subscribe listens on subject. It returns when the server knows; other nodes' servers know a moment later.
func (b *Bus) Subscribe(subject string, handle func([]byte), missed func()) (func(), error) {
	if err := bus.Check(subject, nil); err != nil {
		return nil, err
	}
	s := &subscription{bus: b, handle: handle, missed: missed, last: map[uint64]uint64{}}
	if err := s.begin(subject); err != nil {
		return nil, err
	}
	b.settle()
	return sync.OnceFunc(s.cancel), nil
}

func (s *subscription) begin(subject string) (err error) {
	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed.Load() {
		return bus.ErrClosed
	}
	if s.sub, err = b.conn.Subscribe(b.subjectOf(message, subject), s.receive); err != nil {
		return classify(err)
	}
	b.subs[s] = true
	return classify(s.sub.SetPendingLimits(b.config.PendingMessages, b.config.PendingBytes))
}

func (s *subscription) cancel() {
	s.over.Store(true)
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.dropped += s.dropped()
	delete(s.bus.subs, s)
	_ = s.sub.Unsubscribe() // fails where the connection is closed, which ends it as well
}

// dropped counts messages that did not find room.
func (s *subscription) dropped() uint64 {
	n, err := s.sub.Dropped()
	if err != nil {
		return 0 // it is over
	}
	return uint64(n)
}

// receive is called for one message at a time, on the subscription's goroutine.
func (s *subscription) receive(m *nats.Msg) {
	if s.over.Load() {
		return
	}
	f, ok := parse(m.Data)
	if !ok {
		s.bus.odd.Add(1)
	}
	hole := !ok || s.follow(f)
	if s.suspect.Swap(false) || hole {
		s.bus.holes.Add(1)
		if s.missed != nil {
			s.missed()
		}
	}
	if ok && f.kind == kindMessage {
		s.bus.received.Add(1)
		s.handle(f.data)
	}
}

// follow notes a frame's number, and tells whether one before it is missing.
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

// suspectAll has each subscriber told with the next message or tally.
func (b *Bus) suspectAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		s.suspect.Store(true)
	}
}
