package idgen

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
)

// take leases a number that is free. The caller has the turn.
func (l *lease) take(ctx context.Context) error {
	for {
		rows, err := l.leases.store.List(ctx, l.pool)
		if err != nil {
			return l.stall(err)
		}
		now := l.leases.clock.Now().UnixMilli()
		old, err := l.choose(rows, now)
		if err != nil {
			return l.stall(err)
		}
		// Times start above the mark, above our own ids of another number, and not before the clock.
		from := max(now, old.Mark, l.seen, l.epoch+l.unit)
		next := worker{Slot: old.Slot, Token: l.leases.token(), Machine: l.leases.config.Machine, Term: old.Term + 1,
			Mark: min(max(now+ahead.Milliseconds(), from+margin.Milliseconds()), l.end())}
		ok, err := l.leases.store.Put(ctx, l.pool, old, next)
		if ok {
			l.row, l.unsure = next, ""
			l.stalled.Store(0)
			l.begin(next.Slot, from, now, next.Mark)
			return nil
		}
		l.leases.unclaim(l.pool, old.Slot)
		if err != nil {
			return l.stall(err)
		}
	}
}

// choose claims the best of the free numbers: what its row is, or would be.
func (l *lease) choose(rows []worker, now int64) (worker, error) {
	mine := l.leases.config.Machine
	used := make(map[uint64]bool, len(rows))
	for _, r := range rows {
		used[r.Slot] = true
	}
	past := func(r worker, d time.Duration) bool { return r.Mark+d.Milliseconds() <= now }
	var first, last func(r worker) bool // of used numbers: which come before those never used, and which after
	foreign := slices.ContainsFunc(rows, func(r worker) bool { return r.Machine != mine })
	if l.leases.config.Own {
		first = func(r worker) bool { return r.Machine == mine && (!l.lost || r.Token == "" || past(r, abandoned)) }
		last = func(r worker) bool { return past(r, forgotten) }
	} else {
		first = func(r worker) bool { return r.Token == "" && past(r, 0) }
		last = func(r worker) bool { return past(r, abandoned) }
	}
	// The lowest first: the same after each start.
	slices.SortFunc(rows, func(a, b worker) int { return cmp.Compare(a.Slot, b.Slot) })
	for _, r := range rows {
		if first(r) && l.leases.claim(l.pool, r.Slot) {
			return r, nil
		}
	}
	// Copies of one database should not all take the same: they begin to look at different places.
	start := uint64(0)
	if l.leases.config.Own && foreign {
		sum := sha256.Sum256([]byte(mine))
		start = binary.BigEndian.Uint64(sum[:]) % l.size
	}
	for i := range l.size {
		slot := (start + i) % l.size
		if !used[slot] && l.leases.claim(l.pool, slot) {
			return worker{Slot: slot}, nil
		}
	}
	slices.SortFunc(rows, func(a, b worker) int { return cmp.Compare(a.Mark, b.Mark) }) // the one left longest ago
	for _, r := range rows {
		if last(r) && l.leases.claim(l.pool, r.Slot) {
			return r, nil
		}
	}
	return worker{}, &errs.Error{Kind: errs.Unavailable, Reason: "no_worker", Message: fmt.Sprintf(
		"all %d worker numbers of %q are in use, or may be; stop a node, or remove rows of machines that are gone for good from the table idgen_workers", l.size, l.pool), Retry: abandoned}
}

// claim tells whether nobody else in this process holds a number, and reserves it.
func (l *Leases) claim(pool string, slot uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := claim{pool, slot}
	if l.claimed[c] {
		return false
	}
	l.claimed[c] = true
	return true
}

func (l *Leases) unclaim(pool string, slot uint64) {
	l.mu.Lock()
	delete(l.claimed, claim{pool, slot})
	l.mu.Unlock()
}
