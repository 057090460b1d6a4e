package cassandralog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

const (
	// checkInterval is the interval between checks. A node with requests that has answered nothing between maxSilentChecks consecutive checks
	// is silent. Checks do not catch up after this process itself was suspended.
	checkInterval   = 250 * time.Millisecond
	maxSilentChecks = 5
	// openDuration is the time for which a silent node gets no statements, if there are others. Then one statement probes it.
	openDuration = 5 * time.Second
	// healthyLatency is the maximum latency of a healthy node. A later answer does not close the circuit.
	healthyLatency = 2 * time.Second
)

// errNodeSilent is the error of a statement whose node fell silent. Its outcome is unknown, as after a timeout.
var errNodeSilent = errors.New("a node of Cassandra does not answer, and others do")

// circuitBreaker is a host selection policy that picks silent nodes last and cancels their statements, so that these are retried on another
// node. A suspended or disconnected node keeps its connections, and the driver considers it up until other nodes report it. Until then
// each statement that picks it first would wait.
type circuitBreaker struct {
	gocql.HostSelectionPolicy

	mu    sync.Mutex // guards the fields below
	nodes map[*gocql.HostInfo]*nodeState
}

// nodeState is the state of one node. The policy's mu guards it.
type nodeState struct {
	openUntil    time.Time             // the circuit is open until then; zero: it is closed
	requests     map[*request]struct{} // statements without an answer
	answered     bool                  // it has answered since the last check
	silentChecks int                   // consecutive checks with requests and without an answer
}

func newCircuitBreaker(base gocql.HostSelectionPolicy) *circuitBreaker {
	return &circuitBreaker{HostSelectionPolicy: base, nodes: map[*gocql.HostInfo]*nodeState{}}
}

// watch checks the nodes until the context ends.
func (s *circuitBreaker) watch(ctx context.Context) {
	t := time.NewTicker(checkInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.check()
		case <-ctx.Done():
			return
		}
	}
}

// check opens the circuits of silent nodes. If all nodes are silent it opens none, as there is no other node to ask.
func (s *circuitBreaker) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	silent := 0
	for _, n := range s.nodes {
		if n.silentChecks++; n.answered || len(n.requests) == 0 {
			n.silentChecks = 0
		}
		n.answered = false
		if n.silentChecks >= maxSilentChecks || time.Now().Before(n.openUntil) {
			silent++
		}
	}
	if silent == len(s.nodes) {
		return
	}
	for _, n := range s.nodes {
		if n.silentChecks < maxSilentChecks {
			continue
		}
		n.openUntil = time.Now().Add(openDuration)
		for a := range n.requests {
			a.attempt.cancel()
		}
	}
}

// state returns the state of a node. The caller holds mu.
func (s *circuitBreaker) state(h *gocql.HostInfo) *nodeState {
	n := s.nodes[h]
	if n == nil {
		n = &nodeState{requests: map[*request]struct{}{}}
		s.nodes[h] = n
	}
	return n
}

// Pick returns the nodes in the order of the wrapped policy, but silent ones last.
func (s *circuitBreaker) Pick(statement gocql.ExecutableStatement) gocql.NextHost {
	next := s.HostSelectionPolicy.Pick(statement)
	var last []gocql.SelectedHost
	var before *request // the request to the previous node, which the driver has skipped or finished
	ended := false
	give := func(h gocql.SelectedHost) gocql.SelectedHost {
		before = s.begin(h, statement)
		return before
	}
	return func() gocql.SelectedHost {
		if before != nil {
			s.end(before)
		}
		for !ended {
			h := next()
			if ended = h == nil; ended {
				break
			}
			if !s.isOpen(h.Info()) {
				return give(h)
			}
			last = append(last, h)
		}
		if len(last) == 0 {
			return nil
		}
		h := last[0]
		last = last[1:]
		return give(h)
	}
}

