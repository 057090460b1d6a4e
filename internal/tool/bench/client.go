package bench

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// conversation under load.
type conversation struct {
	id    uint64
	base  uint64 // the last seq before the load
	large bool
	acked atomic.Uint64
	top   atomic.Uint64 // the highest acknowledged seq

	// With --whole: the sender, the number of receiving connections, and the deliveries to all of them.
	sender    *client
	listeners atomic.Int64
	got       atomic.Uint64
}

// countDelivery counts deliveries, and refills the sender's window for each message that was delivered to all.
func (r *conversation) countDelivery(more uint64) {
	k := uint64(r.listeners.Load())
	now := r.got.Add(more)
	done := now/k - (now-more)/k
	if done == 0 {
		return
	}
	r.sender.writes.Lock()
	defer r.sender.writes.Unlock()
	if !r.sender.stopped {
		r.sender.send(int(done), time.Time{})
	}
}

// receivedConversation is a client's state of a conversation.
type receivedConversation struct {
	conversation *conversation
	last         uint64 // seq
	fresh        uint64 // messages of others in this frame
	from         map[uint32]*numberSet
	known        *known // of a member who does not show it; the fields above are not used then
}

// numberSet is a set of message numbers of one sender: message n is bit n.
type numberSet struct {
	highest uint32
	bits    []uint64
}

// add reports whether a message is new, and whether it is the next one.
func (g *numberSet) add(n uint32) (fresh, next bool) {
	for int(n/64) >= len(g.bits) {
		g.bits = append(g.bits, 0)
	}
	bit := uint64(1) << (n % 64)
	fresh, next = g.bits[n/64]&bit == 0, n == g.highest+1
	g.bits[n/64] |= bit
	g.highest = max(g.highest, n)
	return fresh, next
}

// count of messages.
func (g *numberSet) count() (n uint64) { return g.missing(nil) }

// has reports whether the set contains n.
func (g *numberSet) has(n uint32) bool {
	return g != nil && int(n/64) < len(g.bits) && g.bits[n/64]>>(n%64)&1 == 1
}

// missing counts the numbers in g that are not in o.
func (g *numberSet) missing(o *numberSet) (count uint64) {
	for i, word := range g.bits {
		if o != nil && i < len(o.bits) {
			word &^= o.bits[i]
		}
		count += uint64(bits.OnesCount64(word))
	}
	return count
}

// client is one connection. Its fields belong to the reading goroutine, unless noted.
type client struct {
	load          *load
	sock          connection
	number        uint32 // of the sender
	endpointIndex int    // index in the deployment's endpoints
	user          *user
	writes        sync.Mutex // guards writing to sock, and all fields of the sending side
	conversations map[uint64]*receivedConversation

	position  uint64 // in the stream
	syncing   bool
	buffered  [][]byte        // events that were pushed during a sync
	pulling   map[uint64]bool // large conversations whose history was requested
	frame     []byte
	one, text []byte
	unacked   uint64 // position of the last Ack
	delivered atomic.Uint64
	own       atomic.Uint64 // messages of this client in its own stream

	device     int
	active     atomic.Bool   // something was received since the last ping
	lostAt     time.Time     // zero while connected
	away       time.Duration // the longest time without a connection
	reconnects uint64

	// The sending side, guarded by writes.
	down     bool          // cannot write: the connection broke and there is no new one yet
	to       *conversation // nil: only receives
	next     uint32
	seqBase  uint64 // client_seq of message n is seqBase+n
	inFlight []time.Time
	waiting  int // messages without a receipt
	stopped  bool
	sent     uint32 // highest number that was written to this connection, or acknowledged before
	written  uint32 // highest number that was ever written
	acked    numberSet
	ackedTo  uint32 // all numbers up to this one are acknowledged
	lastSeq  uint64
	retryAt  time.Time // when refused messages are sent again; zero: none
	resent   uint64
	// repeatedTo is the highest number that was sent more than once.
	repeatedTo uint32

	ack, delivery histogram
	violations    violations
	hints         uint64        // that named groups
	presences     atomic.Uint64 // of watched users
}

// violations found by one client.
type violations struct{ duplicated, repeated, reordered, gaps, damaged, syncs uint64 }

// run reads until the connection ends.
func (c *client) run() error {
	for {
		p, err := c.sock.next()
		if err != nil {
			return err
		}
		c.active.Store(true)
		if err := c.handleFrame(p); err != nil {
			return err
		}
	}
}

