package fanout

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// partition is the progress of one partition.
type partition struct {
	number uint16
	shared *sharedBuffer

	// acquireLock is held to acquire the partition in the log. Posts that must fail if another node owned the partition meanwhile hold it
	// for reading. Several are locked in the order of their partitions.
	acquireLock sync.RWMutex

	mu           sync.Mutex    // guards the fields up to newestSeq
	grant        cluster.Grant // the current one, or zero after it was revoked
	active       bool          // acquired in the log under this grant; records are buffered
	acquisitions uint64        // number of acquisitions
	records      []record      // buffered, in order, above dispatchedSeq
	entries      int           // number in records
	bytes        int           // of the payloads in records
	mustRead     bool          // the log has records that are not buffered
	reading      bool          // the log is being read: more may be found
	newestSeq    uint64        // newest record known

	// Used by the dispatcher's goroutine only:
	acquiredTerm  uint64       // of the grant under which it was acquired; 0 if it was not
	dispatchedSeq uint64       // last record whose entries are queued
	application   *application // of a record's updates; nil: none
	inflight      []*batch
	savedSeq      uint64    // last checkpoint written
	savedAt       time.Time // when it was written
	failed        bool      // at the last attempt
	retry         backoff.Backoff
	retryAt       time.Time         // after a failure
	failedTerm    uint64            // term of the grant at the last failure
	lastRead      time.Time         // when the log was read, or the last record came
	gapSince      time.Time         // since when a record is missing below buffered ones; zero if none is
	acquiredAt    time.Time         // time of the last attempt
	retries       quarantineRetries // of quarantined entries
	corruption    timeline.CorruptionDetector
	completedSeq  atomic.Uint64
	stopped       atomic.Bool // because a record is corrupt
}

type record struct {
	seq     uint64
	entries []timeline.CommittedEntry
}

// setGrant stores the grant under which this node owns the partition; zero if it does not.
func (p *partition) setGrant(g cluster.Grant) {
	p.mu.Lock()
	p.grant = g
	p.mu.Unlock()
}

// acquire acquires the partition in the log and continues from its checkpoint. It reports whether the partition is ready to dispatch.
func (c *dispatcher) acquire(ctx context.Context, p *partition) (bool, error) {
	p.mu.Lock()
	grant := p.grant
	open := p.active && grant.Held() && p.acquiredTerm == grant.Term
	p.mu.Unlock()
	if open {
		return true, nil
	}
	p.deactivate()
	if !grant.Held() || p.acquiredTerm == grant.Term && time.Since(p.acquiredAt) < reacquireDelay {
		return false, nil
	}
	ctx, cancel := grant.During(ctx)
	defer cancel()
	p.acquiredAt = time.Now()
	p.acquireLock.Lock()
	err := c.worker.deps.Log.Acquire(ctx, p.number, grant.Term)
	p.acquireLock.Unlock()
	if fenced := (*timeline.FencedError)(nil); errors.As(err, &fenced) {
		grant.Superseded(fenced.Term)
	}
	at := uint64(0)
	if err == nil {
		at, err = c.worker.deps.Log.Checkpoint(ctx, p.number)
	}
	if !grant.Held() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p.acquiredTerm, p.dispatchedSeq, p.savedSeq = grant.Term, at, at
	p.corruption, p.retries = timeline.CorruptionDetector{}, quarantineRetries{}
	p.completedSeq.Store(at)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.grant.Held() || p.grant.Term != grant.Term {
		return false, nil // Revoked was called, perhaps Assigned again
	}
	p.active, p.mustRead, p.newestSeq = true, true, at
	p.acquisitions++
	if c.worker.deps.Acquired != nil {
		c.worker.deps.Acquired(grant) // before Revoked returns, or not at all
	}
	return true, nil
}

// acquisitionCount returns how often the partition was acquired.
func (p *partition) acquisitionCount() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acquisitions
}

// markLost is called when a post fails because another node has acquired the partition since the given acquisition. If this node still
// has the grant after reacquireDelay, it tries again, and tells the cluster of the term that the log has. It reports whether the partition
// is lost, which it is not if it was acquired again since.
func (p *partition) markLost(since uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.acquisitions != since {
		return false
	}
	p.active = false
	return true
}

// deactivate forgets buffered and in-flight records.
func (p *partition) deactivate() {
	p.inflight = nil
	p.mu.Lock()
	p.active, p.mustRead = false, false
	p.dropRecords()
	p.mu.Unlock()
}

// isActive reports whether the partition is acquired.
func (p *partition) isActive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active
}
