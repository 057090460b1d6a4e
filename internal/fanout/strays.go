package fanout

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/timeline"
)

const (
	// strayEvery so often what has strayed is given away again.
	strayEvery = 100 * time.Millisecond
	// straysAtOnce bounds the items that are given away together.
	straysAtOnce = 256
)

// strays are parts of batches whose users' partition was not where they were given to: it has moved to another node, and one of the
// nodes does not know it yet. They wait in order, and all else for the partition waits behind them. They are no more than carriers
// have under way.
type strays struct {
	worker *Worker
	some   atomic.Int32 // partitions that have any

	crew // mu guards of as well
	of   [timeline.Partitions][]*batch
}

// has tells whether what is for a partition has to wait behind strays.
func (s *strays) has(p uint16) bool {
	if s.some.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.of[p]) > 0
}

// catch tells which of a batch's partitions have strays that it has to wait behind; nil: none.
func (s *strays) catch(b *batch) *[timeline.Partitions]bool {
	if s.some.Load() == 0 || b.given != nil {
		return nil
	}
	var caught *[timeline.Partitions]bool
	for _, p := range b.parts {
		if s.has(p) {
			if caught == nil {
				caught = &[timeline.Partitions]bool{}
			}
			caught[p] = true
		}
	}
	return caught
}

// add takes over what of some items of a batch is for some users of lost partitions. The batch, which is not done yet, is not done
// before that is.
func (s *strays) add(b *batch, items []item, lost *[timeline.Partitions]bool, of func(id.User) bool) {
	if b.given != nil {
		for p := range lost {
			if lost[p] {
				b.given[p].Store(true)
			}
		}
		return
	}
	for p := range lost {
		if lost[p] {
			s.addPart(b, items, uint16(p), of)
		}
	}
}

func (s *strays) addPart(b *batch, items []item, p uint16, of func(id.User) bool) {
	part := &batch{parent: b}
	for _, it := range items {
		if !it.placed() {
			// It is for who is connected now, and is not given away: who is connected is compared with the rows when the node that has
			// the partition now has come to know them (the gateway's Recheck), and who connects later asks them.
			continue
		}
		members := it.members
		it.members = nil
		for _, u := range members {
			if partitionOf(u) == p && of(u) {
				it.members = append(it.members, u)
			}
		}
		if len(it.members) > 0 {
			part.items = append(part.items, it)
		}
	}
	if len(part.items) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.left.Add(1)
	if s.ctx == nil {
		return // the batch is never done: it is carried again at the next start
	}
	s.of[p] = append(s.of[p], part)
	if len(s.of[p]) == 1 {
		s.some.Add(1)
		ctx := s.ctx
		s.wait.Go(func() { s.lead(ctx, p) })
	}
}

// lead gives a partition's strays away, in order, until there are none.
func (s *strays) lead(ctx context.Context, p uint16) {
	for {
		s.mu.Lock()
		n, b := 0, &batch{given: &given{}, done: make(chan struct{})}
		for n < len(s.of[p]) && (n == 0 || len(b.items) < straysAtOnce) {
			b.items = append(b.items, s.of[p][n].items...)
			n++
		}
		s.mu.Unlock()
		err := s.worker.give(ctx, b)
		if err == nil {
			select {
			case <-b.done:
			case <-ctx.Done():
				return
			}
		}
		if err == nil && !b.given[p].Load() {
			if s.led(p, n, b.refused.Load()) {
				return
			}
			continue
		}
		if err == nil {
			err = errMoving // who has the partition does not know yet
		}
		s.worker.deps.Logger.Debug("what is for users who moved waits", "partition", p, "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(strayEvery):
		}
	}
}

// led drops the first strays of a partition, which are stored or refused, and tells whether they were all.
func (s *strays) led(p uint16, n int, refused bool) bool {
	s.mu.Lock()
	done := s.of[p][:n]
	s.of[p] = s.of[p][n:]
	all := len(s.of[p]) == 0
	if all {
		s.of[p] = nil
		s.some.Add(-1)
	}
	s.mu.Unlock()
	for _, b := range done {
		if refused {
			b.refuse()
		}
		b.parent.finish()
	}
	return all
}
