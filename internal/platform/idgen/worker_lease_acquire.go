package idgen

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// acquire leases a free worker id. The caller holds mutex.
func (l *leasedWorker) acquire(ctx context.Context) error {
	for {
		rows, err := l.leases.store.List(ctx, l.pool)
		if err != nil {
			return l.recordStall(err)
		}
		now := l.leases.clock.Now().UnixMilli()
		old, err := l.choose(rows, now)
		if err != nil {
			return l.recordStall(err)
		}
		// Times start above the mark, above our own ids of another number, and not before the clock.
		from := max(now, old.Mark, l.minTime, l.first)
		next := workerLease{Slot: old.Slot, Token: l.leases.token(), Machine: l.leases.config.Machine, Term: old.Term + 1,
			Mark: min(max(now+markAhead.Milliseconds(), from+minMarkRaise.Milliseconds()), l.end)}
		ok, err := l.leases.store.Put(ctx, l.pool, old, next)
		if ok {
			l.row, l.uncertainToken = next, ""
			l.stalledSince.Store(0)
			return l.Grant(next.Slot, time.UnixMilli(from), time.UnixMilli(now), time.UnixMilli(next.Mark))
		}
		l.leases.unclaim(l.pool, old.Slot)
		if err != nil {
			return l.recordStall(err)
		}
	}
}

// choose claims the best free worker id, and returns its row.
func (l *leasedWorker) choose(rows []workerLease, now int64) (workerLease, error) {
	mine := l.leases.config.Machine
	used := make(map[uint64]bool, len(rows))
	for _, r := range rows {
		used[r.Slot] = true
	}
	past := func(r workerLease, d time.Duration) bool { return r.Mark+d.Milliseconds() <= now }
	var first, last func(r workerLease) bool // used worker ids: reused before unused ones, and after them
	foreign := slices.ContainsFunc(rows, func(r workerLease) bool { return r.Machine != mine })
	if l.leases.config.Exclusive {
		first = func(r workerLease) bool {
			return r.Machine == mine && (!l.superseded || r.Token == "" || past(r, abandonedAfter))
		}
		last = func(r workerLease) bool { return past(r, forgottenAfter) }
	} else {
		first = func(r workerLease) bool { return r.Token == "" && past(r, 0) }
		last = func(r workerLease) bool { return past(r, abandonedAfter) }
	}
	// The lowest first: the same after each start.
	slices.SortFunc(rows, func(a, b workerLease) int { return cmp.Compare(a.Slot, b.Slot) })
	for _, r := range rows {
		if first(r) && l.leases.claim(l.pool, r.Slot) {
			return r, nil
		}
	}
	// Copies of one database should not all take the same one, so each starts its search at a different position.
	start := uint64(0)
	if l.leases.config.Exclusive && foreign {
		sum := sha256.Sum256([]byte(mine))
		start = binary.BigEndian.Uint64(sum[:]) % l.size
	}
	for i := range l.size {
		slot := (start + i) % l.size
		if !used[slot] && l.leases.claim(l.pool, slot) {
			return workerLease{Slot: slot}, nil
		}
	}
	slices.SortFunc(rows, func(a, b workerLease) int { return cmp.Compare(a.Mark, b.Mark) }) // the one unused for longest
	for _, r := range rows {
		if last(r) && l.leases.claim(l.pool, r.Slot) {
			return r, nil
		}
	}
	return workerLease{}, &errs.Error{Kind: errs.Unavailable, Reason: "no_worker", Message: fmt.Sprintf(
		"all %d worker numbers of %q are in use, or may be; stop a node, or remove rows of machines that are gone for good from the table idgen_leases", l.size, l.pool), Retry: abandonedAfter}
}

// claim reserves a worker id, unless another lease of this process holds it.
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
