package bustest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/engine/bus"
)

// Lossy is a bus that loses some messages, and notifies subscribers; of some requests it loses the request or the answer. Some requests
// arrive late, after the requester has given up.
type Lossy struct {
	bus.Bus
	// Lose reports whether the next message or request is lost. It is called concurrently.
	Lose func() bool
	// Late is the delay of late requests; if 0, they are lost.
	Late time.Duration

	mu     sync.Mutex // guards the fields below
	missed map[string][]*func()
	late   map[*time.Timer]bool // delayed requests
}

// Close drops delayed requests.
func (l *Lossy) Close() error {
	l.mu.Lock()
	for t := range l.late {
		t.Stop()
	}
	l.late = nil
	l.mu.Unlock()
	return l.Bus.Close()
}

// delay delivers a request later. Nobody waits for its answer.
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
		_, _ = l.Bus.Request(context.Background(), subject, data) // fails if the bus is closed
	})
	l.late[t] = true
}

// Publish may lose the message, and then notifies subscribers.
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

// Subscribe calls missed after a lost message.
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

// Request may lose the request or the answer.
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
