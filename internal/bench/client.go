package bench

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// room is a conversation under load.
type room struct {
	id    uint64
	base  uint64 // its last seq before the load
	large bool
	acked atomic.Uint64

	// With --whole: the one who sends, how many connections listen, and what they have got together.
	sender    *client
	listeners atomic.Int64
	got       atomic.Uint64
}

// whole counts deliveries, and lets the sender go on for each message that has come to all.
func (r *room) whole(more uint64) error {
	k := uint64(r.listeners.Load())
	now := r.got.Add(more)
	done := now/k - (now-more)/k
	if done == 0 {
		return nil
	}
	r.sender.writes.Lock()
	defer r.sender.writes.Unlock()
	if r.sender.stopped {
		return nil
	}
	return r.sender.send(int(done), time.Time{})
}

// seen is what a client has of a conversation.
type seen struct {
	room  *room
	last  uint64 // seq
	fresh uint64 // messages of others in this frame
	from  map[uint32]*got
}

// got is what came of one sender: message n is bit n.
type got struct {
	highest uint32
	bits    []uint64
}

// add tells whether a message is new, and whether it is the next.
func (g *got) add(n uint32) (fresh, next bool) {
	for int(n/64) >= len(g.bits) {
		g.bits = append(g.bits, 0)
	}
	bit := uint64(1) << (n % 64)
	fresh, next = g.bits[n/64]&bit == 0, n == g.highest+1
	g.bits[n/64] |= bit
	g.highest = max(g.highest, n)
	return fresh, next
}

// missing of the messages 1 to n.
func (g *got) missing(n uint32) (count uint64) {
	for i := uint32(1); i <= n; i++ {
		if g == nil || int(i/64) >= len(g.bits) || g.bits[i/64]>>(i%64)&1 == 0 {
			count++
		}
	}
	return count
}

// client is one connection. All is of its reading goroutine, but for what is said.
type client struct {
	load   *load
	sock   *socket
	number uint32 // as sender
	door   int    // of the deployment's
	user   *user
	writes sync.Mutex // guards writing on sock, and all of the sending side
	rooms  map[uint64]*seen

	position  uint64 // of the stream
	syncing   bool
	pulling   map[uint64]bool // large conversations whose history is asked for
	frame     []byte
	unacked   uint64 // position of the last Ack
	delivered atomic.Uint64

	// The sending side, under writes.
	to       *room // nil: only receives
	next     uint32
	seqBase  uint64 // client_seq of message n is seqBase+n
	inFlight []time.Time
	waiting  int
	stopped  bool
	acked    uint32 // highest number that is acknowledged
	lastSeq  uint64

	ack, delivery histogram
	faults        faults
}

// faults found by one client.
type faults struct{ duplicated, repeated, reordered, gaps, damaged, syncs uint64 }

// run reads until the connection ends.
func (c *client) run() error {
	for {
		p, err := c.sock.next()
		if err != nil {
			return err
		}
		if err := c.take(p); err != nil {
			return err
		}
	}
}

// take handles one ServerFrame.
func (c *client) take(p []byte) error {
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
			if receipts > 0 { // in the order of the fields the rest of the frame may be long
				err = c.refill()
				c.writes.Unlock()
				receipts = 0
			}
			if err == nil {
				err = c.event(b, false)
			}
		case 5:
			err = c.pulled(request, b)
		case 7:
			if request == nudge {
				err = c.catchUp()
			}
		case 10:
			err = c.sync()
		case 12:
			err = c.synced(b)
		case 6, 11:
			err = serverSays(p)
		}
		if err != nil {
			if receipts > 0 {
				c.writes.Unlock()
			}
			return err
		}
	}
	if receipts > 0 {
		err := c.refill()
		c.writes.Unlock()
		if err != nil {
			return err
		}
	}
	if cur.bad {
		return errWire
	}
	if c.load.config.whole {
		for _, s := range c.rooms {
			if s.fresh > 0 {
				if err := s.room.whole(s.fresh); err != nil {
					return err
				}
				s.fresh = 0
			}
		}
	}
	if c.position > c.unacked+1000 {
		return c.acknowledge()
	}
	return nil
}

func serverSays(p []byte) error {
	var f gatewayv1.ServerFrame
	if err := proto.Unmarshal(p, &f); err != nil {
		return err
	}
	if f.Error != nil {
		return fmt.Errorf("the server answered %s: %s", f.Error.Reason, f.Error.Message)
	}
	return fmt.Errorf("the server says goodbye: %d %s", f.Bye.GetCode(), f.Bye.GetReason())
}

