package cassandralog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// inTurn is a policy that gives the same nodes in the same order each time.
type inTurn struct {
	gocql.HostSelectionPolicy
	hosts []*gocql.HostInfo
}

type plain struct{ h *gocql.HostInfo }

func (p plain) Info() *gocql.HostInfo { return p.h }
func (p plain) Mark(error)            {}

func (p inTurn) Pick(gocql.ExecutableStatement) gocql.NextHost {
	n := 0
	return func() gocql.SelectedHost {
		if n++; n > len(p.hosts) {
			return nil
		}
		return plain{p.hosts[n-1]}
	}
}

// TestASilentNodeIsAskedLast: one that did not answer is asked behind the others; after a while one statement tries it; when that is
// answered, all do; and where nobody answers, all are still asked.
func TestASilentNodeIsAskedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := inTurn{hosts: []*gocql.HostInfo{{}, {}, {}}}
		s := newShunning(base)
		order := func() (picked []gocql.SelectedHost, text string) {
			next := s.Pick(nil)
			for h := next(); h != nil; h = next() {
				picked = append(picked, h)
				for i := range base.hosts {
					if base.hosts[i] == h.Info() {
						text += fmt.Sprint(i)
					}
				}
			}
			if next() != nil {
				t.Error("a node after the last")
			}
			return picked, text
		}
		expect := func(want string) []gocql.SelectedHost {
			t.Helper()
			picked, got := order()
			if got != want {
				t.Errorf("they are asked in the order %s, want %s", got, want)
			}
			return picked
		}
		first := expect("012")[0]
		late := expect("012")[0]
		first.Mark(errors.New("refused"))
		expect("012")
		first.Mark(gocql.ErrTimeoutNoResponse)
		expect("120")
		time.Sleep(answersIn)
		late.Mark(nil) // an answer, or an end, that took too long to say anything
		expect("120")
		time.Sleep(shunFor)
		try := expect("012")[0] // one tries it
		expect("120")
		time.Sleep(answersIn)
		try.Mark(gocql.ErrTimeoutNoResponse)
		time.Sleep(shunFor - 1)
		expect("120")
		time.Sleep(time.Nanosecond)
		try = expect("012")[0]
		expect("120")
		try.Mark(nil)
		for _, h := range expect("012") {
			h.Mark(gocql.ErrTimeoutNoResponse)
		}
		expect("012")
	})
}

// said is a statement with its context, of which a policy asks no more.
type said struct {
	gocql.ExecutableStatement
	ctx context.Context
}

func (s said) Attempts() int                     { return 0 }
func (s said) SetConsistency(gocql.Consistency)  {}
func (s said) GetConsistency() gocql.Consistency { return gocql.Quorum }
func (s said) Context() context.Context          { return s.ctx }

// watched runs a test of a policy over some nodes, which is watched. takes has a statement go where the policy says, as the driver does: it
// is answered when the node's time is over, or the driver's patience.
func watched(t *testing.T, nodes int, test func(t *testing.T, s *shunning, hosts []*gocql.HostInfo, takes func(times ...time.Duration) func(context.Context) error)) {
	synctest.Test(t, func(t *testing.T) {
		var hosts []*gocql.HostInfo
		for range nodes {
			hosts = append(hosts, &gocql.HostInfo{})
		}
		s := newShunning(inTurn{hosts: hosts})
		for _, h := range hosts {
			s.of(h)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.watch(ctx)
		}()
		test(t, s, hosts, func(times ...time.Duration) func(context.Context) error {
			return func(ctx context.Context) error {
				h := s.Pick(said{ctx: ctx})()
				took, err := times[slices.Index(hosts, h.Info())], error(nil)
				if took > 6*time.Second {
					took, err = 6*time.Second, gocql.ErrTimeoutNoResponse
				}
				select {
				case <-time.After(took):
				case <-ctx.Done():
					h.Mark(nil)
					return ctx.Err()
				}
				h.Mark(err)
				return err
			}
		})
		stop()
		<-done
	})
}

// TestWhoWaitsForASilentNodeAsksAnother: a node that answers nothing at all for a second, while it is asked, is silent. What does the same
// twice as once goes to the next one then, and the outcome of what does not is unknown then, both long before the driver's patience ends.
func TestWhoWaitsForASilentNodeAsksAnother(t *testing.T) {
	watched(t, 3, func(t *testing.T, s *shunning, hosts []*gocql.HostInfo, takes func(...time.Duration) func(context.Context) error) {
		for range 3 {
			begin := time.Now()
			if err := again(t.Context(), takes(time.Hour, 0, 0)); err != nil || time.Since(begin) > silentLooks*lookEvery {
				t.Errorf("what may be repeated, at a node that is held: %v after %v", err, time.Since(begin))
			}
			begin = time.Now()
			if err := once(t.Context(), takes(time.Hour, 0, 0)); err != nil || time.Since(begin) > 0 {
				t.Errorf("the next waits as well: %v after %v", err, time.Since(begin))
			}
			time.Sleep(shunFor)
			begin = time.Now()
			if err := once(t.Context(), takes(time.Hour, 0, 0)); !errors.Is(err, errSilent) || time.Since(begin) > silentLooks*lookEvery {
				t.Errorf("what may not be repeated: %v after %v", err, time.Since(begin))
			}
			time.Sleep(2 * shunFor)
		}
		if err := once(t.Context(), takes((silentLooks-2)*lookEvery+1, time.Hour, time.Hour)); err != nil || s.shuns(hosts[0]) {
			t.Errorf("it answers again: %v", err)
		}
	})
}

// TestASlowNodeIsWaitedFor: where it answers others meanwhile; where the driver only passed it over; and where there is no other to ask.
func TestASlowNodeIsWaitedFor(t *testing.T) {
	watched(t, 2, func(t *testing.T, s *shunning, hosts []*gocql.HostInfo, takes func(...time.Duration) func(context.Context) error) {
		slow := make(chan error)
		go func() { slow <- once(t.Context(), takes(5*time.Second, time.Hour)) }()
		for range 20 {
			if err := once(t.Context(), takes(time.Millisecond, time.Hour)); err != nil {
				t.Error(err)
			}
			time.Sleep(lookEvery)
		}
		if err := <-slow; err != nil {
			t.Errorf("others are answered, and one was given up: %v", err)
		}
		for next := s.Pick(said{ctx: t.Context()}); next() != nil; { // without a connection to either
		}
		time.Sleep(2 * silentLooks * lookEvery)
		if s.shuns(hosts[0]) || s.shuns(hosts[1]) {
			t.Error("a node that nothing went to is shunned")
		}
	})
	watched(t, 1, func(t *testing.T, s *shunning, _ []*gocql.HostInfo, takes func(...time.Duration) func(context.Context) error) {
		if err := again(t.Context(), takes(5*time.Second)); err != nil {
			t.Errorf("the only node is slow, and was given up: %v", err)
		}
	})
}
