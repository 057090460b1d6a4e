package bench

import (
	"context"
	"os"
	"os/signal"
	"sync"
)

// phases of a run: what it does when it is interrupted, and its first error.
type phases struct {
	mu         sync.Mutex // guards the fields below
	failed     error
	endSending context.CancelFunc // nil while nothing is sent
}

// fail ends a run with an error, unless it has failed already.
func (p *phases) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}

// failure is the first error.
func (p *phases) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// withInterrupts returns a context that an interrupt of the process ends. While the load is sent, the first one ends only the sending, and calls
// interrupted: then everything that was sent is checked and reported.
func (p *phases) withInterrupts(ctx context.Context, interrupted func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() {
		for {
			select {
			case <-interrupts:
				if !p.interruptSending(interrupted) {
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(interrupts)
		cancel()
	}
}

// setEndSending sets how sending ends early, nil while nothing is sent.
func (p *phases) setEndSending(end context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endSending = end
}

// interruptSending ends the sending, and reports whether it was going on.
func (p *phases) interruptSending(interrupted func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := p.endSending
	if p.endSending = nil; end == nil {
		return false
	}
	interrupted()
	end()
	return true
}