// receipt takes one answer to a send. The caller holds writes.
func (c *client) receipt(b []byte) error {
	var number, seq uint64
	failed := []byte(nil)
	cur := cursor{b: b}
	for {
		field, v, p, ok := cur.next()
		if !ok {
			break
		}
		switch field {
		case 2:
			number = v
		case 5:
			seq = v
		case 9:
			failed = p
		}
	}
	n := number - c.seqBase
	if n == 0 || n > uint64(c.next) {
		return fmt.Errorf("a receipt for a message that was not sent: %d", number)
	}
	c.waiting--
	if failed != nil {
		var e gatewayv1.Error
		if err := proto.Unmarshal(failed, &e); err != nil {
			return err
		}
		return fmt.Errorf("a send was refused: %s: %s", e.Reason, e.Message)
	}
	c.ack.add(time.Since(c.inFlight[n%uint64(len(c.inFlight))]))
	if uint32(n) <= c.acked || seq <= c.lastSeq {
		c.faults.reordered++
	}
	c.acked, c.lastSeq = uint32(n), seq
	c.to.acked.Add(1)
	return nil
}

// refill sends as many messages as the window has room for. The caller holds writes.
func (c *client) refill() error {
	if c.to == nil || c.stopped || c.load.config.rate > 0 || c.load.config.whole {
		return nil
	}
	return c.send(c.load.config.window-c.waiting, time.Time{})
}

// send sends messages, in one frame. The caller holds writes. due is when they should have left; zero is now.
func (c *client) send(count int, due time.Time) error {
	if count <= 0 {
		return nil
	}
	now := due
	if due.IsZero() {
		now = time.Now()
	}
	ns := now.UnixNano()
	b := c.frame[:0]
	var one, text []byte
	for range count {
		c.next++
		c.inFlight[uint64(c.next)%uint64(len(c.inFlight))] = now
		text = c.load.corpus.appendText(text[:0], c.number, c.next, ns)
		one = append(one[:0], 1<<3)
		one = binary.AppendUvarint(one, c.to.id)
		one = append(one, 2<<3)
		one = binary.AppendUvarint(one, c.seqBase+uint64(c.next))
		one = append(one, 4<<3|2)
		one = binary.AppendUvarint(one, uint64(1+uvarintLen(len(text))+len(text)))
		one = append(one, 1<<3|2)
		one = binary.AppendUvarint(one, uint64(len(text)))
		one = append(one, text...)
		b = append(b, 3<<3|2)
		b = binary.AppendUvarint(b, uint64(len(one)))
		b = append(b, one...)
	}
	c.frame = b
	c.waiting += count
	return c.sock.write(b)
}

func uvarintLen(n int) int {
	k := 1
	for n >= 0x80 {
		n >>= 7
		k++
	}
	return k
}

// event takes one event of the stream, pushed or synced.
func (c *client) event(b []byte, synced bool) error {
	var seq, prev uint64
	var body []byte
	cur := cursor{b: b}
	for {
		field, v, p, ok := cur.next()
		if !ok {
			break
		}
		switch field {
		case 2:
			seq = v
		case 3:
			prev = v
		case 4:
			body = p
		}
	}
	if cur.bad {
		return errWire
	}
	if seq != 0 {
		switch {
		case seq <= c.position:
			return nil // a sync was faster
		case !synced && c.syncing:
			return nil // it comes with the sync
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
	var conversation, seq uint64
	var content []byte
	cur := cursor{b: b}
	for {
		field, v, p, ok := cur.next()
		if !ok {
			break
		}
		switch field {
		case 1:
			conversation = v
		case 2:
			seq = v
		case 9:
			content = p
		}
	}
	if cur.bad {
		return errWire
	}
	s := c.rooms[conversation]
	if s == nil || seq <= s.room.base {
		return nil // from before the load
	}
	switch {
	case seq <= s.last:
		if !large { // what is pushed may meet what was pulled
			c.faults.repeated++
		}
		return nil
	case seq != s.last+1 && large:
		return c.pull(s)
	case seq != s.last+1:
		c.faults.gaps++
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
		c.faults.damaged++
		return nil
	}
	g := s.from[sender]
	if g == nil {
		g = &got{}
		s.from[sender] = g
	}
	switch fresh, next := g.add(number); {
	case !fresh: // stored twice, each time in a place of its own
		c.faults.duplicated++
		return nil
	case !next:
		c.faults.reordered++
	}
	if sender != c.number {
		c.delivered.Add(1)
		s.fresh++
		c.delivery.add(time.Duration(time.Now().UnixNano() - ns))
	}
	return nil
}

// acknowledge tells the server how far this device has come.
func (c *client) acknowledge() error {
	c.unacked = c.position
	p := binary.AppendUvarint([]byte{2 << 3}, c.position)
	c.writes.Lock()
	defer c.writes.Unlock()
	return c.sock.write(append([]byte{4<<3 | 2, byte(len(p))}, p...))
}
