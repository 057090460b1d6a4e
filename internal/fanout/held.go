package fanout

import (
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/timeline"
)

// What is handed over and waits is bounded for each partition and for all: a partition always has ownBytes, so that none that is
// slow leaves the others nothing, and beyond takes from what all share. With all 64 at their most that is 32 MiB.
const (
	// handedOver bounds the entries kept in memory for a partition, and handedOverBytes their payloads; beyond, they are read
	// from the log.
	handedOver      = 1 << 14
	handedOverBytes = 2 << 20
	ownBytes        = 256 << 10
	sharedBytes     = 16 << 20
	// entryBytes that an entry takes besides its payload.
	entryBytes = 64
)

// shared counts the bytes that partitions have beyond their own.
type shared struct{ held atomic.Int64 }

func (s *shared) take(bytes int) bool {
	if bytes > 0 && s.held.Add(int64(bytes)) > sharedBytes {
		s.held.Add(int64(-bytes))
		return false
	}
	return true
}

// beyond its own bytes a partition would have with so much more. The caller holds mu.
func (p *part) beyond(entries, bytes int) int {
	return max(0, p.bytes+bytes+entryBytes*(p.entries+entries)-ownBytes)
}

// hold keeps a record, where there is room. The caller holds mu.
func (p *part) hold(r record) bool {
	bytes := payload(r.entries)
	if p.entries+len(r.entries) > handedOver || p.bytes+bytes > handedOverBytes ||
		!p.shared.take(p.beyond(len(r.entries), bytes)-p.beyond(0, 0)) {
		return false
	}
	p.records = append(p.records, r)
	p.entries += len(r.entries)
	p.bytes += bytes
	return true
}

// drop forgets the handed-over records. The caller holds mu.
func (p *part) drop() {
	p.shared.held.Add(int64(-p.beyond(0, 0)))
	p.records, p.entries, p.bytes = nil, 0, 0
}

// putBack keeps records that were taken for later. It was room for them; what came since may have that now, so that there is more for
// a moment, by as much as the carriers have in hand: what one partition may have, each.
func (p *part) putBack(records []record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.behind { // they are read from the log
		return
	}
	before := p.beyond(0, 0)
	for _, r := range records {
		p.entries += len(r.entries)
		p.bytes += payload(r.entries)
	}
	p.shared.held.Add(int64(p.beyond(0, 0) - before))
	p.records = append(records, p.records...)
}

func payload(entries []timeline.Committed) (bytes int) {
	for i := range entries {
		bytes += len(entries[i].Payload)
	}
	return bytes
}
