package gateway

import (
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

const (
	// maxBatch bounds the bytes of the entries that are pushed together. Together with the output that already waits at a connection, they fit into one merged frame.
	maxBatch = 32 << 10
	// batchSlice is the number of connections to which a batch is pushed before other goroutines may run: some 100 µs of work.
	batchSlice = 128
)

// largeBatch is consecutive entries of one large conversation. They are pushed together, because most of a push is finding and locking the connection,
// and not copying the bytes.
type largeBatch struct {
	conversation id.Conversation
	entries      []largeEntry
	bodies       []byte
	fields       []byte     // the entries that are pushed, as fields of a ServerFrame
	frames       [2]*buffer // the same as a frame of WebSocket, and as one of TCP; nil until one is needed
	conns        []*conn    // to which they are pushed
}

// largeEntry is an entry of a batch.
type largeEntry struct {
	seq        uint64
	from, to   int // its body, in bodies
	age        time.Duration
	correction bool
	textMs     int64 // when the text was stored that it has, in Unix ms; 0: it has none
	body       payload
}

// addLarge adds an entry of a large conversation to the batch. The batch is pushed first if the entry does not fit in.
func (d *deliverer) addLarge(body []byte, age time.Duration, correction bool, textMs int64) {
	n, b := &d.next, &d.batch
	if b.conversation != n.Conversation || len(b.bodies)+len(body) > maxBatch {
		d.pushBatch()
	}
	b.conversation = n.Conversation
	from := len(b.bodies)
	b.bodies = append(b.bodies, body...)
	b.entries = append(b.entries, largeEntry{seq: n.Seq, from: from, to: len(b.bodies), age: age, correction: correction, textMs: textMs})
}

// pushBatch pushes the entries of the batch to the followers on this node, unless the conversation is hot, and returns how many got any. Other
// goroutines may run after each batchSlice connections. No lock of the hub is held meanwhile, so its changes do not wait for a push to many.
func (d *deliverer) pushBatch() (pushed int) {
	b, s := &d.batch, d.server
	if len(b.entries) == 0 {
		return 0
	}
	defer b.reset()
	b.admit(s)
	for i, c := range b.conns {
		if i > 0 && i%batchSlice == 0 && d.yield != nil {
			d.yield()
		}
		if c.pushBatch(b) {
			pushed++
		}
	}
	for i := range b.entries {
		e := &b.entries[i]
		if pushed > 0 {
			d.recordEntry(b.conversation, e.seq, flightrecorder.PushedToFollowers, uint64(pushed), 0)
		}
		d.logUnreadable(&e.body)
	}
	return pushed
}

// admit selects the entries that are pushed, and the connections.
func (b *largeBatch) admit(s *Server) {
	shard := s.hub.conversation(b.conversation)
	shard.mu.RLock()
	defer shard.mu.RUnlock()
	r := shard.audiences[b.conversation]
	admitted := b.entries[:0]
	for _, e := range b.entries {
		if r == nil {
			break
		}
		r.advance(e.seq)
		if !s.heats.mayPush(b.conversation, r, len(r.conns), &e) {
			continue
		}
		e.body = payload{proto: b.bodies[e.from:e.to], traced: e.body.traced}
		b.fields = message.AppendEventField(b.fields, 4, 0, 0, e.body.proto)
		admitted = append(admitted, e)
	}
	if b.entries = admitted; len(admitted) > 0 {
		b.conns = append(b.conns, r.conns...)
	}
}

func (b *largeBatch) reset() {
	clear(b.entries)
	clear(b.conns)
	b.entries, b.bodies, b.fields, b.conns, b.frames = b.entries[:0], b.bodies[:0], b.fields[:0], b.conns[:0], [2]*buffer{}
}

// frame returns a frame with the entries. All connections without other pending output share it: a copy for each of 10,000 connections would take more time than the
// pushes, and hundreds of megabytes in a storm.
func (b *largeBatch) frame(c *conn) *buffer {
	of := 0
	if c.prefixed {
		of = 1
	}
	if b.frames[of] == nil {
		b.frames[of] = &buffer{b: append(c.appendHeader(nil, opBinary, len(b.fields)), b.fields...), shared: true}
	}
	return b.frames[of]
}

// pushBatch pushes the entries of a large conversation, and reports whether the connection got any. It gets none if it no longer follows the conversation,
// or if the last hint about the conversation is still to come, which covers them.
func (c *conn) pushBatch(b *largeBatch) (pushed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	following := slices.Index(c.follows, b.conversation)
	if following < 0 {
		return false
	}
	if c.awaitsLastHint(b.conversation, b.entries[len(b.entries)-1].seq) {
		c.server.stats.LargePushed.Add(-int64(len(b.entries)))
		c.server.stats.LargeWithheld.Add(int64(len(b.entries)))
		return false
	}
	if above := c.followsAbove[following]; c.json || b.entries[0].seq <= above {
		for i := range b.entries {
			if b.entries[i].seq > above {
				pushed = c.pushLocked(0, 0, &b.entries[i].body) || pushed
			}
		}
		return pushed
	}
	if !c.canPush() {
		return false
	}
	c.server.stats.Events.Add(int64(len(b.entries) - 1)) // the first is counted
	if c.withheld != nil {
		c.withholdEvent(withheldEvent{data: slices.Clone(b.fields)})
		return false
	}
	if c.out == nil {
		c.setOutput(b.frame(c))
	} else {
		c.appendFields(b.fields)
	}
	c.queueLater()
	for i := range b.entries {
		c.traceWrite(b.entries[i].body.traced)
	}
	return true
}
