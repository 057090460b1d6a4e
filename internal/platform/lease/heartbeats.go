package lease

import "time"

// Beat is the state of a holder's heartbeat. A holder counts up with each renewal, and a new process has a new incarnation.
type Beat struct{ Incarnation, Count uint64 }

// Heartbeats measures how long holders have been silent, by this process's monotonic clock. It is not safe for concurrent use.
type Heartbeats struct {
	seen   []seenBeat
	number map[string]int // of a holder in seen
	next   int            // where the holder after the last one is, if holders come in the order of the last round
	moved  bool           // they did not, in this round
	round  uint32
	count  int32     // of the holders that were seen in this round
	at     time.Time // of the last call of Begin
}

type seenBeat struct {
	holder string
	Beat
	since time.Time
	// The round in which it was last seen, and its place among those of that round.
	round uint32
	place int32
}

// Begin begins a round, in which the heartbeats of all holders have been read, and are passed to Seen. Holders that were not seen in the last round are
// forgotten. If the last round was longer ago than blind, perhaps the others could not write their heartbeats either, so the silence before proves nothing
// and is forgotten; blind is 0 where silence counts in any case.
func (h *Heartbeats) Begin(now time.Time, blind time.Duration) {
	forget := blind > 0 && now.Sub(h.at) > blind
	if int(h.count) < len(h.seen) || h.moved {
		h.arrange()
	}
	if forget {
		for i := range h.seen {
			h.seen[i].since = now
		}
	}
	h.at, h.next, h.count, h.moved = now, 0, 0, false
	h.round++
}

// arrange forgets the holders that were not seen in this round, and puts the others into its order.
func (h *Heartbeats) arrange() {
	for _, s := range h.seen {
		if s.round != h.round {
			delete(h.number, s.holder)
		}
	}
	kept := make([]seenBeat, h.count)
	for _, s := range h.seen {
		if s.round == h.round {
			kept[s.place] = s
			h.number[s.holder] = int(s.place)
		}
	}
	h.seen = kept
}

// Seen records that a holder's heartbeat has been read, and returns when it was first read as it is. It is fastest for holders in the order of the round
// before.
func (h *Heartbeats) Seen(holder string, b Beat, now time.Time) (since time.Time) {
	i := h.next
	if i >= len(h.seen) || h.seen[i].holder != holder {
		h.moved = true
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
		s.round, s.place = h.round, h.count
		h.count++
	}
	if s.Beat != b {
		s.Beat, s.since = b, now
	}
	return s.since
}
