package presence_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/bus"
)

// countingBus counts requests, and may leave probes without an answer.
type countingBus struct {
	bus.Bus
	requests     atomic.Int64
	ignoreProbes bool
}

func (a *countingBus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	a.requests.Add(1)
	if a.ignoreProbes && strings.HasSuffix(subject, ".probe") {
		return nil, nil
	}
	return a.Bus.Request(ctx, subject, data)
}

// While there is nothing to report, registrations are verified with the probes of each node, not for each partition, and they stay valid.
func TestIdleRegistrationsAreVerifiedTogether(t *testing.T) {
	counted := &countingBus{}
	gather(t, func(b bus.Bus) bus.Bus { counted.Bus = b; return counted }, func(m *nodes) {
		a, b, _ := three(m)
		for p := range partitions - 1 { // the last stays with n0
			m.move(p, "n1", true)
		}
		a.connect(1)
		a.Follow(5, true)
		pass(15 * time.Second)
		before := counted.requests.Load()
		pass(time.Minute)
		if got := counted.requests.Load() - before; got < 6*29 || got > 6*31 {
			m.t.Errorf("%d requests in a minute; want one every 2 s for each of 6 pairs of nodes", got)
		}
		if got, followers := b.Locate(1), b.Followers(5); !slices.Equal(got, []string{"n0"}) || !slices.Equal(followers, []string{"n0"}) {
			m.t.Errorf("located on %v, followed on %v", got, followers)
		}
	})
}

// An owner that silently forgets everything gets a full sync again: soon if it answers verifications, and not much later if it does not.
func TestAnOwnerThatForgotIsSyncedAgain(t *testing.T) {
	for _, ignored := range []bool{false, true} {
		counted := &countingBus{ignoreProbes: ignored}
		gather(t, func(b bus.Bus) bus.Bus { counted.Bus = b; return counted }, func(m *nodes) {
			a, b, _ := three(m)
			a.connect(1)
			a.Follow(5, true)
			pass(15 * time.Second)
			before := a.rechecks[1].Load()
			m.move(1, "n1", false) // to its owner, which forgets
			if b.Locate(1) != nil {
				m.t.Fatal("the owner did not forget")
			}
			if !ignored {
				pass(3 * time.Second)
			} else {
				pass(9 * time.Second)
			}
			if got, followers := b.Locate(1), b.Followers(5); !slices.Equal(got, []string{"n0"}) || !slices.Equal(followers, []string{"n0"}) {
				m.t.Errorf("located on %v, followed on %v", got, followers)
			}
			if a.rechecks[1].Load() == before {
				m.t.Error("the connections were not rechecked")
			}
		})
	}
}
