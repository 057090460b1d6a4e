// Package lifecycle runs the parts of a house: started from the ground up, stopped from the top down, each one waited for.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
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

// Stop stops the parts from the top down, and waits for each at most so long.
func (s *Stack) Stop(each time.Duration) error {
	var errs []error
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := s.parts[i]
		p.cancel()
		t := time.NewTimer(each)
		select {
		case <-p.done:
			if p.err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p.name, p.err))
			}
		case <-t.C:
			errs = append(errs, fmt.Errorf("%s did not stop within %v", p.name, each))
		}
		t.Stop()
	}
	s.parts = nil
	return errors.Join(errs...)
}
