package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"
)

// Job is what a worker gets.
type Job[A Args] struct {
	// ID is of no other job, also after this one was deleted.
	ID   int64
	Args A
	// Attempt is 1 for the first one. It rises with each attempt, also with those that did not fail.
	Attempt int
	// Failures is how many attempts failed before this one.
	Failures int
	// Created is when the job was inserted.
	Created time.Time
}

// Workers are the queues that a node runs, a worker for each kind of job, and the schedules of periodic jobs.
type Workers struct {
	queues    map[string]int // name → how many jobs run at the same time on this node
	byKind    map[string]func(context.Context, *claimed) error
	schedules []schedule // of periodic jobs
}

// NewWorkers returns Workers for queues, with how many jobs of each run at the same time on a node.
func NewWorkers(queues map[string]int) *Workers {
	w := &Workers{queues: maps.Clone(queues), byKind: map[string]func(context.Context, *claimed) error{}}
	for name, n := range w.queues {
		w.queues[name] = min(max(n, 1), maxWorkers)
	}
	return w
}

// names of the queues, in the same order each time.
func (w *Workers) names() []string { return slices.Sorted(maps.Keys(w.queues)) }

// Add adds the worker of a kind, once for each. It may be called again for a job that it has completed, and by two nodes at once, so it must
// be idempotent. An error makes it run again later, unless it is from Snooze, Cancel or Discard. An *outgoing.Refused counts as no failure: it is like Snooze. It must return soon after its context has
// ended.
func Add[A Args](w *Workers, work func(context.Context, Job[A]) error) {
	var zero A
	kind := zero.Kind()
	if w.byKind[kind] != nil {
		panic("job: two workers for the kind " + kind)
	}
	w.byKind[kind] = func(ctx context.Context, c *claimed) error {
		j := Job[A]{ID: c.id, Attempt: int(c.attempt), Failures: int(c.failures), Created: time.UnixMilli(c.createdMs)}
		if err := json.Unmarshal(c.args, &j.Args); err != nil {
			return Discard(fmt.Errorf("the arguments cannot be decoded: %w", err))
		}
		return work(ctx, j)
	}
}

// run calls the worker of a claimed job.
func (w *Workers) run(ctx context.Context, c *claimed) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the worker panicked: %v\n%s", p, debug.Stack())
		}
	}()
	work := w.byKind[c.kind]
	if work == nil { // while nodes of two releases run
		return Snooze(unknownKindDelay)
	}
	return work(ctx, c)
}

type snoozed struct{ delay time.Duration }

func (s *snoozed) Error() string { return "snoozed for " + s.delay.String() }

type final struct {
	state State
	cause error
}

func (f *final) Error() string { return f.cause.Error() }
func (f *final) Unwrap() error { return f.cause }

// Snooze returns an error with which a worker asks to run again after a delay. The attempt does not count as failed.
func Snooze(delay time.Duration) error { return &snoozed{max(delay, 0)} }

// Cancel returns an error with which a worker ends its job, because nobody needs it any more. The cause is not nil.
func Cancel(cause error) error { return &final{Cancelled, cause} }

// Discard returns an error with which a worker gives its job up at once, because another attempt would fail as well. The cause is not nil.
func Discard(cause error) error { return &final{Discarded, cause} }

var (
	errStopping  = errors.New("the node stops")
	errCancelled = errors.New("the job was cancelled")
	errStuck     = errors.New("the worker did not return after its deadline")
	errNodeDied  = errors.New("the node died, or was declared dead, during the attempt")
)
