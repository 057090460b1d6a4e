// Package flightrecorder keeps in memory what this node did with the latest messages: when it committed, fanned out and pushed them, and what
// devices acknowledged and users read.
//
// Records are for operators who look for a message. They are lost with the process, and new records overwrite the oldest ones. What the stores know
// is not recorded. There are two ring buffers, since one message may be pushed to hundreds of devices: records of messages are kept longer than those of
// devices. A record costs a few nanoseconds: writers add those of a batch together, and a ring that has been filled allocates nothing.
//
// A nil Recorder records nothing. All methods are safe for concurrent use, and none blocks for longer than a copy of some records takes.
package flightrecorder

import (
	"fmt"
	"sync"

	"github.com/rialto-im/rialto/internal/base/clock"
)

// Kind of a record.
type Kind uint8

// Kinds of records, and what their fields are.
const (
	// Committed: the log has stored an entry. User has the first eight bytes of the message's id.
	Committed Kind = 1 + iota
	// Posted: references to an entry were appended to inboxes. User is how many, Device the set of the inboxes' partitions.
	Posted
	// Broadcast: an entry of a large conversation was sent to nodes with followers. User is how many.
	Broadcast
	// Notified: an attempt to send a push notification ended. Device is the subscription.
	Notified
	// Pushed: an entry was queued on a connection of a device.
	Pushed
	// PushedToFollowers: an entry of a large conversation was queued on connections. User is how many.
	PushedToFollowers
	// Acknowledged: the position up to which a device has its user's stream was stored. Seq is the position; there is no conversation.
	Acknowledged
	// Read: the read cursor of a user was moved to Seq.
	Read
)

// Record of an event. All fields but the first are what its kind says.
type Record struct {
	AtUs         int64 // microseconds since 1970
	Kind         Kind
	Conversation uint64
	Seq          uint64
	User, Device uint64
}

// Config of a Recorder. The zero value is the documented default.
type Config struct {
	// Off: the node keeps no times of messages in memory, and rialto where shows only what the stores know. Default false.
	Off bool `yaml:"off"`
	// Memory for these times, in bytes, which is used once there were enough messages; 0 is 32 MiB. A message takes 120 bytes of it, and 40 for each
	// device that it is pushed to.
	Memory int `yaml:"memory"`
}

const (
	defaultMemory = 32 << 20
	minMemory     = 1 << 20
	maxMemory     = 16 << 30
	recordBytes   = 40
	chunkRecords  = 4096 // are allocated together
)

// Check reports settings that are not valid.
func (c Config) Check() error {
	if c.Memory != 0 && (c.Memory < minMemory || c.Memory > maxMemory) {
		return fmt.Errorf("message_trace.memory is %d to %d bytes, not %d", minMemory, maxMemory, c.Memory)
	}
	return nil
}

// Recorder has the records of a node.
type Recorder struct {
	clock    clock.Clock
	messages ring
	devices  ring
}

// New returns an empty Recorder, or nil if it is off.
func New(now clock.Clock, c Config) *Recorder {
	if c.Off {
		return nil
	}
	if c.Memory == 0 {
		c.Memory = defaultMemory
	}
	r := &Recorder{clock: now}
	began := now.Now().UnixMicro()
	for _, g := range []*ring{&r.messages, &r.devices} {
		g.began = began
		g.chunks = make([][]slot, max(c.Memory/2/recordBytes/chunkRecords, 2))
	}
	return r
}

// NowUs is the time for records, in microseconds since 1970.
func (r *Recorder) NowUs() int64 { return r.clock.Now().UnixMicro() }

// Add adds records of one kind. It keeps none of its arguments.
func (r *Recorder) Add(records ...Record) {
	if r == nil || len(records) == 0 {
		return
	}
	r.ringOf(records[0].Kind).add(records)
}

func (r *Recorder) ringOf(k Kind) *ring {
	if k >= Pushed {
		return &r.devices
	}
	return &r.messages
}

// Scan calls visit with all records, those of messages first, each ring from the oldest on. Records that are overwritten meanwhile are left out.
func (r *Recorder) Scan(visit func(*Record)) {
	if r == nil {
		return
	}
	r.messages.scan(visit)
	r.devices.scan(visit)
}

// Spans is since when all records are kept, in microseconds since 1970.
type Spans struct {
	Messages, Devices int64
}

// Spans returns since when the records are complete.
func (r *Recorder) Spans() Spans {
	return Spans{Messages: r.messages.since(), Devices: r.devices.since()}
}

// Capacity returns how many records of messages are kept, and as many of devices.
func (r *Recorder) Capacity() int { return len(r.messages.chunks) * chunkRecords }

// slot is a record in a ring: the time and, in the lowest byte, the kind.
type slot struct {
	atKind                          uint64
	conversation, seq, user, device uint64
}

// ring keeps the latest records.
type ring struct {
	began int64

	mu     sync.Mutex // guards the rest; held for a batch of records
	chunks [][]slot   // allocated when they are first needed
	next   uint64     // number of the next record
}

func (g *ring) capacity() uint64 { return uint64(len(g.chunks)) * chunkRecords }

func (g *ring) add(records []Record) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.next % g.capacity()
	chunk, in := at/chunkRecords, at%chunkRecords
	for i := range records {
		r := &records[i]
		if g.chunks[chunk] == nil {
			g.chunks[chunk] = make([]slot, chunkRecords)
		}
		g.chunks[chunk][in] = slot{uint64(r.AtUs)<<8 | uint64(r.Kind), r.Conversation, r.Seq, r.User, r.Device}
		if in++; in == chunkRecords {
			if in, chunk = 0, chunk+1; chunk == uint64(len(g.chunks)) {
				chunk = 0
			}
		}
	}
	g.next += uint64(len(records))
}

// scanStep is how many records are copied while writers wait.
const scanStep = 512

func (g *ring) scan(visit func(*Record)) {
	var part [scanStep]slot
	for at := uint64(0); ; {
		n := g.copyFrom(&at, part[:])
		if n == 0 {
			return
		}
		for _, s := range part[:n] {
			visit(&Record{AtUs: int64(s.atKind >> 8), Kind: Kind(s.atKind), Conversation: s.conversation, Seq: s.seq, User: s.user, Device: s.device})
		}
	}
}

// copyFrom copies records from a number on, or from the oldest one, and moves the number behind them.
func (g *ring) copyFrom(at *uint64, part []slot) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.capacity(); g.next > c {
		*at = max(*at, g.next-c)
	}
	for n < len(part) && *at < g.next {
		i := *at % g.capacity()
		part[n] = g.chunks[i/chunkRecords][i%chunkRecords]
		n++
		*at++
	}
	return n
}

// since is the time of the oldest record if others were overwritten, or else when the ring was made.
func (g *ring) since() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.capacity()
	if g.next <= c {
		return g.began
	}
	i := g.next % c
	return int64(g.chunks[i/chunkRecords][i%chunkRecords].atKind >> 8)
}
