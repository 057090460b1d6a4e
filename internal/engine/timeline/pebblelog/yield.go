package pebblelog

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// yieldRows is the number of rows after which a flush or a compaction yields its processor: some 200 µs of work.
const yieldRows = 128

// yieldingFilter is a filter whose writers yield the processor. Pebble passes the key of each row of a new table to the filter's writer, in
// the goroutine that does the work. Without it a flush or a compaction keeps its processor until it is preempted, after 10 ms, and an
// append that waits for that processor is as late: with two processors, a flush and a compaction occupy both.
type yieldingFilter struct {
	pebble.FilterPolicy
	yield func()
}

// NewWriter returns a writer that yields.
func (f yieldingFilter) NewWriter(kind pebble.FilterType) pebble.FilterWriter {
	return &yieldingWriter{FilterWriter: f.FilterPolicy.NewWriter(kind), yield: f.yield}
}

type yieldingWriter struct {
	pebble.FilterWriter
	yield func()
	rows  int
}

// AddKey adds a key, and yields from time to time.
func (w *yieldingWriter) AddKey(key []byte) {
	w.FilterWriter.AddKey(key)
	if w.rows++; w.rows%yieldRows == 0 {
		w.yield()
	}
}

// stall makes flushes and compactions go on without a pause while appends wait for them, or soon will. A goroutine that yields on a single busy processor comes
// back after 10 ms at the least, and after hundreds of milliseconds if input is always ready. So a flush that yields falls behind the appends: once all memtables
// are full, all appends wait for it.
type stall struct {
	yieldTo     func()
	moreThreads func()      // nil: there are always enough
	begun       atomic.Bool // all appends wait
	behind      atomic.Bool // a second memtable has become full before the first one is flushed: with the next one, all appends wait
	flushing    atomic.Bool
}

// listen notes in the store's events when a stall begins and ends, and when flushes are behind. A flush of more bytes than a full memtable has is behind. The
// number of its memtables says nothing: those of a store that was just opened are small, and the first flush has several of them.
func (s *stall) listen(to *pebble.EventListener, memTableSize uint64) {
	to.WriteStallBegin = func(pebble.WriteStallBeginInfo) {
		s.begun.Store(true)
		s.threads()
	}
	to.WriteStallEnd = func() { s.begun.Store(false) }
	to.FlushBegin = func(i pebble.FlushInfo) {
		s.behind.Store(i.InputBytes > memTableSize)
		s.flushing.Store(true)
	}
	to.WALCreated = func(pebble.WALCreateInfo) { // with each new memtable
		if s.flushing.Load() {
			s.behind.Store(true)
		}
	}
	to.FlushEnd = func(pebble.FlushInfo) {
		s.flushing.Store(false)
		s.behind.Store(false)
	}
}

// yield yields the processor, unless there is a stall, or the work is on a flush that is behind. Flushes write level 0.
func (s *stall) yield(level int) {
	switch {
	case s.begun.Load():
		s.threads()
	case level > 0 || !s.behind.Load():
		s.yieldTo()
	}
}

func (s *stall) threads() {
	if s.moreThreads != nil {
		s.moreThreads()
	}
}
