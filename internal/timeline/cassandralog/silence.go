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
	// lookEvery so often somebody looks which nodes answer; one that was asked, and answered nothing at all from one look to the next for
	// silentLooks in a row, is silent. A process that was held itself looks no more often for it.
	lookEvery   = 250 * time.Millisecond
	silentLooks = 5
	// shunFor so long nothing more goes to a node that is silent, where others can be asked; then one statement tries.
	shunFor = 5 * time.Second
	// answersIn less than that a node that is well answers: a later answer says nothing.
	answersIn = 2 * time.Second
)

// errSilent is what became of a statement whose node fell silent: nobody knows, as where it was not answered in time.
var errSilent = errors.New("a node of Cassandra does not answer, and others do")

// shunning is a policy that asks a node last which does not answer, and has who waits for it ask another. One that is held, or cut off
// without a word, keeps its connections, and is up until its like have told the driver otherwise: until then each statement for which it
// stands first would wait for it.
type shunning struct {
	gocql.HostSelectionPolicy

	mu    sync.Mutex // guards all below
	nodes map[*gocql.HostInfo]*node
}

// node as far as it answers; guarded by the policy's mu.
type node struct {
	until time.Time           // it is shunned; zero: it is not
	asked map[*asked]struct{} // statements that wait for it
	heard bool                // it has answered one since the last look
	looks int                 // in a row, at which it was asked, and not heard
}

func newShunning(base gocql.HostSelectionPolicy) *shunning {
	return &shunning{HostSelectionPolicy: base, nodes: map[*gocql.HostInfo]*node{}}
}

// watch looks until the context ends.
func (s *shunning) watch(ctx context.Context) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.look()
		case <-ctx.Done():
			return
		}
	}
}

// look finds the nodes that are silent. Where all are, none is: there is nobody else to ask.
func (s *shunning) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	silent := 0
	for _, n := range s.nodes {
		if n.looks++; n.heard || len(n.asked) == 0 {
			n.looks = 0
		}
		n.heard = false
		if n.looks >= silentLooks || time.Now().Before(n.until) {
			silent++
		}
	}
	if silent == len(s.nodes) {
		return
	}
	for _, n := range s.nodes {
		if n.looks < silentLooks {
			continue
		}
		n.until = time.Now().Add(shunFor)
		for a := range n.asked {
			a.attempt.giveUp()
		}
	}
}

// of gives what is known of a node; the caller holds mu.
func (s *shunning) of(h *gocql.HostInfo) *node {
	n := s.nodes[h]
	if n == nil {
		n = &node{asked: map[*asked]struct{}{}}
		s.nodes[h] = n
	}
	return n
}

// Pick gives the nodes as the policy below does, but the silent ones behind the others.
func (s *shunning) Pick(statement gocql.ExecutableStatement) gocql.NextHost {
	next := s.HostSelectionPolicy.Pick(statement)
	var last []gocql.SelectedHost
	var before *asked // that the driver passed over, or was answered by
	ended := false
	give := func(h gocql.SelectedHost) gocql.SelectedHost {
		before = s.ask(h, statement)
		return before
	}
	return func() gocql.SelectedHost {
		if before != nil {
			s.drop(before)
		}
		for !ended {
			h := next()
			if ended = h == nil; ended {
				break
			}
			if !s.shuns(h.Info()) {
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

// ask takes note that a statement goes to a node.
func (s *shunning) ask(h gocql.SelectedHost, statement gocql.ExecutableStatement) *asked {
	a := &asked{SelectedHost: h, policy: s, at: time.Now(), ctx: context.Background()}
	if q, ok := statement.(gocql.RetryableQuery); ok {
		a.ctx = q.Context()
		a.attempt, _ = a.ctx.Value(attemptKey{}).(*try)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(h.Info()).asked[a] = struct{}{}
	return a
}

func (s *shunning) drop(a *asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[a.Info()]; n != nil {
		delete(n.asked, a)
	}
}

// shuns tells whether others are to be asked before a node. When its time is over, one statement is let through, to see.
func (s *shunning) shuns(h *gocql.HostInfo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[h]
	if n == nil || n.until.IsZero() {
		return false
	}
	now := time.Now()
	if now.Before(n.until) {
		return true
	}
	n.until = now.Add(2 * shunFor)
	return false
}

// AddHost takes note of a node.
func (s *shunning) AddHost(h *gocql.HostInfo) {
	s.mu.Lock()
	s.of(h)
	s.mu.Unlock()
	s.HostSelectionPolicy.AddHost(h)
}

// RemoveHost forgets a node.
func (s *shunning) RemoveHost(h *gocql.HostInfo) {
	s.mu.Lock()
	delete(s.nodes, h)
	s.mu.Unlock()
	s.HostSelectionPolicy.RemoveHost(h)
}

// asked is a node that a statement is sent to.
type asked struct {
	gocql.SelectedHost
	policy  *shunning
	at      time.Time
	ctx     context.Context // of the statement
	attempt *try            // nil where it waits to its end
}

// Mark takes note of how it went. One whose context has ended went nowhere, and comes without an error.
func (a *asked) Mark(err error) {
	s := a.policy
	s.mu.Lock()
	n := s.of(a.Info())
	delete(n.asked, a)
	switch {
	case errors.Is(err, gocql.ErrTimeoutNoResponse):
		n.until = time.Now().Add(shunFor)
	case a.ctx.Err() != nil:
	case err == nil && time.Since(a.at) < answersIn:
		n.heard, n.until = true, time.Time{}
	default:
		n.heard = true
	}
	s.mu.Unlock()
	a.SelectedHost.Mark(err)
}

// attemptKey of a context finds its try.
type attemptKey struct{}

// try is one of a statement's, which ends where the node that has it falls silent.
type try struct {
	stop     context.CancelCauseFunc
	answered atomic.Bool // it has begun to be: it ends no more
}

// giveUp ends it.
func (t *try) giveUp() {
	if t != nil && !t.answered.Load() {
		t.stop(errSilent)
	}
}

// trying gives the context of a try. Who began it must stop it.
func trying(ctx context.Context) (context.Context, *try) {
	t := &try{}
	ctx, t.stop = context.WithCancelCause(ctx)
	return context.WithValue(ctx, attemptKey{}, t), t
}

// once has do run a statement; errSilent where nobody knows what became of it.
func once(ctx context.Context, do func(context.Context) error) error {
	ctx, t := trying(ctx)
	defer t.stop(nil)
	err := do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// silentTries of a statement that does the same twice as once; the last one waits as long as the driver does.
const silentTries = 3

// again has do run a statement that does the same twice as once: by another node, where the one that has it falls silent.
func again(ctx context.Context, do func(context.Context) error) error {
	for range silentTries - 1 {
		if err := once(ctx, do); !errors.Is(err, errSilent) {
			return err
		}
	}
	return do(ctx)
}
