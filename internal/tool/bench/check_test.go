package bench

import (
	"bytes"
	"net"
	"testing"
	"testing/synctest"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// sink is a connection that records writes.
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
	t            *testing.T
	out          *sink // frames written by the receiver
	conversation *conversation
}

func newStage(t *testing.T, large bool) *stage {
	t.Helper()
	texts, _, err := newCorpus("", 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := &conversation{id: 77, base: 1, large: large}
	s := &stage{&load{deploy: &deployment{}, config: chatConfig{window: 4, pairs: 1}, corpus: texts, conversations: []*conversation{r}}, t, &sink{}, r}
	for i := range 2 {
		c := &client{load: s.load, sock: &socket{net: &sink{}}, number: uint32(i), conversations: map[uint64]*receivedConversation{}, pulling: map[uint64]bool{}, inFlight: make([]time.Time, 64)}
		c.conversations[r.id] = &receivedConversation{conversation: r, last: r.base, from: map[uint32]*numberSet{}}
		s.clients = append(s.clients, c)
	}
	s.clients[0].to, s.clients[1].sock = r, &socket{net: s.out}
	return s
}

// message returns message n of the sender at a seq.
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
	if err := s.clients[to].handleFrame(b); err != nil {
		s.t.Fatal(err)
	}
}

// stored acknowledges n messages to the sender, and delivers them to the sender.
func (s *stage) stored(n uint32) {
	s.t.Helper()
	s.clients[0].writes.Lock()
	s.clients[0].send(int(n), time.Time{})
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

// TestReceiverFindsFaults delivers correct and faulty sequences of three acknowledged messages to the receiver.
func TestReceiverFindsFaults(t *testing.T) {
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
		{"the middle one is lost", []step{{2, 1}, {4, 3}}, result{Lost: 1, Gaps: 1, Reordered: 1}},
		{"doubled place", []step{{2, 1}, {2, 1}, {3, 2}, {4, 3}}, result{Repeated: 1}},
		{"stored twice", []step{{2, 1}, {3, 1}, {4, 2}, {5, 3}}, result{Duplicated: 1}},
		{"stored in a different order", []step{{2, 2}, {3, 1}, {4, 3}}, result{Reordered: 2}},
		{"delivered in a different order", []step{{3, 2}, {2, 1}, {4, 3}}, result{Lost: 1, Gaps: 1, Reordered: 1, Repeated: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t, false)
			s.stored(3)
			for i, m := range tc.steps {
				s.give(1, s.event(uint64(i+1), s.message(m.seq, m.n)))
			}
			r := s.result(time.Second, 3, 3)
			if r.Lost != tc.want.Lost || r.Duplicated != tc.want.Duplicated || r.Repeated != tc.want.Repeated || r.Reordered != tc.want.Reordered || r.Gaps != tc.want.Gaps || r.Damaged != 0 {
				t.Errorf("got result %+v, want %+v", r, tc.want)
			}
			if want := tc.want.Lost+tc.want.Duplicated+tc.want.Repeated+tc.want.Reordered+tc.want.Gaps == 0; r.passed() != want {
				t.Errorf("passed: got %v", r.passed())
			}
		})
	}
}

// TestWaitsForOwnMessages: a load ends when senders have their messages in their own streams as well, because those are checked too.
func TestWaitsForOwnMessages(t *testing.T) {
	s := newStage(t, false)
	c := s.clients[0]
	c.writes.Lock()
	c.send(1, time.Time{})
	c.stopped = true
	c.writes.Unlock()
	s.give(0, &gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 77, ClientSeq: 1, Seq: 2}}})
	s.give(1, s.event(1, s.message(2, 1)))
	if s.awaitDeliveries(t.Context(), time.Millisecond) {
		t.Error("the load has ended before the sender got its message")
	}
	s.give(0, s.event(1, s.message(2, 1)))
	if !s.awaitDeliveries(t.Context(), time.Minute) {
		t.Error("the load has not ended after all deliveries")
	}
}

// TestChangedTextsAreFound: a text differs from the one that was sent.
func TestChangedTextsAreFound(t *testing.T) {
	s := newStage(t, false)
	s.stored(1)
	m := s.message(2, 1)
	m.Content = &chatv1.Content{Kind: &chatv1.Content_Text{Text: m.Content.GetText() + "!"}}
	s.give(1, s.event(1, m))
	if r := s.result(time.Second, 1, 1); r.Damaged != 1 || r.Lost != 1 || r.passed() {
		t.Errorf("got result %+v, want one damaged text", r)
	}
}

