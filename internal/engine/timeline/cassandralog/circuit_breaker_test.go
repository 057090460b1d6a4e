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

// inTurn is a policy that always returns the same nodes in the same order.
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

// A node that did not answer is used after the others; after a while one statement probes it; if that is answered, all statements use it
// again; and if no node answers, all are still used.
func TestASilentNodeIsUsedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := inTurn{hosts: []*gocql.HostInfo{{}, {}, {}}}
		s := newCircuitBreaker(base)
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
				t.Error("got a node after the last one")
			}
			return picked, text
		}
		expect := func(want string) []gocql.SelectedHost {
			t.Helper()
			picked, got := order()
			if got != want {
				t.Errorf("got nodes in the order %s, want %s", got, want)
			}
			return picked
		}
		first := expect("012")[0]
		late := expect("012")[0]
		first.Mark(errors.New("refused"))
		expect("012")
		first.Mark(gocql.ErrTimeoutNoResponse)
		expect("120")
		time.Sleep(healthyLatency)
		late.Mark(nil) // a result that came too late to close the circuit
		expect("120")
		time.Sleep(openDuration)
		try := expect("012")[0] // the probe
		expect("120")
		time.Sleep(healthyLatency)
		try.Mark(gocql.ErrTimeoutNoResponse)
		time.Sleep(openDuration - 1)
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

// fakeStatement is a statement with only a context.
type said struct {
	gocql.ExecutableStatement
	ctx context.Context
}

func (s said) Attempts() int                     { return 0 }
func (s said) SetConsistency(gocql.Consistency)  {}
func (s said) GetConsistency() gocql.Consistency { return gocql.Quorum }
func (s said) Context() context.Context          { return s.ctx }

// watched runs a test of a policy that is watched, over some nodes. takes runs a statement on the node that the policy picks, like the
// driver: it is answered after the node's latency, or times out.
func watched(t *testing.T, nodes int, test func(t *testing.T, s *circuitBreaker, hosts []*gocql.HostInfo, takes func(times ...time.Duration) func(context.Context) error)) {
	synctest.Test(t, func(t *testing.T) {
		var hosts []*gocql.HostInfo
		for range nodes {
			hosts = append(hosts, &gocql.HostInfo{})
		}
		s := newCircuitBreaker(inTurn{hosts: hosts})
		for _, h := range hosts {
			s.state(h)
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

// A node that answers no request for a second is silent. Idempotent statements are then retried on the next node, and others fail with an
// unknown outcome, both long before the driver's timeout.
func TestStatementsOnASilentNodeMoveToAnother(t *testing.T) {
	watched(t, 3, func(t *testing.T, s *circuitBreaker, hosts []*gocql.HostInfo, takes func(...time.Duration) func(context.Context) error) {
		for range 3 {
			begin := time.Now()
			if err := runIdempotent(t.Context(), takes(time.Hour, 0, 0)); err != nil || time.Since(begin) > maxSilentChecks*checkInterval {
				t.Errorf("an idempotent statement on a suspended node: got %v after %v", err, time.Since(begin))
			}
			begin = time.Now()
			if err := runOnce(t.Context(), takes(time.Hour, 0, 0)); err != nil || time.Since(begin) > 0 {
				t.Errorf("the next statement: got %v after %v", err, time.Since(begin))
			}
			time.Sleep(openDuration)
			begin = time.Now()
			if err := runOnce(t.Context(), takes(time.Hour, 0, 0)); !errors.Is(err, errNodeSilent) || time.Since(begin) > maxSilentChecks*checkInterval {
				t.Errorf("another statement: got %v after %v", err, time.Since(begin))
			}
			time.Sleep(2 * openDuration)
		}
		if err := runOnce(t.Context(), takes((maxSilentChecks-2)*checkInterval+1, time.Hour, time.Hour)); err != nil || s.isOpen(hosts[0]) {
			t.Errorf("after the node has recovered: got %v", err)
		}
	})
}

// A slow node keeps its statements if it answers others meanwhile, if the driver only skipped it, and if there is no other node.
func TestASlowNodeKeepsItsStatements(t *testing.T) {
	watched(t, 2, func(t *testing.T, s *circuitBreaker, hosts []*gocql.HostInfo, takes func(...time.Duration) func(context.Context) error) {
		slow := make(chan error)
		go func() { slow <- runOnce(t.Context(), takes(5*time.Second, time.Hour)) }()
		for range 20 {
			if err := runOnce(t.Context(), takes(time.Millisecond, time.Hour)); err != nil {
				t.Error(err)
			}
			time.Sleep(checkInterval)
		}
		if err := <-slow; err != nil {
			t.Errorf("a node that answers other statements: got %v", err)
		}
		for next := s.Pick(said{ctx: t.Context()}); next() != nil; { // without a connection to either node
		}
		time.Sleep(2 * maxSilentChecks * checkInterval)
		if s.isOpen(hosts[0]) || s.isOpen(hosts[1]) {
			t.Error("the circuit of a node without requests is open")
		}
	})
	watched(t, 1, func(t *testing.T, s *circuitBreaker, _ []*gocql.HostInfo, takes func(...time.Duration) func(context.Context) error) {
		if err := runIdempotent(t.Context(), takes(5*time.Second)); err != nil {
			t.Errorf("the only node is slow: got %v", err)
		}
	})
}
