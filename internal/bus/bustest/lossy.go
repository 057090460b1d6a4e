package bustest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
)

// Lossy is a bus that loses some of what is published, telling subscribers that it did, and of requests the question or the answer. Of
// requests whose asker has given up some come late.
type Lossy struct {
	bus.Bus
	// Lose says whether the next one is lost; it is called by many.
	Lose func() bool
	// Late is how long a question is on its way that its asker takes for lost; 0: it never comes.
	Late time.Duration

	mu     sync.Mutex // guards what follows
	missed map[string][]*func()
	late   map[*time.Timer]bool // questions on their way
}

// Close drops what is on its way.
func (l *Lossy) Close() error {
	l.mu.Lock()
	for t := range l.late {
		t.Stop()
	}
	l.late = nil
	l.mu.Unlock()
	return l.Bus.Close()
}

// delay has a question come late. Nobody waits for its answer.
func (l *Lossy) delay(subject string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late == nil {
		l.late = map[*time.Timer]bool{}
	}
	var t *time.Timer
	t = time.AfterFunc(l.Late, func() {
		l.mu.Lock()
		delete(l.late, t)
		l.mu.Unlock()
		_, _ = l.Bus.Request(context.Background(), subject, data) // it fails where the bus is closed
	})
	l.late[t] = true
}

// Publish loses, and tells that it did.
func (l *Lossy) Publish(subject string, data []byte) error {
	if !l.Lose() {
		return l.Bus.Publish(subject, data)
	}
	l.mu.Lock()
	missed := slices.Clone(l.missed[subject])
	l.mu.Unlock()
	for _, m := range missed {
		(*m)()
	}
	return nil
}

// Subscribe has missed called where something was lost.
func (l *Lossy) Subscribe(subject string, handle func([]byte), missed func()) (func(), error) {
	cancel, err := l.Bus.Subscribe(subject, handle, missed)
	if err != nil || missed == nil {
		return cancel, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.missed == nil {
		l.missed = map[string][]*func(){}
	}
	l.missed[subject] = append(l.missed[subject], &missed)
	return func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.missed[subject] = slices.DeleteFunc(l.missed[subject], func(m *func()) bool { return m == &missed })
	}, nil
}

// Request loses the question, or the answer.
func (l *Lossy) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if l.Lose() {
		if l.Late > 0 {
			l.delay(subject, slices.Clone(data))
		}
		return nil, bus.ErrNoAnswer
	}
	answer, err := l.Bus.Request(ctx, subject, data)
	if l.Lose() {
		return nil, bus.ErrNoAnswer
	}
	return answer, err
}
