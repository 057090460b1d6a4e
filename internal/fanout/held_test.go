package fanout

import (
	"testing"

	"github.com/rialto-im/rialto/internal/timeline"
	"pgregory.net/rapid"
)

// opened is a worker that has taken all partitions, and that nobody runs.
func opened() (*Worker, []*part) {
	w := New(Deps{})
	var parts []*part
	for p := range timeline.Partitions {
		parts = append(parts, w.part(p))
		parts[p].open = true
	}
	return w, parts
}

// hands hands a record of one entry over, and tells whether it is kept.
func (p *part) hands(w *Worker, bytes int) bool {
	w.carriers[p.partition%carriers].offer(&timeline.Commit{Partition: p.partition, Record: p.newest + 1, Entries: []timeline.Committed{{Payload: make([]byte, bytes)}}})
	return !p.behind
}

// inAll gives the bytes that wait, as the process has them.
func inAll(parts []*part) (bytes int) {
	for _, p := range parts {
		for _, r := range p.records {
			bytes += payload(r.entries) + entryBytes*len(r.entries)
		}
	}
	return bytes
}

// TestHandedOverInAll: partitions that nobody carries have no more than all together may, and leave each other partition its own; what
// they had is free when it was taken.
func TestHandedOverInAll(t *testing.T) {
	const most, piece = sharedBytes + timeline.Partitions*ownBytes, 10_000
	w, parts := opened()
	slow, others := parts[:32], parts[32:]
	full := 0
	for _, p := range slow {
		for p.hands(w, piece) {
			if p.bytes > handedOverBytes-piece {
				full++
				break
			}
		}
	}
	if full < 7 || full == len(slow) {
		t.Errorf("%d partitions have all that one may have", full)
	}
	for _, p := range others {
		for range (ownBytes - piece) / (piece + entryBytes) {
			if !p.hands(w, piece) {
				t.Fatalf("others leave partition %d no more than %d bytes", p.partition, p.bytes)
			}
		}
	}
	if got := inAll(parts); got > most || got < most-len(parts)*2*piece {
		t.Errorf("%d bytes wait, %d are as many as may", got, most)
	}
	for _, p := range slow {
		p.drop()
	}
	if p := others[0]; !p.hands(w, ownBytes) {
		t.Error("what was given back is not there for others")
	}
	small, entries := parts[0], 0
	small.behind = false
	for small.hands(w, 0) && entries <= handedOver {
		entries++
	}
	if entries != handedOver {
		t.Errorf("a partition keeps %d entries", entries)
	}
}

// TestWhatIsSharedIsCounted: whatever is kept, taken, put back and forgotten, what is counted as shared is what partitions have beyond
// their own.
func TestWhatIsSharedIsCounted(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w, parts := opened()
		taken := map[*part][]record{}
		one := rapid.Custom(func(r *rapid.T) *part { return parts[rapid.IntRange(0, 11).Draw(r, "partition")] })
		r.Repeat(map[string]func(*rapid.T){
			"hand over": func(r *rapid.T) {
				p, bytes := one.Draw(r, "part"), rapid.IntRange(0, 1<<20).Draw(r, "bytes")
				for range rapid.IntRange(1, 3).Draw(r, "times") {
					p.hands(w, bytes)
				}
			},
			"take": func(r *rapid.T) { // as carry does
				p := one.Draw(r, "part")
				taken[p] = p.records
				p.drop()
			},
			"put back": func(r *rapid.T) {
				p := one.Draw(r, "part")
				p.putBack(taken[p])
				delete(taken, p)
			},
			"read": func(r *rapid.T) { one.Draw(r, "part").behind = false },
			"lose": func(r *rapid.T) {
				p := one.Draw(r, "part")
				p.close()
				p.open = true
			},
			"": func(r *rapid.T) {
				beyond := 0
				for _, p := range parts {
					of := inAll([]*part{p})
					if bytes := p.bytes + entryBytes*p.entries; bytes != of {
						r.Fatalf("partition %d counts %d bytes, and has %d", p.partition, bytes, of)
					}
					beyond += max(0, of-ownBytes)
				}
				if got := int(w.shared.held.Load()); got != beyond {
					r.Fatalf("%d bytes are counted as shared, and it is %d", got, beyond)
				}
			},
		})
	})
}
