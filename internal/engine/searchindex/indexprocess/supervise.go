package indexprocess

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

const (
	restartFirst = 100 * time.Millisecond
	restartMax   = 30 * time.Second
	// steadyAfter is how long a process has to run before the next restart counts as the first.
	steadyAfter = time.Minute
	// closeTime bounds how long a process has to close the index before it is killed.
	closeTime = 8 * time.Second
)

// supervise keeps a process running until ctx ends, except while the index is suspended. opened gets how the first start went; if that failed, there is no other. If it is
// nil, nobody waits for the first start.
func (i *Index) supervise(ctx context.Context, opened chan<- error) {
	defer close(i.done)
	runtime.LockOSThread() // Linux kills a process when the thread that started it ends
	defer runtime.UnlockOSThread()
	retry := backoff.New(restartFirst, restartMax)
	for i.awaitCall(ctx) {
		began := time.Now()
		p, err := i.startReady(ctx)
		if opened != nil {
			if opened <- err; err != nil {
				return
			}
			opened = nil
		}
		if err == nil {
			if !i.serveUntilIdle(ctx, p, time.Since(began) <= i.config.SlowStart) {
				retry.Reset()
				continue
			}
			err = p.failed
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, searchindex.ErrCorrupt) {
			i.publish(nil, err)
			return
		}
		if i.publish(nil, nil); i.config.Restarted != nil {
			i.config.Restarted()
		}
		if time.Since(began) > steadyAfter {
			retry.Reset()
		}
		i.config.Logger.Error("the process of the search index ended; it is started again, and nothing is lost", "error", err)
		_ = retry.Wait(ctx) // the next round sees the context's end
	}
}

// awaitCall waits while the index is suspended and nobody calls it. It returns false when ctx has ended.
func (i *Index) awaitCall(ctx context.Context) bool {
	i.mu.Lock()
	suspended := i.suspended
	i.mu.Unlock()
	if suspended {
		select {
		case <-i.wake:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// startReady starts a process, and waits until it has opened the index.
func (i *Index) startReady(ctx context.Context) (*process, error) {
	p, err := startProcess(i.config.Command(), i.config.Silence, i.config.Logger)
	if err != nil {
		return nil, fmt.Errorf("indexprocess: the process cannot be started: %w", err)
	}
	if _, err := p.receive(ctx, p.ready); err != nil {
		p.kill(nil) // or it ends by itself
		<-p.ended
		return nil, err
	}
	i.publish(p, nil)
	return p, nil
}

// publish says which process answers from now on, if any. The index is not suspended.
func (i *Index) publish(p *process, damage error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.process, i.damage, i.suspended, i.used = p, damage, false, time.Now()
	select {
	case <-i.wake: // those who signalled it see the change
	default:
	}
	close(i.changed)
	i.changed = make(chan struct{})
}

// serveUntilIdle waits until a process has ended by itself, or closes it: because ctx has ended, or because the process may be ended when it is idle, and is.
func (i *Index) serveUntilIdle(ctx context.Context, p *process, endIdle bool) (ended bool) {
	idle := time.NewTimer(i.config.Idle)
	defer idle.Stop()
	for {
		select {
		case <-p.ended:
			return true
		case <-ctx.Done():
			i.publish(nil, nil)
			i.close(p)
			return false
		case <-idle.C:
			if !endIdle {
				continue // for ever
			}
			left := i.suspendIfIdle()
			if left <= 0 {
				i.close(p)
				return false
			}
			idle.Reset(left)
		}
	}
}

// suspendIfIdle withdraws the process if it is idle. Otherwise it returns for how long it is not, at least.
func (i *Index) suspendIfIdle() (left time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.callers > 0 {
		return i.config.Idle
	}
	if left := i.config.Idle - time.Since(i.used); left > 0 {
		return left
	}
	i.process, i.suspended = nil, true
	return 0
}

// close lets a process end, and kills it if it does not.
func (i *Index) close(p *process) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if n, c, ok := p.addCall(func() {}); ok {
		b, err := encodeFrame(closeFrame, n, nil)
		if err == nil {
			err = p.send(ctx, b)
		}
		if err == nil {
			_, err = p.receive(ctx, c)
		}
		if err != nil {
			i.config.Logger.Warn("the search index was not closed; it is opened again as it is", "error", err)
		} else {
			select { // what it has confirmed, it has done
			case <-p.ended:
			case <-ctx.Done():
			}
		}
	}
	p.kill(nil)
	<-p.ended
}
