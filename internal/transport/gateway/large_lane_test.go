package gateway

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// following returns connections of users from 20 on who follow conversation 5. Every second one speaks JSON.
func following(s *Server, n int) (list []*conn) {
	for i := range n {
		c := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: id.User(20 + i), Device: 1}, state: stateReady, json: i%2 == 1}
		c.register()
		s.hub.follow(c, 5, 1)
		list = append(list, c)
	}
	return list
}

// largeEntry5 is the delivery of a message of conversation 5.
func largeEntry5(t *testing.T, s *Server, seq uint64, size int) []byte {
	t.Helper()
	b, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Text{Text: string(bytes.Repeat([]byte("x"), size))}})
	if err != nil {
		t.Fatal(err)
	}
	e := message.Entry{ID: id.MessageOf(s.deps.Clock.Now().UnixMilli(), 0, 0, 5), Sender: 1, Content: b}
	return (&message.Delivery{Kind: message.DeliverEntry, Large: true, Conversation: 5, Seq: seq, Counted: seq, Body: e.Append(nil)}).Append(nil)
}

func changeOf(kind message.DeliveryKind, u id.User, seq uint64) []byte {
	return (&message.Delivery{Kind: kind, Conversation: 5, Seq: seq, Targets: []message.Target{{User: u}}}).Append(nil)
}

// Entries that follow each other are pushed together: in order, each once, also if they are more than fit into a batch. What changes the followers
// between them is between the pushes.
func TestEntriesArePushedTogetherInOrder(t *testing.T) {
	t.Parallel()
	first, _ := bench(t)
	s := first.server
	list := following(s, 4)
	joining := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: 90, Device: 1}, state: stateReady}
	joining.register()
	var data []byte
	for seq := uint64(2); seq < 22; seq++ {
		data = append(data, largeEntry5(t, s, seq, 3000)...)
		switch seq {
		case 9:
			data = append(data, changeOf(message.DeliverUnfollow, list[0].caller.User, seq)...)
		case 13:
			data = append(data, changeOf(message.DeliverFollow, 90, seq)...)
		}
	}
	d := deliverer{server: s}
	d.deliver(data)
	between := func(from, to uint64) (seqs []uint64) {
		for ; from <= to; from++ {
			seqs = append(seqs, from)
		}
		return seqs
	}
	for i, c := range append(list, joining) {
		want := between(2, 21)
		switch i {
		case 0:
			want = between(2, 9)
		case 4:
			want = between(14, 21)
		}
		if pushed, hinted := received(t, c, 5); !slices.Equal(pushed, want) || len(hinted) > 0 {
			t.Errorf("connection %d was pushed %v and hinted %v, want %v", i, pushed, hinted, want)
		}
	}
	pushes := int64(4*8 + 3*4 + 4*8)
	if got := s.stats.LargePushed.Load(); got != pushes || s.stats.Events.Load() != pushes {
		t.Errorf("%d pushes and %d events are counted, want %d", got, s.stats.Events.Load(), pushes)
	}
}

// Who ends to follow while a batch is pushed to many others is not pushed it, and neither does a change of the hub wait until all have it.
func TestAFollowerMayLeaveDuringAPush(t *testing.T) {
	t.Parallel()
	first, _ := bench(t)
	s := first.server
	list := following(s, batchSlice+2)
	last := list[len(list)-1]
	yields := 0
	d := deliverer{server: s, yield: func() {
		yields++
		s.hub.unfollow(last, 5)
	}}
	d.deliver(append(largeEntry5(t, s, 2, 1), largeEntry5(t, s, 3, 1)...))
	if yields != 1 {
		t.Errorf("others went on %d times, want once", yields)
	}
	if pushed, _ := received(t, last, 5); pushed != nil {
		t.Errorf("who follows no more was pushed %v", pushed)
	}
	if pushed, _ := received(t, list[batchSlice], 5); !slices.Equal(pushed, []uint64{2, 3}) {
		t.Errorf("a follower was pushed %v, want 2 and 3", pushed)
	}
}

