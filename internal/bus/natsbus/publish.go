package natsbus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/errs"
)

const (
	// maxSubjects is how many subjects one publisher may have within forgetAfter. Each costs a tally a second, so they must be few.
	maxSubjects = 16_384
	// forgetAfter is how long a series is tallied after its last message.
	forgetAfter = 10 * time.Minute
)

var errSubjects = errs.New(errs.Exhausted, "bus_subjects", "this node spoke on 16,384 subjects within ten minutes; subjects name nodes and partitions, not users")

// subjects are those that this publisher speaks on.
type subjects struct {
	mu sync.RWMutex // guards of
	of map[string]*series
}

// series numbers the messages of one subject.
type series struct {
	mu     sync.Mutex // guards what follows, and keeps numbers and sending in one order
	id     uint64
	number uint64 // of the last message
	spoke  time.Time
	gone   bool // forgotten: take another
}

func newSubjects() subjects { return subjects{of: map[string]*series{}} }

// Publish numbers data and sends it.
func (b *Bus) Publish(subject string, data []byte) error {
	if err := bus.Check(subject, data); err != nil {
		return err
	}
	if b.closed.Load() {
		return bus.ErrClosed
	}
	s, err := b.subjects.lock(subject)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.number++
	s.spoke = time.Now()
	return b.send(subject, s, frame{kind: kindMessage, series: s.id, number: s.number, data: data})
}

// lock gives the subject's series, locked.
func (t *subjects) lock(subject string) (*series, error) {
	for {
		t.mu.RLock()
		s := t.of[subject]
		t.mu.RUnlock()
		if s == nil {
			var err error
			if s, err = t.add(subject); err != nil {
				return nil, err
			}
		}
		s.mu.Lock()
		if !s.gone {
			return s, nil
		}
		s.mu.Unlock()
	}
}

func (t *subjects) add(subject string) (*series, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.of[subject]; s != nil {
		return s, nil
	}
	if len(t.of) >= maxSubjects {
		return nil, errSubjects
	}
	s := &series{id: rand.Uint64(), spoke: time.Now()}
	t.of[subject] = s
	return s, nil
}

// send sends a frame of a series whose lock is held.
func (b *Bus) send(subject string, s *series, f frame) error {
	buffer := b.buffer()
	defer b.buffers.Put(buffer)
	*buffer = f.append(*buffer)
	return classify(b.conn.Publish(b.subjectOf(message, subject), *buffer))
}

// buffer gives an empty one for what is sent, to be put back into buffers: the connection copies it.
func (b *Bus) buffer() *[]byte {
	if buffer, ok := b.buffers.Get().(*[]byte); ok {
		*buffer = (*buffer)[:0]
		return buffer
	}
	return new([]byte)
}

// Two spaces of subjects, so that no request meets a subscriber.
const (
	message = ".m."
	request = ".r."
)

func (b *Bus) subjectOf(space, subject string) string { return b.config.Prefix + space + subject }

func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionDraining):
		return bus.ErrClosed
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: the NATS server takes less: set its max_payload to at least %d", bus.ErrTooLarge, largest)
	}
	return fmt.Errorf("%w: %w", bus.ErrDown, err)
}

// tallyAll says how far each series has come, until ctx ends: that is how a subscriber finds a hole after which nothing
// follows. A subject on which nothing was said for long is forgotten; its next message begins another series.
func (b *Bus) tallyAll(ctx context.Context) {
	tick := time.NewTicker(b.config.Tally)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			b.tallyOnce(now)
		}
	}
}

func (b *Bus) tallyOnce(now time.Time) {
	for subject, s := range b.subjects.list() {
		if !b.tally(subject, s, now) {
			b.subjects.forget(subject)
		}
	}
}

// tally is false for a series that is over. A tally that cannot be sent is a tally lost: the next one says the same.
func (b *Bus) tally(subject string, s *series, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone = now.Sub(s.spoke) > forgetAfter; s.gone {
		return false
	}
	if s.number > 0 && b.conn.IsConnected() {
		_ = b.send(subject, s, frame{kind: kindTally, series: s.id, number: s.number})
	}
	return true
}

func (t *subjects) list() map[string]*series {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := make(map[string]*series, len(t.of))
	for subject, s := range t.of {
		list[subject] = s
	}
	return list
}

func (t *subjects) forget(subject string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, subject)
}