// A temporarily refused message, and all later ones, are sent again with the same numbers and texts, and count once; new messages follow
// them.
func TestRefusedMessagesAreResent(t *testing.T) {
	s := newStage(t, false)
	c := s.clients[1]
	c.to, c.seqBase = s.conversation, 1000
	c.send(3, time.Time{})
	first := s.asked()[0].Sends
	retry := &gatewayv1.Error{Code: "unavailable", Reason: "busy", RetryMs: 3_600_000}
	s.give(1, &gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 77, ClientSeq: 1001, Seq: 2}, {Conversation: 77, ClientSeq: 1002, Error: retry}, {Conversation: 77, ClientSeq: 1003, Error: retry}}})
	if a := s.asked(); len(a) != 0 {
		t.Fatalf("sent before the retry time: got %v, want nothing", a)
	}
	c.retry(time.Now().Add(2 * time.Hour))
	a := s.asked()
	if len(a) != 1 || len(a[0].Sends) < 3 || !proto.Equal(a[0].Sends[0], first[1]) || !proto.Equal(a[0].Sends[1], first[2]) || a[0].Sends[2].ClientSeq != 1004 || c.resent != 2 {
		t.Fatalf("sent after the retry time: got %v, %d resent", a, c.resent)
	}
	s.give(1, &gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 77, ClientSeq: 1002, Seq: 3}, {Conversation: 77, ClientSeq: 1003, Seq: 4}, {Conversation: 77, ClientSeq: 1003, Seq: 4, Duplicate: true}}})
	if c.acked.count() != 3 || c.ackedTo != 3 || s.conversation.acked.Load() != 3 || c.violations != (violations{}) {
		t.Errorf("got %d acknowledged, all up to %d, violations %+v", c.acked.count(), c.ackedTo, c.violations)
	}
}

// A new connection first sends the messages without a receipt, oldest first and unchanged, then new ones, and syncs from the last
// position.
func TestALostConnectionIsResumed(t *testing.T) {
	s := newStage(t, false)
	c := s.clients[1]
	c.to, c.seqBase = s.conversation, 1000
	c.send(4, time.Time{})
	first := s.asked()[0].Sends
	s.give(1, &gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 77, ClientSeq: 1001, Seq: 2}}})
	s.asked()
	c.position = 7
	c.disconnect()
	c.send(2, time.Time{}) // due without a connection
	if a := s.asked(); len(a) != 0 {
		t.Fatalf("sent without a connection: got %v, want nothing", a)
	}
	if err := c.resume(); err != nil {
		t.Fatal(err)
	}
	a := s.asked()
	if len(a) != 2 || len(a[0].Sends) != 6 || a[1].Sync.GetAfter().GetSeq() != 7 {
		t.Fatalf("sent on the new connection: got %v", a)
	}
	for i, m := range a[0].Sends {
		if m.ClientSeq != uint64(1002+i) || i < 3 && !proto.Equal(m, first[i+1]) {
			t.Errorf("the send %d on the new connection is %v, want the client's seq %d, unchanged", i, m, 1002+i)
		}
	}
	if c.resent != 4 { // and one more, which fits in the window after the first receipt
		t.Errorf("resent: got %d, want 4", c.resent)
	}
}

// No frame exceeds the server's limit, and no more messages are in flight than the server reads.
func TestResendsRespectLimits(t *testing.T) {
	s := newStage(t, false)
	c := s.clients[1]
	c.to, c.inFlight, c.down = s.conversation, make([]time.Time, 1<<16), true
	c.send(5000, time.Time{})
	c.down = false
	c.sendPending()
	next := uint64(1)
	for range 5000 {
		for _, f := range s.asked() {
			if len(f.Sends) > frameSends || proto.Size(f) > frameBytes+1000 {
				t.Fatalf("got a frame of %d messages, %d bytes, above the limit", len(f.Sends), proto.Size(f))
			}
			for _, m := range f.Sends {
				if m.ClientSeq != next {
					t.Fatalf("sent: got number %d, want %d", m.ClientSeq, next)
				}
				next++
			}
		}
		acked := uint64(c.ackedTo) + 1
		if next-acked > maxInFlight {
			t.Fatalf("got %d messages in flight, above the limit", next-acked)
		}
		if acked <= 5000 {
			c.stopped = true
			s.give(1, &gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 77, ClientSeq: acked, Seq: acked + 1}}})
		}
	}
	if next != 5001 || c.acked.count() != 5000 {
		t.Errorf("got %d as the next to send and %d acknowledged, want 5001 and 5000", next, c.acked.count())
	}
}

// Receipts out of order are a violation by the server.
func TestReceiptsOutOfOrder(t *testing.T) {
	s := newStage(t, false)
	s.stored(2)
	s.clients[0].waiting = 1
	s.give(0, &gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 77, ClientSeq: 1, Seq: 9}}})
	if s.clients[0].violations.reordered != 1 {
		t.Errorf("got violations %+v, want one reordering", s.clients[0].violations)
	}
}

