package cassandralog

import (
	"errors"
	"sync"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

const (
	// shunFor so long nothing more goes to a node that did not answer in time, where others can be asked; then one statement tries.
	shunFor = 5 * time.Second
	// answersIn less than that a node that is well answers: a later answer says nothing.
	answersIn = 2 * time.Second
)

// shunning is a policy that asks a node last which did not answer. One that is held, or cut off without a word, keeps its connections,
// and is up until its like have told the driver otherwise: until then each statement for which it stands first would wait for it.
type shunning struct {
	gocql.HostSelectionPolicy

	mu     sync.Mutex // guards silent
	silent map[*gocql.HostInfo]time.Time
}

func newShunning(base gocql.HostSelectionPolicy) *shunning {
	return &shunning{HostSelectionPolicy: base, silent: map[*gocql.HostInfo]time.Time{}}
}

// Pick gives the nodes as the policy below does, but the silent ones behind the others.
func (s *shunning) Pick(statement gocql.ExecutableStatement) gocql.NextHost {
	next := s.HostSelectionPolicy.Pick(statement)
	var last []gocql.SelectedHost
	ended := false
	return func() gocql.SelectedHost {
		for !ended {
			h := next()
			if ended = h == nil; ended {
				break
			}
			if !s.shuns(h.Info()) {
				return &asked{h, s, time.Now()}
			}
			last = append(last, h)
		}
		if len(last) == 0 {
			return nil
		}
		h := last[0]
		last = last[1:]
		return &asked{h, s, time.Now()}
	}
}

// shuns tells whether others are to be asked before a node. When its time is over, one statement is let through, to see.
func (s *shunning) shuns(h *gocql.HostInfo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.silent[h]
	if !ok {
		return false
	}
	now := time.Now()
	if now.Before(until) {
		return true
	}
	s.silent[h] = now.Add(2 * shunFor)
	return false
}

// RemoveHost forgets a node.
func (s *shunning) RemoveHost(h *gocql.HostInfo) {
	s.mu.Lock()
	delete(s.silent, h)
	s.mu.Unlock()
	s.HostSelectionPolicy.RemoveHost(h)
}

// asked is a node that a statement is sent to.
type asked struct {
	gocql.SelectedHost
	policy *shunning
	at     time.Time
}

// Mark takes note of how it went.
func (a *asked) Mark(err error) {
	s := a.policy
	s.mu.Lock()
	if errors.Is(err, gocql.ErrTimeoutNoResponse) {
		s.silent[a.Info()] = time.Now().Add(shunFor)
	} else if err == nil && time.Since(a.at) < answersIn {
		delete(s.silent, a.Info())
	}
	s.mu.Unlock()
	a.SelectedHost.Mark(err)
}
