package fanout

import (
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/timeline"
)

// tell hands commits of this node to the nodes that carry their partitions, in one message for each. It may be lost: they look
// themselves from time to time.
func (w *Worker) tell(commits []timeline.Commit) {
	if w.deps.Holder == nil {
		return
	}
	parcels := map[string][]byte{}
	for i := range commits {
		c := &commits[i]
		node := w.deps.Holder(c.Partition)
		if node == "" || node == w.deps.Node {
			continue
		}
		data := appendCommit(nil, c)
		if len(data)+binary.MaxVarintLen64 > bus.MaxData {
			data = appendCommit(nil, &timeline.Commit{Partition: c.Partition, Record: c.Record}) // it has to be read there
		}
		if len(parcels[node])+len(data)+binary.MaxVarintLen64 > bus.MaxData {
			w.publishCommits(node, parcels[node])
			parcels[node] = nil
		}
		parcels[node] = append(binary.AppendUvarint(parcels[node], uint64(len(data))), data...)
	}
	for node, data := range parcels {
		w.publishCommits(node, data)
	}
}

func (w *Worker) publishCommits(node string, data []byte) {
	if err := w.deps.Bus.Publish(commitSubject(node), data); err != nil {
		w.deps.Logger.Debug("commits were not told", "node", node, "error", err)
	}
}

// told takes what another node has committed, each commit behind its length.
func (w *Worker) told(data []byte) {
	data = append([]byte(nil), data...)
	for len(data) > 0 {
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) {
			w.deps.Logger.Error("commits that were told cannot be read")
			break
		}
		c, ok := decodeCommit(data[n : n+int(size) : n+int(size)])
		data = data[n+int(size):]
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
