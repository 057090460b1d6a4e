package fanout

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Each partition of users has one queue, and its order is the order of their streams: a batch is sent after those before it are stored.
// The owner of the partition is looked up at each attempt. A lane posts the batches of this node's partitions; a peer sends those of another node's partitions, all in
// one request. If the owner has lost the partition, the batches stay at the head of the queue, and the next attempt goes to the new owner.
// Attempts may be repeated, because devices recognize entries by conversation and seq.

const (
	// maxQueueBytes bounds the batches that wait for one partition. A batch counts as no more than half, so that a large one need not wait
	// until nothing else does.
	maxQueueBytes = 2 << 20
	// maxWaitingBytes bounds the batches that wait for any partition. Each counts once.
	maxWaitingBytes = 32 << 20
	// maxBatches bounds the batches that are posted or sent together.
	maxBatches = 256
	// resendInterval is how often queues are retried whose partition had no owner, or an owner that did not know it yet.
	resendInterval = 100 * time.Millisecond
)

// partitionSet is a set of partitions.
type partitionSet uint64

// The set has a bit for each partition.
const _ = uint(64 - timeline.Partitions)

const allPartitions = ^partitionSet(0)

func setOf(p uint16) partitionSet { return 1 << p }

func (s partitionSet) has(p uint16) bool { return s&setOf(p) != 0 }

func (s partitionSet) len() int { return bits.OnesCount64(uint64(s)) }

// each calls f for each partition in the set.
func (s partitionSet) each(f func(p uint16)) {
	for ; s != 0; s &= s - 1 {
		f(uint16(bits.TrailingZeros64(uint64(s))))
	}
}

// part is what a batch has for the users of some partitions.
type part struct {
	*batch
	of partitionSet
}

// queues has the queue of each partition.
type queues struct {
	mu       sync.Mutex // guards all
	of       [timeline.Partitions]queue
	nonEmpty partitionSet
	sending  partitionSet
	skipped  partitionSet // take had no room for their batches; the next settle returns them
	number   uint64       // of the last batch
	bytes    int          // of all batches that are not finished
}

// queue is what waits for one partition.
type queue struct {
	batches []*batch // in order
	sending int      // number of batches at the head that are being posted or sent
	bytes   int      // shares of batches
	retryAt time.Time
}

// add queues a batch for all of its partitions, or for none if there is no room. It returns the partitions that had nothing waiting.
func (q *queues) add(b *batch) (idle partitionSet, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.full(b) {
		return 0, errQueueFull
	}
	idle = b.partitions &^ q.nonEmpty
	q.number++
	b.number, b.queues = q.number, q
	q.bytes += b.bytes
	q.nonEmpty |= b.partitions
	b.partitions.each(func(p uint16) {
		q.of[p].batches = append(q.of[p].batches, b)
		q.of[p].bytes += b.share()
	})
	return idle, nil
}

// share is what a batch counts for in each of its queues.
func (b *batch) share() int { return min(b.bytes, maxQueueBytes/2) }

// full reports whether there is no room for a batch. The caller holds mu.
func (q *queues) full(b *batch) (full bool) {
	(b.partitions & q.nonEmpty).each(func(p uint16) {
		full = full || q.of[p].bytes+b.share() > maxQueueBytes
	})
	return full || q.bytes > 0 && q.bytes+b.bytes > maxWaitingBytes
}

// waiting returns the partitions with batches that can be sent now.
func (q *queues) waiting() (waiting partitionSet) {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	(q.nonEmpty &^ q.sending).each(func(p uint16) {
		if !now.Before(q.of[p].retryAt) {
			waiting |= setOf(p)
		}
	})
	return waiting
}

// take appends to parts what waits for the given partitions, in order, up to about maxBytes. The partitions are the caller's until settle.
func (q *queues) take(parts []part, of partitionSet, maxBytes int) []part {
	q.mu.Lock()
	defer q.mu.Unlock()
	of &= q.nonEmpty &^ q.sending
	q.sending |= of
	of.each(func(p uint16) {
		queue := &q.of[p]
		queue.sending = min(len(queue.batches), maxBatches)
		for _, b := range queue.batches[:queue.sending] {
			parts = append(parts, part{b, setOf(p)})
		}
	})
	if of&(of-1) != 0 {
		slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.number, b.number) })
	}
	merged, bytes, n := 0, 0, 0
	for ; n < len(parts); n++ {
		if merged > 0 && parts[merged-1].batch == parts[n].batch {
			parts[merged-1].of |= parts[n].of
			continue
		}
		if merged > 0 && (merged == maxBatches || bytes+parts[n].bytes > maxBytes) {
			break
		}
		bytes += parts[n].bytes
		parts[merged] = parts[n]
		merged++
	}
	for _, left := range parts[n:] {
		left.of.each(func(p uint16) {
			if q.of[p].sending--; q.of[p].sending == 0 {
				q.sending &^= left.of
				q.skipped |= left.of
			}
		})
	}
	clear(parts[merged:])
	return parts[:merged]
}

// settle ends what take began: the parts are stored, except those of lost partitions. These wait for resendInterval. It returns the other
// partitions with more to send, and those that take skipped.
func (q *queues) settle(parts []part, lost partitionSet) (more partitionSet) {
	of := partitionSet(0)
	for i := range parts {
		of |= parts[i].of
	}
	q.mu.Lock()
	of.each(func(p uint16) {
		queue := &q.of[p]
		stored := queue.batches[:queue.sending]
		queue.sending = 0
		if lost.has(p) {
			queue.retryAt = time.Now().Add(resendInterval)
			return
		}
		for _, b := range stored {
			queue.bytes -= b.share()
		}
		if queue.batches = slices.Delete(queue.batches, 0, len(stored)); len(queue.batches) == 0 {
			q.nonEmpty &^= setOf(p)
		}
	})
	q.sending &^= of
	more = (of&^lost | q.skipped) & q.nonEmpty &^ q.sending
	q.skipped = 0
	q.mu.Unlock()
	for _, t := range parts {
		t.finish((t.of &^ lost).len())
	}
	return more
}

// release counts a finished batch out.
func (q *queues) release(b *batch) {
	q.mu.Lock()
	q.bytes -= b.bytes
	q.mu.Unlock()
}
