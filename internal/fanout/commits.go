package fanout

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// tellBytes bounds what waits to be told. What comes beyond is not told: its carrier reads it from the log.
const tellBytes = 8 << 20

const (
	// tellAtOnce is what goes into one message, about; more is another one, so that the memory of few is used again and again.
	tellAtOnce  = 64 << 10
	tellsSpared = 16
)

// telling tells the nodes that carry partitions what this node has committed in them. It has a goroutine of its own, since a bus whose
// server is silent holds up who publishes, and who commits is to answer senders meanwhile.
type telling struct {
	wake chan struct{} // there is something to tell

	mu    sync.Mutex // guards what follows
	waits []parcelTo
	last  map[string]int // of waits, by node
	bytes int            // of waits
	one   []byte         // reused from one time to the next
	spare [][]byte       // parcels that have left
}

// parcelTo is one message for a node.
type parcelTo struct {
	node string
	data []byte
}

// tell has commits of this node told to the nodes that carry their partitions. It may be lost: they look themselves from time to time.
func (w *Worker) tell(commits []timeline.Commit) {
	if w.deps.Holder == nil {
		return
	}
	t, some := &w.telling, false
	t.mu.Lock()
	for i := range commits {
		if node := w.deps.Holder(commits[i].Partition); node != "" && node != w.deps.Node {
			some = t.add(node, &commits[i]) || some
		}
	}
	t.mu.Unlock()
	if some {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// add packs a commit, and tells whether there was room. The caller holds mu.
func (t *telling) add(node string, c *timeline.Commit) bool {
	t.one = appendCommit(t.one[:0], c)
	if len(t.one)+binary.MaxVarintLen64 > bus.MaxData {
		t.one = appendCommit(t.one[:0], &timeline.Commit{Partition: c.Partition, Record: c.Record}) // it has to be read there
	}
	more := len(t.one) + binary.MaxVarintLen64
	if t.bytes+more > tellBytes {
		return false
	}
	t.bytes += more
	at, ok := t.last[node]
	if !ok || len(t.waits[at].data)+more > tellAtOnce {
		at = len(t.waits)
		t.last[node] = at
		t.waits = append(t.waits, parcelTo{node, t.parcel()})
	}
	p := &t.waits[at]
	p.data = append(binary.AppendUvarint(p.data, uint64(len(t.one))), t.one...)
	return true
}

// parcel gives an empty one. The caller holds mu.
func (t *telling) parcel() (p []byte) {
	if last := len(t.spare) - 1; last >= 0 {
		p, t.spare = t.spare[last], t.spare[:last]
	}
	return p
}

// runTelling tells until ctx ends.
func (w *Worker) runTelling(ctx context.Context) {
	var told []parcelTo
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.telling.wake:
			told = w.telling.take(told)
			for _, p := range told {
				w.publishCommits(p.node, p.data)
			}
		}
	}
}

// take gives what waits, for what was told: its memory is used again, as far as it is little.
func (t *telling) take(told []parcelTo) []parcelTo {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range told {
		if cap(told[i].data) <= spareMost && len(t.spare) < tellsSpared {
			t.spare = append(t.spare, told[i].data[:0])
		}
	}
	clear(told)
	waits := t.waits
	t.waits, t.bytes = told[:0], 0
	clear(t.last)
	return waits
}

func (w *Worker) publishCommits(node string, data []byte) {
	if err := w.deps.Bus.Publish(commitSubject(node), data); err != nil {
		w.deps.Logger.Debug("commits were not told", "node", node, "error", err)
	}
}

// told takes what another node has committed, each commit behind its length.
func (w *Worker) told(data []byte) {
	for f := message.FieldsOf(data); len(f.Left()) > 0; {
		c, ok := decodeCommit(slices.Clone(f.Bytes())) // by itself: what one partition keeps is not to keep what others had
		if !ok {
			w.deps.Logger.Error("a commit that was told cannot be read")
			continue
		}
		w.carriers[c.Partition%carriers].offer(&c)
	}
	for _, c := range w.carriers {
		c.poke()
	}
}

func appendCommit(b []byte, c *timeline.Commit) []byte {
	b = binary.AppendUvarint(b, uint64(c.Partition))
	b = binary.AppendUvarint(b, c.Record)
	for i := range c.Entries {
		e := &c.Entries[i]
		b = binary.AppendUvarint(b, e.Key.ID)
		b = binary.AppendUvarint(b, e.Seq)
		b = binary.AppendUvarint(b, e.Counted)
		b = binary.AppendUvarint(b, uint64(len(e.Payload)))
		b = append(b, e.Payload...)
	}
	return b
}

func decodeCommit(b []byte) (c timeline.Commit, ok bool) {
	f := message.FieldsOf(b)
	partition := f.Uvarint()
	c.Record = f.Uvarint()
	if partition >= timeline.Partitions {
		return c, false
	}
	c.Partition = uint16(partition)
	for len(f.Left()) > 0 {
		c.Entries = append(c.Entries, timeline.Committed{Key: timeline.Key{Kind: timeline.Conversation, ID: f.Uvarint()}, Seq: f.Uvarint(), Counted: f.Uvarint(), Payload: f.Bytes()})
	}
	return c, !f.Bad()
}
