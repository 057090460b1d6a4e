package pebblelog

import (
	"context"
	"sync"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// feedTails caches the tails of feeds. Fan-out reads those of all followers before each append, so that it appends only to windows that are open.
//
// A cached tail is the durable one: an append changes it after its sync, and Expire after its commit. A tail that is being read from the store is reserved
// with the number of its read. A change in the meantime deletes the reservation, so that what was read is not cached.
type feedTails struct {
	mu    sync.Mutex // guards all below; nobody waits for the store while holding it
	tails map[uint64]cachedTail
	reads uint64 // numbers the reads, from 1
	limit int
}

// cachedTail is the tail of a feed, or reserved for a read.
type cachedTail struct {
	tail timeline.Tail
	read uint64 // number of the read that is to find the tail; 0: it is known
}

// get sets the tails that are cached, and returns the indexes of the other keys. It reserves those of feeds for a read, whose number it returns.
func (f *feedTails) get(keys []timeline.Key, tails []timeline.Tail) (missing []int, read uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	for i, k := range keys {
		if k.Kind == timeline.Feed {
			c, ok := f.tails[k.ID]
			if ok && c.read == 0 {
				tails[i] = c.tail
				continue
			}
			timeline.EvictHalf(f.tails, f.limit)
			f.tails[k.ID] = cachedTail{read: f.reads}
		}
		missing = append(missing, i)
	}
	return missing, f.reads
}

// put caches what a read has found, except for feeds that have changed since, or are reserved for another read.
func (f *feedTails) put(read uint64, keys []timeline.Key, tails []timeline.Tail, found []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range found {
		if k := keys[i]; k.Kind == timeline.Feed && f.tails[k.ID].read == read {
			f.tails[k.ID] = cachedTail{tail: tails[i]}
		}
	}
}

// appended follows the sync of a batch, before readers see it. It changes those of the touched timelines that are cached to their new tails.
func (f *feedTails) appended(touched map[timeline.Key]timeline.Tail, tails map[timeline.Key]*timeline.Tail) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range touched {
		f.change(k, func(t *timeline.Tail) {
			first := t.FirstSeq // which the committer does not know
			*t = *tails[k]
			t.FirstSeq = first
		})
	}
}

// expired follows the removal of the entries of a timeline below a seq.
func (f *feedTails) expired(k timeline.Key, first uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.change(k, func(t *timeline.Tail) { t.FirstSeq = first })
}

// change changes the tail of a feed if it is cached, and deletes its reservation. The caller holds mu.
func (f *feedTails) change(k timeline.Key, do func(*timeline.Tail)) {
	if k.Kind != timeline.Feed {
		return
	}
	c, ok := f.tails[k.ID]
	switch {
	case !ok:
	case c.read != 0:
		delete(f.tails, k.ID)
	default:
		do(&c.tail)
		f.tails[k.ID] = c
	}
}

// Tails of timelines.
func (l *Log) Tails(ctx context.Context, keys []timeline.Key) ([]timeline.Tail, error) {
	tails := make([]timeline.Tail, len(keys))
	missing, read := l.feeds.get(keys, tails)
	for n, i := range missing {
		if n%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var err error
		if tails[i], err = l.Tail(ctx, keys[i]); err != nil {
			return nil, err
		}
	}
	if len(missing) > 0 {
		l.feeds.put(read, keys, tails, missing)
	}
	return tails, nil
}
