package bench

import (
	"bytes"
	"net"
	"testing"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// sink is a connection that takes writes.
type sink struct {
	net.Conn
	bytes.Buffer
}

func (s *sink) Write(b []byte) (int, error) { return s.Buffer.Write(b) }
func (s *sink) Read(b []byte) (int, error)  { return s.Buffer.Read(b) }
func (s *sink) Close() error                { return nil }

// stage is a sender, 0, and a receiver, 1, in one conversation.
type stage struct {
	*load
	t    *testing.T
	out  *sink // what the receiver wrote
	room *room
}

func newStage(t *testing.T, large bool) *stage {
	t.Helper()
	texts, _, err := newCorpus("", 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := &room{id: 77, base: 1, large: large}
	s := &stage{&load{deploy: &deployment{}, config: chatConfig{window: 4, pairs: 1}, corpus: texts, rooms: []*room{r}}, t, &sink{}, r}
	for i := range 2 {
		c := &client{load: s.load, sock: &socket{net: &sink{}}, number: uint32(i), rooms: map[uint64]*seen{}, pulling: map[uint64]bool{}, inFlight: make([]time.Time, 64)}
		c.rooms[r.id] = &seen{room: r, last: r.base, from: map[uint32]*got{}}
		s.clients = append(s.clients, c)
	}
	s.clients[0].to, s.clients[1].sock.net = r, s.out
	return s
}

// message n of the sender at a place in the conversation.
func (s *stage) message(seq uint64, n uint32) *chatv1.Message {
	text := string(s.corpus.appendText(nil, 0, n, time.Now().UnixNano()))
	return &chatv1.Message{Conversation: 77, Seq: seq, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}
}

func (s *stage) give(to int, f *gatewayv1.ServerFrame) {
	s.t.Helper()
	b, err := proto.Marshal(f)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.clients[to].take(b); err != nil {
		s.t.Fatal(err)
	}
}

// stored acknowledges n messages of the sender, and gives it its own.
func (s *stage) stored(n uint32) {
	s.t.Helper()
	s.clients[0].writes.Lock()
	if err := s.clients[0].send(int(n), time.Time{}); err != nil {
		s.t.Fatal(err)
	}
	s.clients[0].stopped = true
	s.clients[0].writes.Unlock()
	for i := range n {
		s.give(0, &gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 77, ClientSeq: uint64(i + 1), Seq: uint64(i + 2)}}})
		s.give(0, s.event(uint64(i+1), s.message(uint64(i+2), i+1)))
	}
}

func (s *stage) event(seq uint64, m *chatv1.Message) *gatewayv1.ServerFrame {
	return &gatewayv1.ServerFrame{Events: []*chatv1.Event{{Seq: seq, Prev: seq - 1, Body: &chatv1.Event_Message{Message: m}}}}
}

// TestFindsFaults gives the receiver histories, good and bad, of three acknowledged messages.
func TestFindsFaults(t *testing.T) {
	type step struct {
		seq uint64
		n   uint32
	}
	for _, tc := range []struct {
		name  string
		steps []step
		want  result
	}{
		{"whole", []step{{2, 1}, {3, 2}, {4, 3}}, result{}},
		{"last lost", []step{{2, 1}, {3, 2}}, result{Lost: 1}},
		{"first lost", []step{{3, 2}, {4, 3}}, result{Lost: 1, Gaps: 1, Reordered: 1}},
		{"one lost between", []step{{2, 1}, {4, 3}}, result{Lost: 1, Gaps: 1, Reordered: 1}},
		{"doubled place", []step{{2, 1}, {2, 1}, {3, 2}, {4, 3}}, result{Repeated: 1}},
		{"stored twice", []step{{2, 1}, {3, 1}, {4, 2}, {5, 3}}, result{Duplicated: 1}},
		{"stored in another order", []step{{2, 2}, {3, 1}, {4, 3}}, result{Reordered: 2}},
		{"delivered in another order", []step{{3, 2}, {2, 1}, {4, 3}}, result{Lost: 1, Gaps: 1, Reordered: 1, Repeated: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t, false)
			s.stored(3)
			for i, m := range tc.steps {
				s.give(1, s.event(uint64(i+1), s.message(m.seq, m.n)))
			}
			r := s.result(time.Second, 3, 3)
			if r.Lost != tc.want.Lost || r.Duplicated != tc.want.Duplicated || r.Repeated != tc.want.Repeated || r.Reordered != tc.want.Reordered || r.Gaps != tc.want.Gaps || r.Damaged != 0 {
				t.Errorf("found %+v", r)
			}
			if want := tc.want.Lost+tc.want.Duplicated+tc.want.Repeated+tc.want.Reordered+tc.want.Gaps == 0; r.sound() != want {
				t.Errorf("sound: %v", r.sound())
			}
		})
	}
}

// TestFindsDamage: a text that is not the one that was sent.
func TestFindsDamage(t *testing.T) {
	s := newStage(t, false)
	s.stored(1)
	m := s.message(2, 1)
	m.Content = &chatv1.Content{Kind: &chatv1.Content_Text{Text: m.Content.GetText() + "!"}}
	s.give(1, s.event(1, m))
	if r := s.result(time.Second, 1, 1); r.Damaged != 1 || r.Lost != 1 || r.sound() {
		t.Errorf("found %+v", r)
	}
}

