package fanout

import (
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"pgregory.net/rapid"
)

// newTestWorker returns a worker that has acquired all partitions and does not run.
func newTestWorker() (*Worker, []*partition) {
	w := New(Deps{})
	var parts []*partition
	for p := range timeline.Partitions {
		parts = append(parts, w.partition(p))
		parts[p].active = true
	}
	return w, parts
}

// offer gives the dispatcher a record of one entry and reports whether it was buffered.
func (p *partition) offer(w *Worker, bytes int) bool {
	w.dispatchers[p.number%dispatcherCount].offer(&timeline.Commit{Partition: p.number, RecordSeq: p.newestSeq + 1, Entries: []timeline.CommittedEntry{{Payload: make([]byte, bytes)}}})
	return !p.mustRead
}

// bufferedBytes counts the buffered bytes from the records themselves.
func bufferedBytes(parts []*partition) (bytes int) {
	for _, p := range parts {
		for _, r := range p.records {
			bytes += payloadBytes(r.entries) + entryBytes*len(r.entries)
		}
	}
	return bytes
}

// TestBufferedBytesAreBounded: partitions that are not dispatched buffer no more than the shared bound, and leave the reserved bytes of others
// free. Their bytes are released when the records are dropped.
func TestBufferedBytesAreBounded(t *testing.T) {
	const most, piece = sharedBytes + timeline.Partitions*reservedBytes, 10_000
	w, parts := newTestWorker()
	slow, others := parts[:32], parts[32:]
	full := 0
	for _, p := range slow {
		for p.offer(w, piece) {
			if p.bytes > maxBufferedBytes-piece {
				full++
				break
			}
		}
	}
	if full < 7 || full == len(slow) {
		t.Errorf("%d partitions are full; want at least 7 and not all", full)
	}
	for _, p := range others {
		for range (reservedBytes - piece) / (piece + entryBytes) {
			if !p.offer(w, piece) {
				t.Fatalf("partition %d can buffer only %d bytes, less than its reserve", p.number, p.bytes)
			}
		}
	}
	if got := bufferedBytes(parts); got > most || got < most-len(parts)*2*piece {
		t.Errorf("%d bytes are buffered; the bound is %d", got, most)
	}
	for _, p := range slow {
		p.dropRecords()
	}
	if p := others[0]; !p.offer(w, reservedBytes) {
		t.Error("released bytes are not available to other partitions")
	}
	small, entries := parts[0], 0
	small.mustRead = false
	for small.offer(w, 0) && entries <= maxBuffered {
		entries++
	}
	if entries != maxBuffered {
		t.Errorf("a partition buffers %d entries", entries)
	}
}

// TestSharedBytesAreCounted: after any sequence of buffering, dropping and putting back, the shared count equals what partitions use beyond
// their reserves.
func TestSharedBytesAreCounted(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w, parts := newTestWorker()
		taken := map[*partition][]record{}
		one := rapid.Custom(func(r *rapid.T) *partition { return parts[rapid.IntRange(0, 11).Draw(r, "partition")] })
		r.Repeat(map[string]func(*rapid.T){
			"hand over": func(r *rapid.T) {
				p, bytes := one.Draw(r, "part"), rapid.IntRange(0, 1<<20).Draw(r, "bytes")
				for range rapid.IntRange(1, 3).Draw(r, "times") {
					p.offer(w, bytes)
				}
			},
			"take": func(r *rapid.T) { // as dispatch does
				p := one.Draw(r, "part")
				taken[p] = p.records
				p.dropRecords()
			},
			"put back": func(r *rapid.T) {
				p := one.Draw(r, "part")
				p.putBack(taken[p])
				delete(taken, p)
			},
			"read": func(r *rapid.T) { one.Draw(r, "part").mustRead = false },
			"lose": func(r *rapid.T) {
				p := one.Draw(r, "part")
				p.deactivate()
				p.active = true
			},
			"": func(r *rapid.T) {
				beyond := 0
				for _, p := range parts {
					of := bufferedBytes([]*partition{p})
					if bytes := p.bytes + entryBytes*p.entries; bytes != of {
						r.Fatalf("partition %d counts %d bytes; its records have %d", p.number, bytes, of)
					}
					beyond += max(0, of-reservedBytes)
				}
				if got := int(w.shared.used.Load()); got != beyond {
					r.Fatalf("%d bytes are counted as shared, want %d", got, beyond)
				}
			},
		})
	})
}
