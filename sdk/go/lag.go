package rialto

import (
	"math/rand/v2"
	"time"
)

const (
	lateAfter    = 5 * time.Second  // from a message's storing to its push
	lagPollFor   = 30 * time.Second // from the last late push on
	lagPollEvery = 5 * time.Second
	// lagSyncWithin bounds a sync. Its pages that were read before are kept.
	lagSyncWithin = 2 * time.Second
)

// pushLag watches how late pushes are while a connection is open, and says when to sync by calls. Two things show a lag: a pushed message
// that was stored long ago by the server's clock, and an own message that was acknowledged and does not come back in the stream. Run's
// goroutine uses it.
type pushLag struct {
	known   bool
	offset  time.Duration        // the server's clock less ours, as of its last word
	awaited map[uint64]time.Time // by when the stream must bring own messages, by client_seq
	lateAt  time.Time
	pollAt  time.Time // zero unless pushes lag
}

// clock records the server's time.
func (l *pushLag) clock(serverMs int64, now time.Time) {
	if serverMs > 0 {
		l.known, l.offset = true, time.UnixMilli(serverMs).Sub(now)
	}
}

// pushed records the time at which a pushed message was stored.
func (l *pushLag) pushed(timeMs int64, now time.Time) {
	if l.known && timeMs > 0 && now.Add(l.offset).Sub(time.UnixMilli(timeMs)) > lateAfter {
		l.late(now)
	}
}

// acknowledged: an own message is stored.
func (l *pushLag) acknowledged(clientSeq uint64, now time.Time) {
	if l.awaited == nil {
		l.awaited = map[uint64]time.Time{}
	}
	l.awaited[clientSeq] = now.Add(lateAfter)
}

// arrived: the stream brought an own message, by a push or a sync.
func (l *pushLag) arrived(clientSeq uint64) { delete(l.awaited, clientSeq) }

func (l *pushLag) late(now time.Time) {
	l.lateAt = now
	if l.pollAt.IsZero() {
		l.pollAt = now
	}
}

// due reports whether to sync now, and when to call it again; zero means not before the next frame.
func (l *pushLag) due(now time.Time) (sync bool, again time.Time) {
	for seq, by := range l.awaited {
		if !now.Before(by) {
			delete(l.awaited, seq)
			l.late(now)
		}
	}
	if !l.pollAt.IsZero() && !now.Before(l.pollAt) {
		sync = true
		l.pollAt = now.Add(lagPollEvery*4/5 + rand.N(lagPollEvery*2/5))
		if now.Sub(l.lateAt) >= lagPollFor {
			l.pollAt = time.Time{}
		}
	}
	again = l.pollAt
	for _, by := range l.awaited {
		if again.IsZero() || by.Before(again) {
			again = by
		}
	}
	return sync, again
}