// The rows say that a user is a member while older entries still wait for their push, among them those from before the user joined. They are not pushed.
func TestWhatIsOlderThanTheRowsIsNotPushed(t *testing.T) {
	t.Parallel()
	for name, follow := range map[string]func(s *Server, c *conn, r *fakeServices) error{
		"greeted": func(_ *Server, c *conn, _ *fakeServices) error { return c.followAll(t.Context(), []id.Conversation{5}) },
		"repaired": func(s *Server, c *conn, r *fakeServices) error {
			of := snapshot{c, c.followChanges, s.reconciler.generation.Add(1)}
			large := map[id.Conversation]bool{5: true}
			missing, _ := of.differs(large)
			tails, err := s.tailsOf(t.Context(), missing)
			s.repairFollows(of, large, tails)
			return err
		},
	} {
		for _, json := range []bool{false, true} {
			first, r := bench(t)
			s := first.server
			member := following(s, 1)[0]
			r.tail.Store(12)
			c := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: 90, Device: 1}, state: stateReady, json: json}
			c.register()
			if err := follow(s, c, r); err != nil {
				t.Fatal(err)
			}
			sent(t, c) // a hint to sync, if its follow was repaired
			d := deliverer{server: s}
			for _, seqs := range [][]uint64{{8, 9}, {10, 11, 12, 13, 14}, {15}} {
				var data []byte
				for _, seq := range seqs {
					data = append(data, largeEntry5(t, s, seq, 1)...)
				}
				d.deliver(data)
			}
			if pushed, _ := received(t, c, 5); !slices.Equal(pushed, []uint64{13, 14, 15}) {
				t.Errorf("%s, in JSON %v: the member was pushed %v, want 13 to 15", name, json, pushed)
			}
			if pushed, _ := received(t, member, 5); len(pushed) != 8 {
				t.Errorf("another member was pushed %v, want 8 messages", pushed)
			}
		}
	}
}

// What is for one user does not wait for what is for many, and that keeps its order.
func TestPushesToManyDoNotDelayWhatIsForOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := bench(t)
		s := c.server
		c.register()
		follower := following(s, 1)[0]
		large := newLargeLane(s)
		d := &deliverer{server: s, large: large}
		data := slices.Concat(largeEntry5(t, s, 2, 1), changeOf(message.DeliverUnfollow, follower.caller.User, 2), largeEntry5(t, s, 3, 1))
		data = (&message.Delivery{Kind: message.DeliverEvent, Body: []byte{0x22, 0}, Targets: []message.Target{{User: 7, At: 11, Prev: 10}}}).Append(data)
		d.deliver(data)
		if list := sent(t, c); len(list) != 1 || len(list[0].Events) != 1 || list[0].Events[0].Seq != 11 {
			t.Errorf("while nothing is pushed to many, one user got %v, want event 11", list)
		}
		if pushed, _ := received(t, follower, 5); pushed != nil {
			t.Errorf("it was pushed %v before the lane runs", pushed)
		}
		ctx, cancel := context.WithCancel(context.Background())
		go large.run(ctx)
		synctest.Wait()
		if pushed, _ := received(t, follower, 5); !slices.Equal(pushed, []uint64{2}) {
			t.Errorf("who followed until 2 was pushed %v", pushed)
		}
		cancel()
	})
}

// The event of a removal ends what an older notice, which waits behind pushes to many, begins: the removal's own notice may be lost.
func TestARemovalEndsFollowsThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := bench(t)
		s := c.server
		other := following(s, 1)[0]
		removed := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: 90, Device: 1}, state: stateReady}
		removed.register()
		raw := must(proto.Marshal(&chatv1.FollowChange{Conversation: 5}))
		removal := message.Delivery{Kind: message.DeliverEvent, Body: message.AppendBody(nil, message.FieldFollow, raw), Targets: []message.Target{{User: 90, At: 1<<32 + 1}}}
		large := newLargeLane(s)
		d := &deliverer{server: s, large: large}
		d.deliver(slices.Concat(changeOf(message.DeliverFollow, 90, 2), removal.Append(nil), largeEntry5(t, s, 3, 1)))
		ctx, cancel := context.WithCancel(context.Background())
		go large.run(ctx)
		synctest.Wait()
		if pushed, _ := received(t, removed, 5); pushed != nil || len(removed.follows) > 0 {
			t.Errorf("who was removed follows %v and was pushed %v", removed.follows, pushed)
		}
		if pushed, _ := received(t, other, 5); !slices.Equal(pushed, []uint64{3}) {
			t.Errorf("a follower was pushed %v, want 3", pushed)
		}
		cancel()
	})
}

