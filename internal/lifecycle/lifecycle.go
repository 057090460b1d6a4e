// Package lifecycle runs the parts of a house: started from the ground up, stopped from the top down, each one waited for.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Stack of running parts. Use from one goroutine, but for Failed.
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

// New gives an empty stack.
func New() *Stack { return &Stack{failed: make(chan error, 1)} }

// Start runs a part on top of those started before. run returns when its context ends and its goroutines have.
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
			default: // one is enough to stop the house
			}
		}
	}()
}

// Failed gives the error of a part that ended before it was asked to.
func (s *Stack) Failed() <-chan error { return s.failed }

// lastMoment that parts have together that were told to stop only when the time was over.
const lastMoment = time.Second

// Stop stops the parts from the top down, and waits for all of them at most so long. Where one takes it all, those below it are told
// to stop then, all at once, and have a moment; what has not stopped after that is named, and left behind.
func (s *Stack) Stop(within time.Duration) error {
	slices.Reverse(s.parts)
	over, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, p := range s.parts {
		p.cancel()
		p.wait(over)
	}
	moment, cancel := context.WithTimeout(context.Background(), lastMoment)
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

// wait until the part has ended, or ctx has. It tells whether the part has.
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

// Close closes what the parts stand on, the last first, and waits for all of it at most so long: where one hangs, it and those before it
// are left behind.
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
		return fmt.Errorf("what is stored was not closed within %v; it is as after a crash", within)
	}
}
