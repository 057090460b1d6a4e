package presence_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// maxWatched is the most that a session may watch.
const maxWatched = 500

// loadBus counts the messages and requests between nodes.
type loadBus struct {
	bus.Bus
	messages, requests atomic.Int64
}

func (b *loadBus) Publish(subject string, data []byte) error {
	b.messages.Add(1)
	return b.Bus.Publish(subject, data)
}

func (b *loadBus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	b.requests.Add(1)
	// A request takes time, as on any network. Without it every batch would leave with whatever little was queued, as the scheduler
	// of the machine happens to decide, and the count of requests would say nothing.
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return b.Bus.Request(ctx, subject, data)
}

// A node with very many users restarts, and they return to another one within the grace. What nodes send each other is bounded by the
// partitions and the sizes of batches, not by the users; no watcher is told anything, and no status is lost.
func TestARestartOfALargeNodeIsNoStorm(t *testing.T) {
	const users = 100_000
	counted := &loadBus{}
	gather(t, func(b bus.Bus) bus.Bus { counted.Bus = b; return counted }, func(m *nodes) {
		a, _, c := three(m)
		connect := func(n *member) {
			for u := id.User(1); u <= users; u++ {
				session := caller(u, id.Session(u)*10)
				away := n.Connected(session)
				if u%10 == 0 && !away {
					n.SetAway(session, true)
				}
			}
		}
		connect(c)
		pass(5 * time.Second)
		for w := range id.User(20) { // each has the most that a session may watch, so 10,000 users are watched
			watcher := caller(users+1+w, id.Session(users+1+w)*10)
			a.Connected(watcher)
			watched := make([]id.User, maxWatched)
			for i := range watched {
				watched[i] = 1 + w*maxWatched + id.User(i)
			}
			for _, p := range a.watch(m.t, watcher, watched...) {
				if want := map[bool]presencev1.Status{false: online, true: away}[p.User%10 == 0]; p.Status != want {
					m.t.Fatalf("user %d is %v, want %v", p.User, p.Status, want)
				}
			}
		}
		pass(40 * time.Second)
		a.takePushes()
		messages, requests := counted.messages.Load(), counted.requests.Load()

		m.move(2, "n0", true) // n2 hands its partition over, and stops
		m.kill("n2")
		connect(a)
		pass(45 * time.Second) // longer than the grace
		if got := a.takePushes(); len(got) > 0 {
			m.t.Errorf("%d pushes, such as %v", len(got), got[0])
		}
		// Partition 1 is owned by n1, which has to learn of a fourth of the users, up to 4,096 in a request. Verifications come every 2 s.
		if got := counted.requests.Load() - requests; got > 150 {
			m.t.Errorf("%d requests between nodes", got)
		}
		if got := counted.messages.Load() - messages; got > 150 {
			m.t.Errorf("%d messages between nodes", got)
		}
		for _, u := range []id.User{1, 2, 3, 4, 10, 99_999} {
			want := online
			if u%10 == 0 {
				want = away
			}
			if got := a.status(m.t, users+1, u); got != want {
				m.t.Errorf("afterwards user %d is %v, want %v", u, got, want)
			}
		}
		m.t.Logf("%d requests, %d messages", counted.requests.Load()-requests, counted.messages.Load()-messages)
	})
}
