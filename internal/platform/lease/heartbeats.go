package lease

import "time"

// Beat is the state of a holder's heartbeat. A holder counts up with each renewal, and a new process has a new incarnation.
type Beat struct{ Incarnation, Count uint64 }

// Heartbeats measures how long holders have been silent, by this process's monotonic clock. It is not safe for concurrent use.
type Heartbeats struct {
	seen   []seenBeat
	number map[string]int // of a holder in seen
	next   int            // where the holder after the last one is, if holders come in the order of the last round
	round  uint64
	count  int       // of the holders that were seen in this round
	at     time.Time // of the last call of Begin
}

type seenBeat struct {
	holder string
	Beat
	since time.Time
	round uint64 // in which it was last seen
}

// Begin begins a round, in which the heartbeats of all holders have been read, and are passed to Seen. Holders that were not seen in the last round are
// forgotten. If the last round was longer ago than blind, perhaps the others could not write their heartbeats either, so the silence before proves nothing
// and is forgotten; blind is 0 where silence counts in any case.
func (h *Heartbeats) Begin(now time.Time, blind time.Duration) {
	forget := blind > 0 && now.Sub(h.at) > blind
	if h.count < len(h.seen) {
		h.drop()
	}
	if forget {
		for i := range h.seen {
			h.seen[i].since = now
		}
	}
	h.at, h.next, h.count = now, 0, 0
	h.round++
}

// drop forgets the holders that were not seen in this round.
func (h *Heartbeats) drop() {
	kept := h.seen[:0]
	for _, s := range h.seen {
		if s.round != h.round {
			delete(h.number, s.holder)
			continue
		}
		h.number[s.holder] = len(kept)
		kept = append(kept, s)
	}
	clear(h.seen[len(kept):])
	h.seen = kept
}

// Seen records that a holder's heartbeat has been read, and returns when it was first read as it is. It is fastest for holders in the order of the round
// before.
func (h *Heartbeats) Seen(holder string, b Beat, now time.Time) (since time.Time) {
	i := h.next
	if i >= len(h.seen) || h.seen[i].holder != holder {
		var known bool
		if i, known = h.number[holder]; !known {
			if h.number == nil {
				h.number = map[string]int{}
			}
			i = len(h.seen)
			h.number[holder] = i
			h.seen = append(h.seen, seenBeat{holder: holder, Beat: b, since: now, round: h.round - 1})
		}
	}
	h.next = i + 1
	s := &h.seen[i]
	if s.round != h.round {
		s.round = h.round
		h.count++
	}
	if s.Beat != b {
		s.Beat, s.since = b, now
	}
	return s.since
}
