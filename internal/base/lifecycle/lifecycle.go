// Package lifecycle runs the parts of a node. They start in order and stop in reverse order, and Stop waits for each.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Stack of running parts. Use it from one goroutine, except for Failed.
type Stack struct {
	parts  []*part
	failed chan error
}

type part struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// New returns an empty stack.
func New() *Stack { return &Stack{failed: make(chan error, 1)} }

// Start runs a part on top of the earlier ones. run returns when its context ends and its goroutines have ended.
func (s *Stack) Start(name string, run func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &part{name: name, cancel: cancel, done: make(chan struct{})}
	s.parts = append(s.parts, p)
	go func() { // owned by the stack: Stop waits for it
		defer close(p.done)
		p.err = run(ctx)
		if ctx.Err() == nil {
			err := p.err
			if err == nil {
				err = errors.New("it stopped by itself")
			}
			select {
			case s.failed <- fmt.Errorf("%s: %w", name, err):
			default: // one is enough to stop the node
			}
		}
	}()
}

// Failed returns the error of a part that ended without being stopped.
func (s *Stack) Failed() <-chan error { return s.failed }

// graceAfterTimeout is how long the remaining parts have after the timeout.
const graceAfterTimeout = time.Second

// Stop stops the parts in reverse order, and waits for all of them together at most the given time. If a part uses up the time, the
// remaining ones are stopped at once and have graceAfterTimeout. The error names the parts that did not stop.
func (s *Stack) Stop(within time.Duration) error {
	slices.Reverse(s.parts)
	over, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, p := range s.parts {
		p.cancel()
		p.wait(over)
	}
	moment, cancel := context.WithTimeout(context.Background(), graceAfterTimeout)
	defer cancel()
	var errs []error
	for _, p := range s.parts {
		switch {
		case !p.wait(moment):
			errs = append(errs, fmt.Errorf("%s did not stop within %v", p.name, within))
		case p.err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", p.name, p.err))
		}
	}
	s.parts = nil
	return errors.Join(errs...)
}

// wait waits until the part has ended, or ctx has. It reports whether the part has.
func (p *part) wait(ctx context.Context) bool {
	select {
	case <-p.done:
		return true
	default:
	}
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// Close closes the resources of the parts, the last first, and waits for all of them together at most the given time. If one hangs, it and
// the remaining ones are not closed.
func Close(within time.Duration, closers []func() error) error {
	done := make(chan error, 1)
	go func() { // ends with the last of them, or with the process
		var errs []error
		for i := len(closers) - 1; i >= 0; i-- {
			errs = append(errs, closers[i]())
		}
		done <- errors.Join(errs...)
	}()
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case err := <-done:
		return err
	case <-t.C:
		return fmt.Errorf("the stores were not closed within %v; the next start recovers as after a crash", within)
	}
}
