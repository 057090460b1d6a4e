package sqldb

import (
	"context"
	"database/sql"
	"runtime"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

const (
	// maxMerged bounds the items of one call of Apply. Other writers wait while it runs.
	maxMerged = 4096
	// maxMergedWaiting bounds the items that wait or are being applied. Further ones are rejected.
	maxMergedWaiting = 65_536
	// fullMerged items are worth a transaction and its sync: what further ones would save is little. A group waits for so many, for mergeWait at most, while at least half of
	// them arrive in that time. Those whose commit has just returned would otherwise always miss the next one, and share transactions by halves.
	fullMerged = 112
	mergeWait  = 8 * time.Millisecond
)

// Merged is the group commit of small writes of one kind: those that wait at the same time are one writer of Write, so that a few statements
// store thousands of them. All methods are safe for concurrent use.
type Merged[T any] struct {
	db    *DB
	apply func(ctx context.Context, tx *sql.Tx, items []*T) error
	wait  time.Duration // mergeWait

	mu      sync.Mutex      // guards the fields below, and the items of open
	open    *mergedItems[T] // they wait in the queue of writers, and more may join them; nil: none wait
	waiting int             // items that wait or are being applied
	arrival arrivals
}

// mergedItems are applied together.
type mergedItems[T any] struct {
	items []*T
	full  chan struct{} // closed once there are fullMerged items
	done  chan struct{} // closed once err is set
	err   error
}

// arrivals estimates how many items arrive in a time.
type arrivals struct {
	last  time.Time     // the last group was closed
	items int           // of that group
	took  time.Duration // since the group before was closed
}

// closed notes that a group of some items was closed.
func (a *arrivals) closed(now time.Time, items int) {
	*a = arrivals{now, items, now.Sub(a.last)}
}

// within returns how many items are to be expected in a time, if as many arrive as before the last group was closed.
func (a *arrivals) within(now time.Time, d time.Duration) int {
	took := max(a.took, now.Sub(a.last), time.Microsecond)
	return int(int64(a.items) * int64(d) / int64(took))
}

// NewMerged returns the group commit of one kind of writes. apply stores items, in the order in which they arrived, and sets their results. Its
// failure is that of all of them. It may run again after a failed commit, and must not call Write.
func NewMerged[T any](db *DB, apply func(ctx context.Context, tx *sql.Tx, items []*T) error) *Merged[T] {
	return &Merged[T]{db: db, apply: apply, wait: mergeWait}
}

// Write applies an item, together with those that wait at the same time. It returns when the transaction is durable, or with the failure
// after it was rolled back. The item belongs to apply until then. Once it waits, the end of ctx does not stop it.
func (m *Merged[T]) Write(ctx context.Context, item *T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	if m.waiting >= maxMergedWaiting {
		m.mu.Unlock()
		return &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: 1e9}
	}
	m.waiting++
	group, first := m.open, false
	if group == nil || len(group.items) == maxMerged {
		group, first = &mergedItems[T]{full: make(chan struct{}), done: make(chan struct{})}, true
		m.open = group
	}
	group.items = append(group.items, item)
	if len(group.items) == fullMerged {
		close(group.full)
	}
	waits := first && m.arrival.within(time.Now(), m.wait) >= fullMerged/2
	m.mu.Unlock()
	if waits {
		m.awaitFull(group)
	}
	if first {
		m.write(context.WithoutCancel(ctx), group) // the end of one item's context must not fail the others
	}
	<-group.done
	return group.err
}

// Waiting returns how many items wait or are being applied.
func (m *Merged[T]) Waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting
}

// write is the writer of a group.
func (m *Merged[T]) write(ctx context.Context, group *mergedItems[T]) {
	group.err = m.db.Write(ctx, func(tx *sql.Tx) error {
		m.gather(group)
		return m.apply(ctx, tx, m.closeGroup(group))
	})
	items := m.closeGroup(group)
	m.mu.Lock()
	m.waiting -= len(items)
	m.mu.Unlock()
	close(group.done)
}

// awaitFull waits until a group is full, or has waited for long enough. Other writers of the database go first meanwhile.
func (m *Merged[T]) awaitFull(group *mergedItems[T]) {
	timeout := time.NewTimer(m.wait)
	defer timeout.Stop()
	select {
	case <-group.full:
	case <-timeout.C:
	}
}

// gather lets the writers that are about to join a group do so, as long as some do.
func (m *Merged[T]) gather(group *mergedItems[T]) {
	for before := 0; ; {
		m.mu.Lock()
		n, closed := len(group.items), m.open != group
		m.mu.Unlock()
		if n == before || closed {
			return
		}
		before = n
		runtime.Gosched()
	}
}

// closeGroup returns the items of a group, which no further ones join.
func (m *Merged[T]) closeGroup(group *mergedItems[T]) []*T {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == group {
		m.open = nil
		m.arrival.closed(time.Now(), len(group.items))
	}
	return group.items
}
