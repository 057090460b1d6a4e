package presence_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
)

// asked counts requests, and may leave those of a kind without an answer.
type asked struct {
	bus.Bus
	requests atomic.Int64
	dumb     byte // first byte of what is not answered; 0: all is
}

func (a *asked) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	a.requests.Add(1)
	if a.dumb != 0 && data[0] == a.dumb {
		return nil, nil
	}
	return a.Bus.Request(ctx, subject, data)
}

// Homes that have nothing to be told are asked by node, not each by itself, and are not forgotten for that.
func TestQuietHomesAreAskedTogether(t *testing.T) {
	counted := &asked{}
	gather(t, func(b bus.Bus) bus.Bus { counted.Bus = b; return counted }, func(m *members) {
		a, b, _ := three(m)
		for p := range partitions - 1 { // the last stays with n0
			m.move(p, "n1", true)
		}
		a.connect(1)
		a.Follow(5, true)
		pass(15 * time.Second)
		before := counted.requests.Load()
		pass(time.Minute)
		// n0 and n2 ask n1, n1 and n2 ask n0.
		if got := counted.requests.Load() - before; got < 4*25 || got > 4*31 {
			m.t.Errorf("%d requests in a minute, of 4 nodes that ask another every 2 s", got)
		}
		if got, followers := b.Locate(1), b.Followers(5); !slices.Equal(got, []string{"n0"}) || !slices.Equal(followers, []string{"n0"}) {
			m.t.Errorf("located on %v, followed on %v", got, followers)
		}
	})
}

// A home that forgets what it was told, of which nobody hears, is told again: soon where it answers for all its partitions, and not
// much later where it does not.
func TestAHomeThatForgotIsToldAgain(t *testing.T) {
	for _, dumb := range []byte{0, 5} {
		deaf := &asked{dumb: dumb}
		gather(t, func(b bus.Bus) bus.Bus { deaf.Bus = b; return deaf }, func(m *members) {
			a, b, _ := three(m)
			a.connect(1)
			a.Follow(5, true)
			pass(15 * time.Second)
			before := a.rechecks[1].Load()
			m.move(1, "n1", false) // to where it is
			if b.Locate(1) != nil {
				m.t.Fatal("it did not forget")
			}
			if dumb == 0 {
				pass(3 * time.Second)
			} else {
				pass(9 * time.Second)
			}
			if got, followers := b.Locate(1), b.Followers(5); !slices.Equal(got, []string{"n0"}) || !slices.Equal(followers, []string{"n0"}) {
				m.t.Errorf("located on %v, followed on %v", got, followers)
			}
			if a.rechecks[1].Load() == before {
				m.t.Error("what was delivered meanwhile is not looked for")
			}
		})
	}
}
