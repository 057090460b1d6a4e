package presence_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

// A round of pushes reads the settings of all users who changed at once. Users whose settings are damaged do not hold up the others.
func TestAPushReadsSettingsOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const users = 100
		watcher := caller(1000, 1)
		w.Connected(watcher)
		var watched []id.User
		for u := id.User(1); u <= users; u++ {
			watched = append(watched, u)
		}
		w.watch(t, watcher, watched...)
		pass(time.Second)
		change := func() (readings, pushes int) {
			w.takePushes()
			w.mu.Lock()
			before := w.readings
			w.mu.Unlock()
			for _, u := range watched {
				w.Connected(caller(u, id.Session(u)+users))
			}
			pass(time.Second)
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.readings - before, len(w.pushes)
		}
		if readings, pushes := change(); readings != 1 || pushes != users {
			t.Errorf("%d users came online: %d readings of settings and %d pushes, want 1 and %d", users, readings, pushes, users)
		}
		w.mu.Lock()
		w.damaged = 7
		w.mu.Unlock()
		for _, u := range watched {
			w.LoggedOut(u)
			w.Disconnected(caller(u, id.Session(u)+users), false)
		}
		pass(2 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		if n := len(w.pushes) - users; n != users-1 {
			t.Errorf("%d users went offline, one with damaged settings: %d pushes, want %d", users, n, users-1)
		}
	})
}
