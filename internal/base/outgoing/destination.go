package outgoing

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// maxDestinations bounds the destinations of a kind that are kept. Users choose the hosts of some kinds. Beyond it, the one that was not called for longest is
// forgotten: its next call finds a closed circuit.
const maxDestinations = 1000

// result of an attempt, as a label of metrics.
type result int

const (
	ok result = iota
	failed
	cancelled
	refusedOpen
	refusedPaused
	results
)

// destinations of a kind.
type destinations struct {
	kind   Kind
	policy Policy
	logger *slog.Logger

	results     [results]atomic.Int64
	retries     atomic.Int64
	overBudget  atomic.Int64
	mu          sync.Mutex               // guards the fields below
	byKey       map[string]*list.Element // of *destination
	recentFirst *list.List               // by the last call
}

func newDestinations(kind Kind, policy Policy, logger *slog.Logger) *destinations {
	return &destinations{kind: kind, policy: policy, logger: logger, byKey: map[string]*list.Element{}, recentFirst: list.New()}
}

// destination of calls.
type destination struct {
	key     string
	host    string
	policy  Policy
	all     *destinations
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu          sync.Mutex // guards the fields below; nothing is locked after it
	budget      budget
	last        string    // failure
	openUntil   time.Time // of the breaker, when it opened last
	pausedUntil time.Time // as the server asked
}

// of returns the destination of a key.
func (all *destinations) of(key string) *destination {
	all.mu.Lock()
	defer all.mu.Unlock()
	if e := all.byKey[key]; e != nil {
		all.recentFirst.MoveToFront(e)
		return e.Value.(*destination)
	}
	d := &destination{key: key, host: hostOf(key), policy: all.policy, all: all}
	d.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{MaxRequests: probes, Interval: window, BucketPeriod: window / windowParts, Timeout: all.policy.OpenFor,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			ended := n.TotalSuccesses + n.TotalFailures // Requests has those in progress as well
			return ended >= minCalls && 2*n.TotalFailures >= ended
		},
		IsExcluded:    func(err error) bool { return errors.Is(err, errExcluded) },
		OnStateChange: func(_ string, from, to gobreaker.State) { d.changed(from, to) }})
	all.byKey[key] = all.recentFirst.PushFront(d)
	for len(all.byKey) > maxDestinations {
		oldest := all.recentFirst.Remove(all.recentFirst.Back()).(*destination)
		delete(all.byKey, oldest.key)
	}
	return d
}

// states counts the destinations by the states of their circuits.
func (all *destinations) states() map[gobreaker.State]int {
	all.mu.Lock()
	defer all.mu.Unlock()
	n := map[gobreaker.State]int{}
	for e := all.recentFirst.Front(); e != nil; e = e.Next() {
		n[e.Value.(*destination).breaker.State()]++
	}
	return n
}

// begin begins an attempt, unless it is refused.
func (d *destination) begin() (*Attempt, error) {
	if wait := d.paused(); wait > 0 {
		d.all.results[refusedPaused].Add(1)
		return nil, &Refused{Kind: d.all.kind, Host: d.host, Wait: wait, why: "it has asked for a pause"}
	}
	done, err := d.breaker.Allow()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.all.results[refusedOpen].Add(1)
		wait := probeWait
		if errors.Is(err, gobreaker.ErrOpenState) {
			wait = max(time.Until(d.openUntil), time.Millisecond)
		}
		return nil, &Refused{Kind: d.all.kind, Host: d.host, Wait: wait, why: "most of the latest calls failed; the last: " + d.last}
	}
	d.budget.called(time.Now())
	return &Attempt{destination: d, done: done}, nil
}

func (d *destination) paused() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.pausedUntil)
}

func (d *destination) pause(wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pausedUntil = time.Now().Add(wait)
}

func (d *destination) setLast(failure error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = textOf(failure)
}

// mayRetry takes a retry from the budget.
func (d *destination) mayRetry() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.budget.take(time.Now(), d.policy.Floor) {
		d.all.overBudget.Add(1)
		return false
	}
	d.all.retries.Add(1)
	return true
}

// changed is called by the breaker, which is locked.
func (d *destination) changed(from, to gobreaker.State) {
	d.mu.Lock()
	last := d.last
	if to == gobreaker.StateOpen {
		d.openUntil = time.Now().Add(d.policy.OpenFor)
	}
	d.mu.Unlock()
	level, message := slog.LevelInfo, "a circuit is closed: calls to a server succeed again"
	switch {
	case to == gobreaker.StateOpen && from == gobreaker.StateClosed:
		level, message = slog.LevelWarn, "a circuit is open: calls to a server are refused for a while, because most of the latest failed"
	case to == gobreaker.StateOpen: // a server that stays away is not to fill the log
		level, message = slog.LevelDebug, "a circuit is open again: a server is still failing"
	case to == gobreaker.StateHalfOpen:
		level, message = slog.LevelDebug, "a circuit is half open: a few calls to a server are tried"
	}
	d.all.logger.Log(context.Background(), level, message, "kind", string(d.all.kind), "host", d.host, "state", to.String(), "last_failure", last)
}
