package rialto

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// heartbeats runs the heartbeat of a connection for a minute, and returns the number of its pings and why it ended; nil if it did not.
// Every ping is followed by answer.
func heartbeats(t *testing.T, answer func(s *socket)) (pings int, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &socket{received: make(chan struct{}, 1), queued: make(chan struct{}, 1), run: t.Context()}
		s.ctx, s.fail = context.WithCancelCause(t.Context())
		s.reading.Store(true)
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.heartbeat(heartbeat{every: 5 * time.Second, search: &idleSearch{}})
		}()
		for range 60 {
			time.Sleep(time.Second)
			synctest.Wait()
			s.mu.Lock()
			n := len(s.queue)
			s.queue = nil
			s.mu.Unlock()
			if pings += n; n > 0 {
				answer(s)
			}
		}
		err = context.Cause(s.ctx)
		s.fail(nil)
		<-done
	})
	return pings, err
}

// The client leaves a node that answers no ping. It does not leave one that answers, however long nothing else arrives, nor while the
// client itself does not read: its pings go out all the same.
func TestSilenceEndsAConnection(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(s *socket)
		pings  int
		ends   bool
	}{
		"silence":       {func(*socket) {}, maxUnansweredPings, true},
		"answers":       {func(s *socket) { s.received <- struct{}{} }, 60 / 5, false},
		"a busy client": {func(s *socket) { s.reading.Store(false) }, 60 / 5, false},
	} {
		pings, err := heartbeats(t, test.answer)
		if pings != test.pings || (err != nil) != test.ends {
			t.Errorf("%s: %d pings, ended by %v; want %d", name, pings, err, test.pings)
		}
	}
}
