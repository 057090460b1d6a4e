package fanout

import (
	"encoding/binary"
	"slices"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// tell hands commits of this node to the nodes that carry their partitions, in one message for each. It may be lost: they look
// themselves from time to time.
func (w *Worker) tell(commits []timeline.Commit) {
	if w.deps.Holder == nil {
		return
	}
	t, _ := w.tellings.Get().(*telling)
	if t == nil {
		t = &telling{parcels: map[string][]byte{}}
	}
	defer w.tellings.Put(t)
	for i := range commits {
		c := &commits[i]
		node := w.deps.Holder(c.Partition)
		if node == "" || node == w.deps.Node {
			continue
		}
		t.one = appendCommit(t.one[:0], c)
		if len(t.one)+binary.MaxVarintLen64 > bus.MaxData {
			t.one = appendCommit(t.one[:0], &timeline.Commit{Partition: c.Partition, Record: c.Record}) // it has to be read there
		}
		parcel := t.parcels[node]
		if len(parcel)+len(t.one)+binary.MaxVarintLen64 > bus.MaxData {
			w.publishCommits(node, parcel)
			parcel = parcel[:0]
		}
		t.parcels[node] = append(binary.AppendUvarint(parcel, uint64(len(t.one))), t.one...)
	}
	for node, parcel := range t.parcels {
		if len(parcel) == 0 { // nothing for a while
			delete(t.parcels, node)
			continue
		}
		w.publishCommits(node, parcel)
		t.parcels[node] = parcel[:0]
	}
}

// telling is what commits are packed with, reused from one time to the next.
type telling struct {
	parcels map[string][]byte // of nodes
	one     []byte
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