// Nobody waits for a lane that has ended, however much was queued.
func TestALaneThatHasEndedQueuesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := bench(t)
		large := newLargeLane(c.server)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		large.run(ctx)
		for range 3 {
			large.add(make([]byte, maxQueuedLarge+1))
		}
		if n := len(large.queued); n > 0 {
			t.Errorf("%d bytes are queued", n)
		}
	})
}

// halfBus permits one subscription. When the second is refused, deliveries to followers already wait in the lane of the first.
type halfBus struct {
	*membus.Bus
	first                   string
	canceled, sent, refused int
}

func (b *halfBus) Subscribe(subject string, handle func([]byte), missed func()) (func(), error) {
	if b.first == "" {
		b.first = subject
		cancel, err := b.Bus.Subscribe(subject, handle, missed)
		return func() { b.canceled++; cancel() }, err
	}
	go func() {
		data := (&message.Delivery{Kind: message.DeliverFrame, Large: true, Conversation: 5, Body: make([]byte, 1<<19)}).Append(nil)
		for range 2 * maxQueuedLarge / len(data) {
			if b.Publish(b.first, data) == nil {
				b.sent++
			}
		}
	}()
	synctest.Wait()
	b.refused = b.sent
	return nil, bus.ErrDown
}

// If the node cannot subscribe to all its lanes, it subscribes to none, and publishers do not wait for a lane that nobody runs.
func TestASubscriptionThatFailsLeavesNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := bench(t)
		b := &halfBus{Bus: membus.New()}
		c.server.deps.Bus, c.server.deps.Node = b, "a"
		if err := c.server.Run(context.Background()); !errors.Is(err, bus.ErrDown) {
			t.Errorf("Run: %v, want that of the bus", err)
		}
		synctest.Wait()
		if b.canceled != 1 || b.refused == 0 || b.sent <= b.refused {
			t.Errorf("%d subscriptions were canceled, want 1; %d messages were published while a lane was full, and %d in all", b.canceled, b.refused, b.sent)
		}
	})
}

// A batch has entries of one conversation, and no more bytes than fit into a frame beside what waits.
func TestBatchesFitIntoAFrame(t *testing.T) {
	t.Parallel()
	first, _ := bench(t)
	s := first.server
	follower := following(s, 1)[0]
	s.hub.follow(follower, 6, 1)
	d := deliverer{server: s}
	var want []uint64
	add := func(conversation id.Conversation, seq uint64) {
		d.next.Conversation, d.next.Seq = conversation, seq
		raw := must(proto.Marshal(&chatv1.Message{Conversation: uint64(conversation), Seq: seq, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: string(make([]byte, 1000))}}}))
		d.addLarge(message.AppendBody(nil, message.FieldMessage, raw), 0, false, 0)
		if n := len(d.batch.bodies); n > maxBatch {
			t.Errorf("a batch has %d bytes", n)
		}
	}
	for seq := uint64(2); seq < 100; seq++ {
		add(5, seq)
		want = append(want, seq)
	}
	add(6, 2)
	if n := len(d.batch.entries); n != 1 {
		t.Errorf("the batch of another conversation has %d entries", n)
	}
	d.pushBatch()
	if n := len(d.batch.conns) + len(d.batch.entries); n != 0 {
		t.Errorf("%d connections and entries are left", n)
	}
	if pushed, _ := received(t, follower, 5); !slices.Equal(pushed, want) {
		t.Errorf("pushed %v", pushed)
	}
}

