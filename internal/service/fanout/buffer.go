package fanout

import (
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// The memory of buffered records is bounded per partition and in total. Each partition has reservedBytes of its own, so that slow
// partitions leave room for the others. Anything above that comes out of sharedBytes. With all 64 partitions at their maximum this is 32
// MiB.
const (
	// maxBuffered bounds the entries buffered for a partition, and maxBufferedBytes their payloads. Further entries are read from the log.
	maxBuffered      = 1 << 14
	maxBufferedBytes = 2 << 20
	reservedBytes    = 256 << 10
	sharedBytes      = 16 << 20
	// entryBytes is the memory of an entry without its payload.
	entryBytes = 64
)

// sharedBuffer counts the bytes that partitions use beyond their reserves.
type sharedBuffer struct{ used atomic.Int64 }

func (s *sharedBuffer) reserve(bytes int) bool {
	if bytes > 0 && s.used.Add(int64(bytes)) > sharedBytes {
		s.used.Add(int64(-bytes))
		return false
	}
	return true
}

// sharedUse returns the shared bytes that the partition would use with the given additional bytes and entries. The caller holds mu.
func (p *partition) sharedUse(entries, bytes int) int {
	return max(0, p.bytes+bytes+entryBytes*(p.entries+entries)-reservedBytes)
}

// bufferRecord buffers a record if there is room. The caller holds mu.
func (p *partition) bufferRecord(r record) bool {
	bytes := payloadBytes(r.entries)
	if p.entries+len(r.entries) > maxBuffered || p.bytes+bytes > maxBufferedBytes ||
		!p.shared.reserve(p.sharedUse(len(r.entries), bytes)-p.sharedUse(0, 0)) {
		return false
	}
	p.records = append(p.records, r)
	p.entries += len(r.entries)
	p.bytes += bytes
	return true
}

// dropRecords forgets the buffered records. The caller holds mu.
func (p *partition) dropRecords() {
	p.shared.used.Add(int64(-p.sharedUse(0, 0)))
	p.records, p.entries, p.bytes = nil, 0, 0
}

// putBack buffers records again that were removed. Their room may be in use by now, so the bound is exceeded for a moment, by at most
// one partition's maximum for each dispatcher.
func (p *partition) putBack(records []record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mustRead { // the log is read anyway
		return
	}
	before := p.sharedUse(0, 0)
	for _, r := range records {
		p.entries += len(r.entries)
		p.bytes += payloadBytes(r.entries)
	}
	p.shared.used.Add(int64(p.sharedUse(0, 0) - before))
	p.records = append(records, p.records...)
}

func payloadBytes(entries []timeline.CommittedEntry) (bytes int) {
	for i := range entries {
		bytes += len(entries[i].Payload)
	}
	return bytes
}
