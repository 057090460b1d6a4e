package presence_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

// The directory reports the end of a session after it has dropped the last connection. If the session has a new connection by then, it
// keeps what that connection watches, and nothing that the one before watched.
func TestResumedSessionKeepsWatching(t *testing.T) {
	for name, test := range map[string]struct {
		again bool
		want  []push
	}{"it watches again": {true, []push{{1, 3, online}}}, "it does not watch": {false, nil}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				one := caller(1, 10)
				w.Connected(one)
				w.watch(t, one, 2)
				w.beforeSessionEnded = func() {
					w.beforeSessionEnded = nil
					w.Connected(one)
					if test.again {
						w.watch(t, one, 3)
					}
				}
				w.Disconnected(one, false)
				w.Connected(caller(2, 20))
				w.Connected(caller(3, 30))
				pass(2 * time.Second)
				w.checkPushes(t, test.want...)

				w.Disconnected(one, false)
				w.LoggedOut(3)
				w.Disconnected(caller(3, 30), false)
				pass(2 * time.Second)
				w.checkPushes(t)
			})
		})
	}
}

// A connection that ends while its watch waits watches nothing, although its session has another connection.
func TestAConnectionThatEndedDoesNotWatch(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one := caller(1, 10)
		w.Connected(one)
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := w.Watch(ended, one.User, one.Session, []id.User{2}); !errors.Is(err, context.Canceled) {
			t.Errorf("its watch is answered with %v", err)
		}
		w.Connected(caller(2, 20))
		pass(2 * time.Second)
		w.checkPushes(t)
	})
}
