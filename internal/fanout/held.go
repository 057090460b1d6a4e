package fanout

import (
	"context"
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// heldBytes bounds the payloads of entries that are held: some seconds of a busy node.
const heldBytes = 16 << 20

// held are the entries that this node has appended, or was told of as the one that carries them, lately. Whoever delivers one of them
// to this node names it, and does not send it again: most of what crosses between nodes is texts.
type held struct {
	mu    sync.Mutex // guards all below
	of    [timeline.Partitions]map[uint64][]timeline.Committed
	order []heldRecord // the oldest first
	bytes int
}

type heldRecord struct {
	partition uint16
	record    uint64
	bytes     int
}

// put holds a commit's entries, and drops the oldest that are too much.
func (h *held) put(c *timeline.Commit) {
	size := 0
	for i := range c.Entries {
		size += len(c.Entries[i].Payload)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	of := &h.of[c.Partition]
	if *of == nil {
		*of = map[uint64][]timeline.Committed{}
	}
	if _, ok := (*of)[c.Record]; ok || size == 0 {
		return
	}
	(*of)[c.Record] = c.Entries
	h.order = append(h.order, heldRecord{c.Partition, c.Record, size})
	h.bytes += size
	n := 0
	for ; h.bytes > heldBytes; n++ {
		old := h.order[n]
		delete(h.of[old.partition], old.record)
		h.bytes -= old.bytes
	}
	h.order = h.order[n:]
}

// get gives an entry's payload, nil where it is not held.
func (h *held) get(key timeline.Key, seq, record uint64) []byte {
	h.mu.Lock()
	entries := h.of[key.Partition()][record]
	h.mu.Unlock()
	for i := range entries {
		if entries[i].Seq == seq && entries[i].Key == key {
			return entries[i].Payload
		}
	}
	return nil
}

// Entry gives the entry that a delivery names instead of bringing it (message.DeliverNamed): from memory, or, where it has been
// dropped, from the log. It is nil where it cannot be had.
func (w *Worker) Entry(c id.Conversation, seq, record uint64) []byte {
	key := timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
	if payload := w.held.get(key, seq, record); payload != nil {
		return payload
	}
	w.reread.Add(1)
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	entries, err := w.deps.Log.Get(ctx, []timeline.Ref{{Key: key, From: seq, To: seq}})
	if err != nil || len(entries) != 1 {
		w.deps.Logger.Warn("an entry that is named cannot be read", "conversation", c, "seq", seq, "error", err)
		return nil
	}
	return entries[0].Payload
}

// sourceMost bounds the size of what says where entries are held: names of nodes are parts of subjects.
const sourceMost = 1024

// source is where entries are held: by the node that appended them, and by the one that carries them.
type source struct {
	record uint64
	nodes  []string
}

// sourceOf the entries of a record, of which a node told; nil for what was read from the log.
func (w *Worker) sourceOf(record uint64, told string) *source {
	switch {
	case told == "" || w.deps.Holder == nil:
		return nil
	case told == w.deps.Node:
		return &source{record, []string{told}}
	}
	return &source{record, []string{told, w.deps.Node}}
}

// delivery says where the entries that follow are held.
func (s *source) delivery() message.Delivery {
	d := message.Delivery{Kind: message.DeliverSource}
	if s != nil {
		d.Record = s.record
		for _, n := range s.nodes {
			d.Body = message.AppendBytes(d.Body, n)
		}
	}
	return d
}

func readSource(d *message.Delivery) *source {
	s := &source{record: d.Record}
	for f := message.FieldsOf(d.Body); len(f.Left()) > 0; {
		s.nodes = append(s.nodes, string(f.Bytes()))
	}
	return s
}

func (s *source) has(node string) bool { return s != nil && slices.Contains(s.nodes, node) }

// delivery of the item to a node, which gets the entry's name where it holds it. The targets are to be added.
func (it *item) delivery(node string) message.Delivery {
	d := message.Delivery{Kind: it.kind, Large: it.followed(), Conversation: it.conversation, Seq: it.seq, Counted: it.counted, Body: it.body}
	if it.kind != message.DeliverEntry || it.body != nil && !it.from.has(node) {
		return d
	}
	// What this node could not have itself, though it was named to it, it names as well: an inbox does not wait for that.
	if d.Kind, d.Body = message.DeliverNamed, nil; it.from != nil {
		d.Record = it.from.record
	}
	return d
}
