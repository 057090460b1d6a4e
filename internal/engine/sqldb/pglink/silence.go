package pglink

import (
	"context"
	"fmt"
	"time"
)

// defaultMaxSilence is how long the primary may be silent before its next answer is confirmed. Watch asks it more often than that, and nobody promotes
// another server sooner.
const defaultMaxSilence = 3 * time.Second

// confirm returns an error if an answer on this connection may be that of a former primary. Another server may have been promoted while the
// primary was silent, since it was paused or the network to it was interrupted. So the first answers after a silence wait until all servers
// were asked: those to statements that were sent before it ended, and those to later ones.
func (l *Link) confirm() error {
	f := l.fence
	if !f.HasSeveralHosts() {
		return nil
	}
	if !f.noteAnswer() {
		f.confirmPrimary()
	}
	if l.ready.Load() && l.Stale() { // validate refuses a connection that is not ready
		return fmt.Errorf("the answer is from a former primary (timeline %d): another server was promoted (timeline %d)", l.epoch.timeline, f.Timeline())
	}
	return nil
}

// noteAnswer records that the primary answers. It is false, and records nothing, if the primary was silent for too long before.
func (f *Fence) noteAnswer() bool {
	now := int64(time.Since(f.began))
	last := f.lastAnswer.Load()
	switch {
	case now-last > int64(f.maxSilence):
		return false
	case now-last > int64(f.maxSilence/100): // otherwise each answer would change it
		f.lastAnswer.CompareAndSwap(last, now)
	}
	return true
}

// confirmPrimary asks all servers which of them is the primary, once for all answers that wait for it.
func (f *Fence) confirmPrimary() {
	f.confirming.Lock()
	defer f.confirming.Unlock()
	if f.noteAnswer() { // another caller has asked
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), hostTimeout)
	defer cancel()
	f.ProbeAll(ctx, f.config)
	f.lastAnswer.Store(int64(time.Since(f.began)))
}