// begin records that a statement is sent to a node.
func (s *circuitBreaker) begin(h gocql.SelectedHost, statement gocql.ExecutableStatement) *request {
	a := &request{SelectedHost: h, policy: s, started: time.Now(), ctx: context.Background()}
	if q, ok := statement.(gocql.RetryableQuery); ok {
		a.ctx = q.Context()
		a.attempt, _ = a.ctx.Value(hostAttemptKey{}).(*hostAttempt)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(h.Info()).requests[a] = struct{}{}
	return a
}

func (s *circuitBreaker) end(a *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[a.Info()]; n != nil {
		delete(n.requests, a)
	}
}

// isOpen reports whether other nodes are preferred. When the circuit has been open for long enough, one statement passes as a probe.
func (s *circuitBreaker) isOpen(h *gocql.HostInfo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[h]
	if n == nil || n.openUntil.IsZero() {
		return false
	}
	now := time.Now()
	if now.Before(n.openUntil) {
		return true
	}
	n.openUntil = now.Add(2 * openDuration)
	return false
}

// AddHost adds a node.
func (s *circuitBreaker) AddHost(h *gocql.HostInfo) {
	s.mu.Lock()
	s.state(h)
	s.mu.Unlock()
	s.HostSelectionPolicy.AddHost(h)
}

// RemoveHost removes a node.
func (s *circuitBreaker) RemoveHost(h *gocql.HostInfo) {
	s.mu.Lock()
	delete(s.nodes, h)
	s.mu.Unlock()
	s.HostSelectionPolicy.RemoveHost(h)
}

// request is a statement that was sent to a node.
type request struct {
	gocql.SelectedHost
	policy  *circuitBreaker
	started time.Time
	ctx     context.Context // of the statement
	attempt *hostAttempt    // nil if it cannot be cancelled
}

// Mark records the result. A request whose context has ended was not sent, and has no error.
func (a *request) Mark(err error) {
	s := a.policy
	s.mu.Lock()
	n := s.state(a.Info())
	delete(n.requests, a)
	switch {
	case errors.Is(err, gocql.ErrTimeoutNoResponse):
		n.openUntil = time.Now().Add(openDuration)
	case a.ctx.Err() != nil:
	case err == nil && time.Since(a.started) < healthyLatency:
		n.answered, n.openUntil = true, time.Time{}
	default:
		n.answered = true
	}
	s.mu.Unlock()
	a.SelectedHost.Mark(err)
}

// hostAttemptKey is the context key of a hostAttempt.
type hostAttemptKey struct{}

// hostAttempt is an attempt of a statement. It is cancelled when its node falls silent.
type hostAttempt struct {
	stop     context.CancelCauseFunc
	answered atomic.Bool // the answer has begun: it is not cancelled any more
}

// cancel ends it.
func (t *hostAttempt) cancel() {
	if t != nil && !t.answered.Load() {
		t.stop(errNodeSilent)
	}
}

// withHostAttempt returns the context of an attempt. The caller must stop it.
func withHostAttempt(ctx context.Context) (context.Context, *hostAttempt) {
	t := &hostAttempt{}
	ctx, t.stop = context.WithCancelCause(ctx)
	return context.WithValue(ctx, hostAttemptKey{}, t), t
}

// runOnce runs a statement once. It returns errNodeSilent if the outcome is unknown.
func runOnce(ctx context.Context, do func(context.Context) error) error {
	ctx, t := withHostAttempt(ctx)
	defer t.stop(nil)
	err := do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errNodeSilent) {
		return errNodeSilent
	}
	return err
}

// maxHostAttempts bounds the attempts of an idempotent statement. The last one has only the timeout of the driver.
const maxHostAttempts = 3

// runIdempotent runs an idempotent statement. It retries on another node if its node falls silent.
func runIdempotent(ctx context.Context, do func(context.Context) error) error {
	for range maxHostAttempts - 1 {
		if err := runOnce(ctx, do); !errors.Is(err, errNodeSilent) {
			return err
		}
	}
	return do(ctx)
}