// TestReceiptsOutOfOrder are a fault of the server's.
func TestReceiptsOutOfOrder(t *testing.T) {
	s := newStage(t, false)
	s.stored(2)
	s.clients[0].waiting = 1
	s.give(0, &gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 77, ClientSeq: 1, Seq: 9}}})
	if s.clients[0].faults.reordered != 1 {
		t.Errorf("found %+v", s.clients[0].faults)
	}
}

// asked gives the frames that the receiver wrote since the last call.
func (s *stage) asked() (list []*gatewayv1.ClientFrame) {
	s.t.Helper()
	in := &socket{in: newReader(s.out)}
	for s.out.Len() > 0 || in.in.Buffered() > 0 {
		p, err := in.nextFrom()
		if err != nil {
			s.t.Fatal(err)
		}
		var f gatewayv1.ClientFrame
		if err := proto.Unmarshal(p, &f); err != nil {
			s.t.Fatal(err)
		}
		list = append(list, &f)
	}
	return list
}

// TestSyncsOverAGap: a push whose predecessor is missing makes the client ask, once, and what the sync gives counts.
func TestSyncsOverAGap(t *testing.T) {
	s := newStage(t, false)
	s.stored(4)
	s.give(1, s.event(1, s.message(2, 1)))
	s.give(1, s.event(3, s.message(4, 3)))
	s.give(1, s.event(4, s.message(5, 4)))
	if a := s.asked(); len(a) != 1 || a[0].Sync.GetAfter().GetSeq() != 1 {
		t.Fatalf("asked %v", a)
	}
	page := &chatv1.SyncResponse{More: true}
	for i := range uint64(2) {
		page.Events = append(page.Events, s.event(i+1, s.message(i+2, uint32(i+1))).Events...)
	}
	s.give(1, &gatewayv1.ServerFrame{Sync: page})
	if a := s.asked(); len(a) != 1 || a[0].Sync.GetAfter().GetSeq() != 2 {
		t.Fatalf("asked for the next page by %v", a)
	}
	s.give(1, &gatewayv1.ServerFrame{Sync: &chatv1.SyncResponse{Events: append(s.event(3, s.message(4, 3)).Events, s.event(4, s.message(5, 4)).Events...)}})
	if r := s.result(time.Second, 4, 4); !r.sound() || r.Delivered != 4 || r.Syncs != 2 {
		t.Errorf("found %+v", r)
	}
}

// TestPullsLargeGroups: their pushes have no place in the stream.
func TestPullsLargeGroups(t *testing.T) {
	s := newStage(t, true)
	s.stored(3)
	push := func(seq uint64, n uint32) {
		s.give(1, &gatewayv1.ServerFrame{Events: []*chatv1.Event{{Body: &chatv1.Event_Message{Message: s.message(seq, n)}}}})
	}
	push(2, 1)
	push(4, 3)
	var h chatv1.HistoryRequest
	a := s.asked()
	if len(a) != 1 || a[0].Call.GetMethod() != historyMethod || proto.Unmarshal(a[0].Call.Payload, &h) != nil || h.After != 2 {
		t.Fatalf("asked %v", a)
	}
	b, err := proto.Marshal(&chatv1.HistoryResponse{Messages: []*chatv1.Message{s.message(3, 2), s.message(4, 3)}})
	if err != nil {
		t.Fatal(err)
	}
	s.give(1, &gatewayv1.ServerFrame{Request: 77, Result: &gatewayv1.Result{Payload: b}})
	if r := s.result(time.Second, 3, 3); !r.sound() || r.Delivered != 3 {
		t.Errorf("found %+v", r)
	}
}

// TestNudge: the answer to the last ping makes a client ask for what a push may have lost.
func TestNudge(t *testing.T) {
	for _, large := range []bool{false, true} {
		s := newStage(t, large)
		s.give(1, &gatewayv1.ServerFrame{Pong: &gatewayv1.Pong{TimeMs: 1}})
		if a := s.asked(); len(a) != 0 {
			t.Errorf("an ordinary pong makes it ask %v", a)
		}
		s.give(1, &gatewayv1.ServerFrame{Request: nudge, Pong: &gatewayv1.Pong{TimeMs: 1}})
		a := s.asked()
		if len(a) == 0 || a[len(a)-1].Sync == nil || large != (a[0].Call != nil) {
			t.Errorf("large %v: it asks %v", large, a)
		}
	}
}

// TestSendsAreWhatTheContractSays: hand-made bytes, read by the generated code.
func TestSendsAreWhatTheContractSays(t *testing.T) {
	s := newStage(t, false)
	c := s.clients[1]
	c.to, c.seqBase = s.room, 1000
	if err := c.send(3, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := c.acknowledge(); err != nil {
		t.Fatal(err)
	}
	a := s.asked()
	if len(a) != 2 || len(a[0].Sends) != 3 || a[1].Ack == nil {
		t.Fatalf("sent %v", a)
	}
	for i, m := range a[0].Sends {
		sender, n, _, ok := s.corpus.parse([]byte(m.Content.GetText()))
		if m.Conversation != 77 || m.ClientSeq != uint64(1001+i) || !ok || sender != 1 || n != uint32(i+1) {
			t.Errorf("send %d is %v", i, m)
		}
	}
}
