package bench

import (
	"context"
	"os"
	"os/signal"
)

// withInterrupts returns a context that an interrupt of the process ends. While the load is sent, the first one ends only the sending: then
// everything that was sent is checked and reported.
func (l *load) withInterrupts(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() {
		for {
			select {
			case <-interrupts:
				if !l.interruptSending() {
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
func (l *load) setEndSending(end context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endSending = end
}

// interruptSending ends the sending, and reports whether it was going on.
func (l *load) interruptSending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.endSending
	if l.endSending = nil; end == nil {
		return false
	}
	l.deploy.progress("interrupted; checking what was sent")
	end()
	return true
}