// handleFrame handles one ServerFrame.
func (c *client) handleFrame(p []byte) error {
	receipts := 0
	var request uint64
	cur := cursor{b: p}
	for {
		field, v, b, ok := cur.next()
		if !ok {
			break
		}
		var err error
		switch field {
		case 1:
			request = v
		case 3:
			if receipts == 0 {
				c.writes.Lock()
			}
			receipts++
			err = c.receipt(b)
		case 4:
			if receipts > 0 { // before the other fields, because the rest of the frame may be long
				c.refill()
				c.writes.Unlock()
				receipts = 0
			}
			err = c.event(b, false)
		case 5:
			err = c.pulled(request, b)
		case 7:
			if request == syncPing {
				err = c.catchUp()
			}
		case 9:
			c.presences.Add(1)
		case 10:
			err = c.hint(b)
		case 12:
			err = c.synced(b)
		case 6, 11:
			err = serverError(p)
		}
		if err != nil {
			if receipts > 0 {
				c.writes.Unlock()
			}
			return err
		}
	}
	if receipts > 0 {
		c.refill()
		c.writes.Unlock()
	}
	if cur.bad {
		return errWire
	}
	if c.load.config.whole {
		for _, s := range c.conversations {
			if s.fresh > 0 {
				s.conversation.countDelivery(s.fresh)
				s.fresh = 0
			}
		}
	}
	if c.position > c.unacked+1000 {
		return c.acknowledge()
	}
	return nil
}

func serverError(p []byte) error {
	var f gatewayv1.ServerFrame
	if err := proto.Unmarshal(p, &f); err != nil {
		return err
	}
	if f.Error != nil {
		return fmt.Errorf("the server returned the error %s: %s", f.Error.Reason, f.Error.Message)
	}
	err := fmt.Errorf("the server closed the session: %d %s", f.Bye.GetCode(), f.Bye.GetReason())
	if f.Bye.GetCode() >= stayAway {
		return err
	}
	return &lostError{cause: err, retry: time.Duration(f.Bye.GetRetryMs()) * time.Millisecond}
}

// event handles one event of the stream, pushed or synced.
func (c *client) event(b []byte, synced bool) error {
	seq, prev, body, err := fields(b, 2, 3, 4)
	if err != nil {
		return err
	}
	if seq != 0 {
		switch {
		case seq <= c.position:
			return nil // a sync delivered it first
		case !synced && c.syncing:
			return c.bufferEvent(b)
		case !synced && prev != c.position:
			return c.sync()
		}
		c.position = seq
	}
	if body == nil {
		return nil
	}
	return c.message(body, seq == 0)
}

// message checks a message of a conversation.
func (c *client) message(b []byte, large bool) error {
	conversation, seq, content, err := fields(b, 1, 2, 9)
	if err != nil {
		return err
	}
	s := c.conversations[conversation]
	if s == nil || seq <= s.conversation.base {
		return nil // older than the load
	}
	if s.known != nil {
		if s.known.takePush(seq) && len(content) > 1 {
			c.timePush(content)
		}
		return nil
	}
	switch {
	case seq <= s.last:
		if !large { // pushed messages of large groups may also be in a pulled page
			c.violations.repeated++
		}
		return nil
	case seq != s.last+1 && large:
		return c.pull(s)
	case seq != s.last+1:
		c.violations.gaps++
	}
	s.last = seq
	if len(content) == 0 || content[0] != 1<<3|2 {
		return nil // a control entry
	}
	n, k := binary.Uvarint(content[1:])
	if k <= 0 || uint64(len(content)-1-k) != n {
		return errWire
	}
	sender, number, ns, ok := c.load.corpus.parse(content[1+k:])
	if !ok {
		c.violations.damaged++
		return nil
	}
	g := s.from[sender]
	if g == nil {
		g = &numberSet{}
		s.from[sender] = g
	}
	switch fresh, next := g.add(number); {
	case !fresh: // stored twice, at different seqs
		c.violations.duplicated++
		return nil
	case !next:
		c.violations.reordered++
	}
	if sender == c.number {
		c.own.Add(1)
	} else {
		c.delivered.Add(1)
		s.fresh++
		c.delivery.add(time.Duration(time.Now().UnixNano() - ns))
	}
	return nil
}

// timePush measures the delivery of a message of a group that is not shown.
func (c *client) timePush(content []byte) {
	if n, k := binary.Uvarint(content[1:]); k > 0 && n == uint64(len(content)-1-k) {
		if _, _, ns, ok := c.load.corpus.parse(content[1+k:]); ok {
			c.delivery.add(time.Duration(time.Now().UnixNano() - ns))
		}
	}
}

// acknowledge sends the device's position to the server.
func (c *client) acknowledge() error {
	c.unacked = c.position
	p := binary.AppendUvarint([]byte{2 << 3}, c.position)
	c.writes.Lock()
	defer c.writes.Unlock()
	c.write(append([]byte{4<<3 | 2, byte(len(p))}, p...))
	return nil
}