// asked returns the frames that the receiver wrote since the last call.
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

// A push whose predecessor is missing makes the client sync once, and the synced events count.
func TestSyncsOverAGap(t *testing.T) {
	s := newStage(t, false)
	s.stored(4)
	s.give(1, s.event(1, s.message(2, 1)))
	s.give(1, s.event(3, s.message(4, 3)))
	s.give(1, s.event(4, s.message(5, 4)))
	if a := s.asked(); len(a) != 1 || a[0].Sync.GetAfter().GetSeq() != 1 {
		t.Fatalf("frames after the gap: got %v, want one sync", a)
	}
	page := &chatv1.SyncResponse{More: true}
	for i := range uint64(2) {
		page.Events = append(page.Events, s.event(i+1, s.message(i+2, uint32(i+1))).Events...)
	}
	s.give(1, &gatewayv1.ServerFrame{Sync: page})
	if a := s.asked(); len(a) != 1 || a[0].Sync.GetAfter().GetSeq() != 2 {
		t.Fatalf("frames after a page with more: got %v, want a sync of the next page", a)
	}
	s.give(1, &gatewayv1.ServerFrame{Sync: &chatv1.SyncResponse{Events: append(s.event(3, s.message(4, 3)).Events, s.event(4, s.message(5, 4)).Events...)}})
	if r := s.result(time.Second, 4, 4); !r.passed() || r.Delivered != 4 || r.Syncs != 2 {
		t.Errorf("got result %+v, want no violation", r)
	}
}

// Pushes of large groups have no position in the stream.
func TestGapsInLargeGroupsPullHistory(t *testing.T) {
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
		t.Fatalf("frames after a gap in a large group: got %v, want a request for its history", a)
	}
	b, err := proto.Marshal(&chatv1.HistoryResponse{Messages: []*chatv1.Message{s.message(3, 2), s.message(4, 3)}})
	if err != nil {
		t.Fatal(err)
	}
	s.give(1, &gatewayv1.ServerFrame{Request: 77, Result: &gatewayv1.Result{Payload: b}})
	if r := s.result(time.Second, 3, 3); !r.passed() || r.Delivered != 3 {
		t.Errorf("got result %+v, want no violation", r)
	}
}

// The answer to the last ping makes a client sync, because a push may have been lost.
func TestLastPongTriggersSync(t *testing.T) {
	for _, large := range []bool{false, true} {
		s := newStage(t, large)
		s.give(1, &gatewayv1.ServerFrame{Pong: &gatewayv1.Pong{TimeMs: 1}})
		if a := s.asked(); len(a) != 0 {
			t.Errorf("frames after an ordinary pong: got %v, want none", a)
		}
		s.give(1, &gatewayv1.ServerFrame{Request: syncPing, Pong: &gatewayv1.Pong{TimeMs: 1}})
		a := s.asked()
		if len(a) == 0 || a[len(a)-1].Sync == nil || large != (a[0].Call != nil) {
			t.Errorf("frames after the last pong, large group %v: got %v", large, a)
		}
	}
}

// The hand-encoded bytes are decoded by the generated code.
func TestHandEncodedSendsDecode(t *testing.T) {
	s := newStage(t, false)
	c := s.clients[1]
	c.to, c.seqBase = s.conversation, 1000
	c.send(3, time.Time{})
	if err := c.acknowledge(); err != nil {
		t.Fatal(err)
	}
	a := s.asked()
	if len(a) != 2 || len(a[0].Sends) != 3 || a[1].Ack == nil {
		t.Fatalf("got frames %v", a)
	}
	for i, m := range a[0].Sends {
		sender, n, _, ok := s.corpus.parse([]byte(m.Content.GetText()))
		if m.Conversation != 77 || m.ClientSeq != uint64(1001+i) || !ok || sender != 1 || n != uint32(i+1) {
			t.Errorf("send %d: got %v", i, m)
		}
	}
}

// Deliveries that are late are waited for, as long as some arrive.
func TestLateDeliveriesAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, false)
		s.conversation.acked.Store(10) // 20 deliveries to two connections
		go func() {
			for range 20 {
				time.Sleep(10 * time.Second) // of the bubble's clock
				s.clients[1].delivered.Add(1)
			}
		}()
		if !s.awaitDeliveries(t.Context(), 15*time.Second) {
			t.Error("deliveries count as missing while they arrive")
		}
		s.conversation.acked.Add(1)
		if began := time.Now(); s.awaitDeliveries(t.Context(), 15*time.Second) || time.Since(began) > 16*time.Second {
			t.Errorf("what does not arrive is waited for, %v", time.Since(began))
		}
	})
}
