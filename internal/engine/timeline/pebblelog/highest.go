package pebblelog

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// highestCounters caches the highest counters of devices. The committer compares the counters of appends with them, and a device reads its own
// when it connects.
type highestCounters struct {
	mu        sync.Mutex // guards the fields below
	cached    map[device]uint64
	limit     int
	evictions uint64 // so that a reader caches nothing that was read before one
}

// raise records the counter of an append that will be stored.
func (h *highestCounters) raise(d device, counter uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cached[d] = max(h.cached[d], counter)
}

// evict makes room. Only the committer calls it, between batches: a counter of a batch that is not stored yet is only in the cache.
func (h *highestCounters) evict() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.cached) >= h.limit {
		h.evictions++
		timeline.EvictHalf(h.cached, h.limit)
	}
}

func (h *highestCounters) get(d device) (counter uint64, ok bool, evictions uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	counter, ok = h.cached[d]
	return counter, ok, h.evictions
}

// add caches a counter that was read after some number of evictions, and returns the highest that is known. The committer's are cached also if there
// is no room: raise would take a lower counter of the same batch for the highest.
func (h *highestCounters) add(d device, counter, evictions uint64, ofCommitter bool) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	highest, ok := h.cached[d]
	if !ok && h.evictions == evictions && (ofCommitter || len(h.cached) < h.limit) {
		h.cached[d] = counter
	}
	return max(highest, counter)
}

func (l *Log) highestCounter(d device, ofCommitter bool) (uint64, error) {
	highest, ok, evictions := l.committer.highest.get(d)
	if ok {
		return highest, nil
	}
	lower := tokenKey(nil, &timeline.Token{Sender: d.sender, Device: d.device, Counter: 1}, timeline.Key{})
	upper := append(slices.Clone(lower[:17]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	key, err := l.last(lower, upper)
	if err != nil {
		return 0, err
	}
	if key != nil {
		highest = binary.BigEndian.Uint64(key[17:])
	}
	return l.committer.highest.add(d, highest, evictions, ofCommitter), nil
}
