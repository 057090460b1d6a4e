package gateway

import (
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// keeping keeps all drafts, as chat does until they are stored.
type keeping struct {
	Chat
	park bool // each waits for something else than the log

	mu     sync.Mutex // guards the fields below
	drafts []*message.Draft
	order  map[*conn][]uint64 // the ClientSeqs of each connection
}

func (k *keeping) Submit(d *message.Draft) {
	if k.park {
		d.Park()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drafts = append(k.drafts, d)
	c := d.Context.(*conn)
	k.order[c] = append(k.order[c], d.ClientSeq)
}

// take removes and returns the drafts that are kept.
func (k *keeping) take() []*message.Draft {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := k.drafts
	k.drafts = nil
	return list
}

// sendsFrom returns a frame with messages from a number on.
func sendsFrom(t testing.TB, first, n int) []byte {
	f := &gatewayv1.ClientFrame{}
	for i := range n {
		f.Sends = append(f.Sends, &gatewayv1.Send{Conversation: 5, ClientSeq: uint64(first + i), Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: string(make([]byte, 150))}}})
	}
	p, err := proto.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return clientFrame(opBinary, p)
}

// A user with fifty connections that send without end has as much in flight as the window of one user, and one more frame. All is sent in the end, each connection's in
// its order, and the connections have turns.
func TestFloodOfOneUserHasOneWindow(t *testing.T) {
	first, _ := bench(t)
	s := first.server
	chat := &keeping{Chat: s.deps.Chat, order: map[*conn][]uint64{}}
	s.deps.Chat = chat
	const conns, frames, perFrame = 50, 20, 10
	most := int64(userInFlight + perFrame*(200+sendOverhead))
	var all []*conn
	for range conns {
		c := connOf(s, 7)
		all = append(all, c)
		var input []byte
		for i := range frames {
			input = append(input, sendsFrom(t, 1+i*perFrame, perFrame)...)
		}
		c.read(input)
	}
	if n := s.inFlight.Load(); n > most || n < userInFlight {
		t.Fatalf("messages of %d bytes are in flight, want %d to %d", n, userInFlight, most)
	}
	other := connOf(s, 8)
	if other.read(sendsFrom(t, 1, 3)); len(chat.order[other]) != 3 || other.reads != readOn {
		t.Errorf("of another user, %d of 3 messages were submitted, and reading is in state %v", len(chat.order[other]), other.reads)
	}
	most += other.inFlightBytes.Load() + 3*sendOverhead
	served := map[*conn]bool{}
	for rounds := 0; ; rounds++ {
		list := chat.take()
		if len(list) == 0 {
			break
		}
		for _, d := range list {
			if c := d.Context.(*conn); rounds < 2*conns && c != other {
				served[c] = true
			}
			onStored(d)
			if n := s.inFlight.Load(); n > most {
				t.Fatalf("messages of %d bytes are in flight, more than %d", n, most)
			}
		}
		s.serving.Wait()
		for _, c := range all { // what was written lets reading go on
			c.mu.Lock()
			c.takeOutput()
			c.resumeReading()
			c.mu.Unlock()
		}
	}
	if len(served) != conns {
		t.Errorf("%d of %d connections had a turn", len(served), conns)
	}
	for i, c := range all {
		list := chat.order[c]
		for n, seq := range list {
			if seq != uint64(n+1) {
				t.Fatalf("connection %d: message %d came as number %d", i, seq, n+1)
			}
		}
		if len(list) != frames*perFrame || c.reads != readOn {
			t.Errorf("connection %d: %d of %d messages were submitted, and reading is in state %v", i, len(list), frames*perFrame, c.reads)
		}
		c.advance(stateClosed)
		c.onClosed()
	}
	other.advance(stateClosed)
	if other.onClosed(); countSenders(s) != 0 || s.inFlight.Load() != 0 {
		t.Errorf("after all connections: %d users are kept, and messages of %d bytes are in flight", countSenders(s), s.inFlight.Load())
	}
}

// Whoever floods and connects again has what was in flight before in the window.
func TestWindowOfUserSurvivesConnections(t *testing.T) {
	c, _ := bench(t)
	s := c.server
	chat := &keeping{Chat: s.deps.Chat, order: map[*conn][]uint64{}}
	s.deps.Chat = chat
	for n := 1; c.reads == readOn; n += 100 {
		c.read(sendsFrom(t, n, 100))
	}
	before := s.inFlight.Load()
	c.advance(stateClosed)
	c.onClosed()
	again := connOf(s, 7)
	again.read(append(sendsFrom(t, 1, 1), sendsFrom(t, 2, 1)...))
	if len(chat.order[again]) > 1 {
		t.Errorf("%d messages of a second connection were submitted while those of the first, of %d bytes, are in flight", len(chat.order[again]), before)
	}
	for _, d := range chat.take() {
		onStored(d)
	}
	s.serving.Wait()
	if len(chat.order[again]) != 2 {
		t.Errorf("%d of 2 messages were submitted after those before were stored", len(chat.order[again]))
	}
}

