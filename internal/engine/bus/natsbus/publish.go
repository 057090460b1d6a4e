package natsbus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/bus"
)

const (
	// maxSubjects is the maximum number of subjects of one publisher within forgetAfter. Each costs a tally a second, so there must be
	// few.
	maxSubjects = 16_384
	// forgetAfter is how long a series is tallied after its last message.
	forgetAfter = 10 * time.Minute
)

var errSubjects = errs.New(errs.Exhausted, "bus_subjects", "this node published on 16,384 subjects within ten minutes; subjects name nodes and partitions, not users")

// subjects are those that this publisher has used lately.
type subjects struct {
	mu sync.RWMutex // guards of
	of map[string]*series
}

// series numbers the messages of one subject.
type series struct {
	mu     sync.Mutex // guards the fields below, and keeps numbering and sending in one order
	id     uint64
	number uint64 // of the last message
	spoke  time.Time
	gone   bool // forgotten: use another
}

func newSubjects() subjects { return subjects{of: map[string]*series{}} }

// Publish numbers data and sends it. Only this node subscribes to its own subjects, so their messages do not leave the process.
func (b *Bus) Publish(subject string, data []byte) error {
	if err := bus.Check(subject, data); err != nil {
		return err
	}
	if b.closed.Load() {
		return bus.ErrClosed
	}
	if strings.HasPrefix(subject, b.ownSubjects) {
		b.publishLocally(subject, data)
		return nil
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

// publishLocally runs the handlers of a subject of this node.
func (b *Bus) publishLocally(subject string, data []byte) {
	b.mu.Lock()
	subscribers := b.local[subject]
	b.mu.Unlock()
	for _, s := range subscribers {
		s.deliver(data, true, false)
	}
}

// lock returns the subject's series, locked.
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

// buffer returns an empty buffer, to be put back into buffers after the connection has copied it.
func (b *Bus) buffer() *[]byte {
	if buffer, ok := b.buffers.Get().(*[]byte); ok {
		*buffer = (*buffer)[:0]
		return buffer
	}
	return new([]byte)
}

// Two separate subject spaces, so that no subscriber receives a request.
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
		return fmt.Errorf("%w: the NATS server accepts less: set its max_payload to at least %d", bus.ErrTooLarge, largest)
	}
	return fmt.Errorf("%w: %w", bus.ErrDown, err)
}

// tallyAll publishes the last number of each series until ctx ends, so that subscribers notice the loss of a last message. A subject that
// was not used for long is forgotten; its next message begins a new series.
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

// tally returns false for a series that has ended. A lost tally does no harm, because the next one repeats it.
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
