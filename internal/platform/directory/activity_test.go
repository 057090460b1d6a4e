package directory

import (
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
)

// The gateway records activity while calls of the same user read the directory. The race detector checks that they may.
func TestActivityIsRecordedWhileCallsRead(t *testing.T) {
	t.Parallel()
	s := New(Deps{Clock: clock.System{}, Node: "a"}, Config{})
	c := id.Caller{User: 1, Session: 2}
	s.Connected(c)
	var group sync.WaitGroup
	for _, do := range []func(){
		func() { s.Active(c) },
		func() {
			if _, connected := s.Generation(c.User, c.Session); !connected {
				t.Error("a connected session has no generation")
			}
		},
		func() { s.Locate(c.User) },
		func() { s.Online() },
		func() { s.CachedStatus(c.User) },
		func() { s.LastActive() },
		func() { s.SetAway(c, true); s.SetAway(c, false) },
	} {
		group.Go(func() {
			for range 1000 {
				do()
			}
		})
	}
	group.Wait()
}
