package lease

import "time"

// Beat is the state of a holder's heartbeat. A holder counts up with each renewal, and a new process has a new incarnation.
type Beat struct{ Incarnation, Count uint64 }

// Heartbeats measures how long holders have been silent, by this process's monotonic clock. It is not safe for concurrent use.
type Heartbeats struct {
	seen map[string]seenBeat
	at   time.Time // of the last call of Begin
}

type seenBeat struct {
	Beat
	since time.Time
}

// Begin begins a round, in which the heartbeats of all holders have been read. If the last round was longer ago than blind, perhaps the
// others could not write their heartbeats either, so the silence before proves nothing and is forgotten; blind is 0 where silence counts
// in any case. keep reports whether a holder still exists.
func (h *Heartbeats) Begin(now time.Time, blind time.Duration, keep func(holder string) bool) {
	forget := blind > 0 && now.Sub(h.at) > blind
	h.at = now
	for holder, s := range h.seen {
		switch {
		case !keep(holder):
			delete(h.seen, holder)
		case forget:
			s.since = now
			h.seen[holder] = s
		}
	}
}

// Seen records that a holder's heartbeat has been read, and returns when it was first read as it is.
func (h *Heartbeats) Seen(holder string, b Beat, now time.Time) (since time.Time) {
	s, known := h.seen[holder]
	if !known || s.Beat != b {
		if h.seen == nil {
			h.seen = map[string]seenBeat{}
		}
		s = seenBeat{b, now}
		h.seen[holder] = s
	}
	return s.since
}