// A lane goes on when what it pushed is written, nearly. What comes meanwhile is queued up to a bound, and then its sender waits.
func TestALaneWaitsForWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := bench(t)
		s := c.server
		list := following(s, laterSlice)
		large := newLargeLane(s)
		ctx, cancel := context.WithCancel(context.Background())
		go large.run(ctx)
		large.add(largeEntry5(t, s, 2, 1))
		synctest.Wait()
		large.add((&message.Delivery{Kind: message.DeliverEvent, Large: true, Conversation: 6, Seq: 2, Body: make([]byte, maxQueuedLarge)}).Append(nil)) // nobody here follows it
		added := false
		go func() {
			large.add(largeEntry5(t, s, 3, 1))
			added = true
		}()
		synctest.Wait()
		if pushed, _ := received(t, list[0], 5); !slices.Equal(pushed, []uint64{2}) || added {
			t.Errorf("before the first is written, %v were pushed; more than the bound is queued: %v", pushed, added)
		}
		go s.flush[0].run(ctx)
		s.Flush()
		synctest.Wait()
		if pushed, _ := received(t, list[0], 5); !slices.Equal(pushed, []uint64{3}) || !added {
			t.Errorf("then %v were pushed, and all are queued: %v; want 3", pushed, added)
		}
		cancel()
	})
}

// Connections for which nothing else waits share the bytes of a push. What one of them is sent after it is in nobody else's, before and after the bytes are
// written to one.
func TestSharedFramesAreNotChanged(t *testing.T) {
	t.Parallel()
	first, _ := bench(t)
	s := first.server
	list := following(s, 8)
	list[4].prefixed = true
	seqs, requests := map[*conn][]uint64{}, map[*conn][]uint64{}
	read := func(c *conn) {
		for frames := sent(t, c); frames != nil; frames = sent(t, c) {
			for _, f := range frames {
				if f.Request != 0 {
					requests[c] = append(requests[c], f.Request)
				}
				for _, e := range f.Events {
					seqs[c] = append(seqs[c], e.GetMessage().GetSeq())
				}
			}
		}
	}
	d := deliverer{server: s}
	d.deliver(largeEntry5(t, s, 2, 1))
	if list[0].out != list[2].out || list[0].out == list[4].out {
		t.Error("connections of WebSocket do not share their bytes, or with one of TCP")
	}
	read(list[0])
	for request := range uint64(3) {
		list[0].sendFrame(&gatewayv1.ServerFrame{Request: request + 1})
	}
	d.deliver(append(largeEntry5(t, s, 3, 1), largeEntry5(t, s, 4, 1)...))
	for i, c := range list {
		read(c)
		want := []uint64(nil)
		if i == 0 {
			want = []uint64{1, 2, 3}
		}
		if !slices.Equal(seqs[c], []uint64{2, 3, 4}) || !slices.Equal(requests[c], want) {
			t.Errorf("connection %d was pushed %v, and got answers to %v", i, seqs[c], requests[c])
		}
	}
}

// Who waits for the pushes of a lane waits for what was queued before, and not for what comes later.
func TestPushesOfALaneAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _ := bench(t)
		s := first.server
		c := following(s, 1)[0]
		l := newLargeLane(s)
		s.lanes.Store(&[]*largeLane{l})
		if err := s.AwaitPushes(t.Context()); err != nil {
			t.Fatalf("nothing is queued: %v", err)
		}
		l.add(largeEntry5(t, s, 2, 10))
		ended := make(chan error, 1)
		go func() { ended <- s.AwaitPushes(t.Context()) }()
		waits := func(what string) {
			synctest.Wait()
			select {
			case err := <-ended:
				t.Fatalf("%s: the wait ended with the error %v, want that it goes on", what, err)
			default:
			}
		}
		waits("queued")
		hurried, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.AwaitPushes(hurried); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: the error %v, want that of the context", err)
		}
		taken := l.take(nil)
		waits("taken")
		l.add(largeEntry5(t, s, 3, 10))
		l.deliverer.deliver(taken)
		l.noteDelivered()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if pushed, _ := received(t, c, 5); !slices.Equal(pushed, []uint64{2}) {
			t.Errorf("when the wait ended, %v was pushed, want 2", pushed)
		}
		l.close()
		if err := s.AwaitPushes(t.Context()); err != nil {
			t.Errorf("the lane is closed: %v", err)
		}
	})
}
