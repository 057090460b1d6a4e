package fanout

import (
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/timeline"
)

// tell hands a commit of this node to the node that carries its partition. It may be lost: that node looks itself from time to time.
func (w *Worker) tell(c *timeline.Commit) {
	if w.deps.Holder == nil {
		return
	}
	node := w.deps.Holder(c.Partition)
	if node == "" || node == w.deps.Node {
		return
	}
	data := appendCommit(nil, c)
	if len(data) > bus.MaxData {
		data = appendCommit(nil, &timeline.Commit{Partition: c.Partition, Record: c.Record}) // it has to be read there
	}
	if err := w.deps.Bus.Publish(commitSubject(node), data); err != nil {
		w.deps.Logger.Debug("a commit was not told", "node", node, "error", err)
	}
}

// told takes what another node has committed.
func (w *Worker) told(data []byte) {
	c, ok := decodeCommit(append([]byte(nil), data...))
	if !ok {
		w.deps.Logger.Error("a commit that was told cannot be read")
		return
	}
	carrier := w.carriers[c.Partition%carriers]
	carrier.offer(&c)
	carrier.poke()
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
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			ok, b = false, nil
			return 0
		}
		b = b[n:]
		return v
	}
	ok = true
	partition := next()
	c.Record = next()
	if !ok || partition >= timeline.Partitions {
		return c, false
	}
	c.Partition = uint16(partition)
	for len(b) > 0 {
		e := timeline.Committed{Key: timeline.Key{Kind: timeline.Conversation, ID: next()}, Seq: next(), Counted: next()}
		size := next()
		if !ok || size > uint64(len(b)) {
			return c, false
		}
		e.Payload, b = b[:size:size], b[size:]
		c.Entries = append(c.Entries, e)
	}
	return c, true
}