// Messages that wait for a webhook, say, hold up nobody: not the user's messages that need it not, nor those of others. What is beyond their budget counts as in flight.
func TestParkedSendsHaveTheirOwnBudget(t *testing.T) {
	c, _ := bench(t)
	s := c.server
	chat := &keeping{Chat: s.deps.Chat, park: true, order: map[*conn][]uint64{}}
	s.deps.Chat = chat
	c.read(sendsFrom(t, 1, 500))
	if c.read(sendsFrom(t, 501, 1)); c.reads != readOn || s.inFlight.Load() != 0 || len(chat.order[c]) != 501 {
		t.Fatalf("with 501 messages that wait, %d were submitted, %d bytes are in flight, and reading is in state %v", len(chat.order[c]), s.inFlight.Load(), c.reads)
	}
	for n := 502; c.reads == readOn && n < 20_000; n += 100 {
		c.read(sendsFrom(t, n, 100))
	}
	if c.reads == readOn || s.parked.Used() > maxParked/4 {
		t.Errorf("a user's messages of %d bytes wait, and reading is in state %v", s.parked.Used(), c.reads)
	}
	other := connOf(s, 8)
	other.read(sendsFrom(t, 1, 1))
	if len(chat.order[other]) != 1 || other.reads != readOn {
		t.Error("a message of another user waits")
	}
	list := chat.take()
	list[0].Unpark() // it goes to the log
	if want := int64(list[0].Cost + sendOverhead); s.senders.find(7).weight.Load() < want {
		t.Errorf("messages of %d bytes are in flight, want %d at least", s.senders.find(7).weight.Load(), want)
	}
	for len(list) > 0 {
		for _, d := range list {
			onStored(d)
		}
		s.serving.Wait()
		list = chat.take()
	}
	if s.parked.Used() != 0 || s.inFlight.Load() != 0 {
		t.Errorf("after all receipts: messages of %d bytes wait, and of %d are in flight", s.parked.Used(), s.inFlight.Load())
	}
}

func countSenders(s *Server) (n int) {
	s.senders.of.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}

// TestClosedConnectionsLeaveTheLine: a client that connects, sends and disconnects again and again while its window is full leaves nothing that waits.
func TestClosedConnectionsLeaveTheLine(t *testing.T) {
	c, _ := bench(t)
	s := c.server
	s.deps.Chat = &keeping{Chat: s.deps.Chat, order: map[*conn][]uint64{}}
	c.read(sendsFrom(t, 1, 500))
	u := s.senders.find(c.caller.User)
	for i := range 3 {
		other := connOf(s, c.caller.User)
		if other.read(sendsFrom(t, 1, 1)); len(u.waiting) != 1 || other.reads != readBacklogged {
			t.Fatalf("connection %d: %d connections wait for the window, and reading is in state %v", i, len(u.waiting), other.reads)
		}
		other.advance(stateClosed)
		if other.onClosed(); len(u.waiting) != 0 {
			t.Fatalf("connection %d is closed, and %d connections wait", i, len(u.waiting))
		}
	}
}

// TestReadingGoesOnWhenMessagesAreParked: messages that begin to wait for something else leave the window, and with it what made reading stop.
func TestReadingGoesOnWhenMessagesAreParked(t *testing.T) {
	c, _ := bench(t)
	s := c.server
	chat := &keeping{Chat: s.deps.Chat, order: map[*conn][]uint64{}}
	s.deps.Chat = chat
	for n := 1; c.reads == readOn && n < 20_000; n += 100 {
		c.read(sendsFrom(t, n, 100))
	}
	list := chat.take()
	if c.reads == readOn || c.queued {
		t.Fatalf("with %d messages in flight, reading is in state %v", len(list), c.reads)
	}
	c.reads = readPaused
	for _, d := range list {
		d.Park()
	}
	if !c.queued || s.inFlight.Load() != 0 {
		t.Errorf("nothing resumes reading; messages of %d bytes are in flight", s.inFlight.Load())
	}
}
