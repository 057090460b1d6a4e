package gateway

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// heated runs a test in a bubble, with connections that follow the large conversations 5 and 6. Of each, 10 messages a second may be pushed to
// one connection, and half of them at once.
func heated(t *testing.T, conns int, test func(list []*conn)) {
	t.Helper()
	heatedBehind(t, conns, 0, test)
}

// heatedBehind is heated beside a node whose clock is behind.
func heatedBehind(t *testing.T, conns int, behind time.Duration, test func(list []*conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		first, _ := bench(t)
		s := first.server
		s.config.LargeGroupPushes, s.config.LargePushes, s.config.HintEvery = 10*conns, 1000*conns, time.Second
		s.deps.ClockBehind = func() time.Duration { return behind }
		var list []*conn
		for i := range conns {
			c := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: id.User(7 + i)}, state: stateReady, json: i%2 == 1}
			s.hub.follow(c, 5, 1)
			s.hub.follow(c, 6, 1)
			list = append(list, c)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); s.heats.run(ctx) }()
		test(list)
		cancel()
		<-done
	})
}

// deliverTo delivers a message of a large conversation, or an update.
func deliverTo(t *testing.T, s *Server, conversation id.Conversation, seq uint64, content *chatv1.Content) {
	t.Helper()
	deliverLate(t, s, conversation, seq, content, 0)
}

// deliverLate delivers an entry some time after it was stored.
func deliverLate(t *testing.T, s *Server, conversation id.Conversation, seq uint64, content *chatv1.Content, age time.Duration) {
	t.Helper()
	b, err := proto.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	e := message.Entry{ID: id.MessageOf(s.deps.Clock.Now().Add(-age).UnixMilli(), 0, 0, conversation), Sender: 1, Content: b}
	if content.GetText() == "" {
		e.Updates = 1
	}
	d := deliverer{server: s}
	d.deliver((&message.Delivery{Kind: message.DeliverEntry, Large: true, Conversation: conversation, Seq: seq, Counted: seq, Body: e.Append(nil)}).Append(nil))
}

var text = &chatv1.Content{Kind: &chatv1.Content_Text{Text: "x"}}

// received is what a connection was sent since the last call: the seqs that were pushed, and the hints.
func received(t *testing.T, c *conn, conversation id.Conversation) (pushed, hinted []uint64) {
	t.Helper()
	for list := sent(t, c); list != nil; list = sent(t, c) {
		for _, f := range list {
			for _, e := range f.Events {
				if m := e.GetMessage(); m.GetConversation() == uint64(conversation) {
					pushed = append(pushed, m.Seq)
				}
			}
			if f.Hint != nil && len(f.Hint.Conversations) == 0 {
				t.Error("a connection was told to sync")
			}
			for _, l := range f.GetHint().GetConversations() {
				if l.Conversation == uint64(conversation) {
					hinted = append(hinted, l.LastSeq)
				}
			}
		}
	}
	return pushed, hinted
}

// A conversation with more messages than may be pushed becomes hot: each connection gets one hint in an interval, which covers what was withheld. When
// it has been calm for some intervals, messages are pushed again. No seq is missing without a hint.
func TestAHotConversationIsHintedUntilItCools(t *testing.T) {
	t.Parallel()
	heated(t, 3, func(list []*conn) {
		s, seq := list[0].server, uint64(1)
		expect := func(what string, pushed, hinted []uint64) {
			t.Helper()
			for i, c := range list {
				if p, h := received(t, c, 5); !slices.Equal(p, pushed) || !slices.Equal(h, hinted) {
					t.Errorf("%s: connection %d was pushed %v and hinted %v, want %v and %v", what, i, p, h, pushed, hinted)
				}
			}
		}
		deliver := func(n int) {
			for range n {
				seq++
				deliverTo(t, s, 5, seq, text)
			}
		}
		deliver(5)
		expect("below the rate", []uint64{2, 3, 4, 5, 6}, nil)
		deliver(15)
		expect("beyond the rate", nil, nil)
		for range 5 {
			pass(time.Second)
			expect("hot", nil, []uint64{seq})
			deliver(20)
		}
		pass(time.Second) // the last interval that is not calm
		expect("hot", nil, []uint64{seq})
		deliver(6)
		pass(time.Second)
		deliver(1)
		expect("above half of the rate", nil, []uint64{seq - 1})
		for range calmIntervals - 1 {
			pass(time.Second)
			expect("calm", nil, []uint64{seq})
			deliver(1)
			expect("calm, and still hot", nil, nil)
		}
		if got := s.stats.Hot.Load(); got != 1 {
			t.Errorf("%d conversations are hot, want 1", got)
		}
		pass(time.Second)
		expect("the last hint", nil, []uint64{seq})
		deliver(2)
		expect("cool again", []uint64{seq - 1, seq}, nil)
		pass(time.Minute)
		expect("later", nil, nil)
		st := &s.stats
		if rises, falls, hot := st.HeatRises.Load(), st.HeatFalls.Load(), st.Hot.Load(); rises != 1 || falls != 1 || hot != 0 {
			t.Errorf("it became hot %d times, cooled down %d times, and %d are hot; want 1, 1, 0", rises, falls, hot)
		}
		if pushed, withheld := st.LargePushed.Load(), st.LargeWithheld.Load(); pushed != 3*7 || pushed+withheld != 3*int64(seq-1) {
			t.Errorf("%d were pushed and %d withheld, of %d", pushed, withheld, 3*(seq-1))
		}
	})
}

// Edits and recalls are pushed while a conversation is hot, as far as its rate allows; reactions are not.
func TestCorrectionsOfAHotConversationArePushed(t *testing.T) {
	t.Parallel()
	target := &chatv1.Ref{Seq: 1}
	heated(t, 2, func(list []*conn) {
		s := list[0].server
		for seq := range uint64(20) {
			deliverTo(t, s, 5, seq+2, text)
		}
		for _, c := range list {
			received(t, c, 5)
		}
		pass(1100 * time.Millisecond) // the rate allows five more
		for i, content := range []*chatv1.Content{
			text,
			{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: target, Content: text}}},
			{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: target, Emoji: "👍"}}},
			{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: target}}},
		} {
			deliverTo(t, s, 5, uint64(100+i), content)
		}
		for i, c := range list {
			if pushed, hinted := received(t, c, 5); !slices.Equal(pushed, []uint64{101, 103}) || !slices.Equal(hinted, []uint64{21}) {
				t.Errorf("connection %d was pushed %v and hinted %v, want the edit 101 and the recall 103, and 21", i, pushed, hinted)
			}
		}
		for range 10 { // a storm of edits is one, too
			deliverTo(t, s, 5, 200, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: target, Content: text}}})
		}
		for i, c := range list {
			if pushed, _ := received(t, c, 5); len(pushed) != 3 {
				t.Errorf("connection %d was pushed %d edits of a storm, want the 3 that the rate allows", i, len(pushed))
			}
		}
	})
}

// In a cluster, followers are hinted of a text that may have been edited or recalled since fan-out looked, whether it is as it was stored or in its present form.
// A recall has none, and is pushed. A single node pushes all.
func TestEntriesThatMayBeOutdatedAreHinted(t *testing.T) {
	t.Parallel()
	edit := &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: 1}, Content: text}}}
	recall := &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: 1}}}}
	present := func(s *Server, seq uint64, age time.Duration) {
		m := &chatv1.Message{Conversation: 5, Seq: seq, TimeMs: s.deps.Clock.Now().Add(-age).UnixMilli(), Content: text}
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		d := deliverer{server: s}
		d.deliver((&message.Delivery{Kind: message.DeliverEvent, Large: true, Conversation: 5, Seq: seq, Body: message.AppendBody(nil, message.FieldMessage, raw)}).Append(nil))
	}
	for _, within := range []time.Duration{0, message.PushWindow} {
		for name, deliver := range map[string]func(s *Server, seq uint64, age time.Duration){
			"a message":                        func(s *Server, seq uint64, age time.Duration) { deliverLate(t, s, 5, seq, text, age) },
			"an edit":                          func(s *Server, seq uint64, age time.Duration) { deliverLate(t, s, 5, seq, edit, age) },
			"a message in its present form":    present,
			"a message, beside a slower clock": func(s *Server, seq uint64, age time.Duration) { deliverLate(t, s, 5, seq, text, age) },
			"a recall":                         func(s *Server, seq uint64, age time.Duration) { deliverLate(t, s, 5, seq, recall, age) },
		} {
			behind := time.Duration(0)
			if strings.HasSuffix(name, "clock") {
				behind = 400 * time.Millisecond
			}
			heatedBehind(t, 2, behind, func(list []*conn) {
				s := list[0].server
				s.deps.PushWithin = within
				pass(2 * time.Second) // the clocks are compared
				deliver(s, 2, message.PushWindow-time.Millisecond)
				deliver(s, 3, message.PushWindow)
				wantPushed, wantHinted := []uint64{2, 3}, []uint64(nil)
				if within > 0 && name != "a recall" {
					wantPushed, wantHinted = []uint64{2}, []uint64{3}
				}
				pass(time.Second)
				for i, c := range list {
					if pushed, hinted := received(t, c, 5); !slices.Equal(pushed, wantPushed) || !slices.Equal(hinted, wantHinted) {
						t.Errorf("%s, within %v: connection %d was pushed %v and hinted %v, want %v and %v", name, within, i, pushed, hinted, wantPushed, wantHinted)
					}
				}
			})
		}
	}
}

// The age of a text counts when its batch is pushed, and not when it was delivered: pushes of another conversation may be between.
func TestTextsGrowOldBehindOtherPushes(t *testing.T) {
	t.Parallel()
	heated(t, batchSlice+1, func(list []*conn) {
		s := list[0].server
		s.deps.PushWithin = message.PushWindow
		var data []byte
		for _, conversation := range []id.Conversation{5, 6} {
			b, err := proto.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			e := message.Entry{ID: id.MessageOf(s.deps.Clock.Now().UnixMilli(), 0, 0, conversation), Sender: 1, Content: b}
			data = (&message.Delivery{Kind: message.DeliverEntry, Large: true, Conversation: conversation, Seq: 2, Counted: 2, Body: e.Append(nil)}).Append(data)
		}
		d := deliverer{server: s, yield: func() { pass(message.PushWindow) }}
		d.deliver(data)
		if pushed, _ := received(t, list[0], 6); len(pushed) != 0 {
			t.Errorf("the conversation behind another one was pushed %v, want nothing", pushed)
		}
	})
}

// If the pushes of all conversations are used up, the one with more than its share becomes hot, and the others are pushed.
func TestOneStormLeavesOthersTheirShare(t *testing.T) {
	t.Parallel()
	heated(t, 1, func(list []*conn) {
		c := list[0]
		s := c.server
		s.config.LargeGroupPushes, s.config.LargePushes = 1000, 20
		others := 0
		for second := range uint64(10) {
			deliverTo(t, s, 6, second+2, text)
			for i := range uint64(100) {
				deliverTo(t, s, 5, second*100+i+2, text)
				if i%25 == 0 {
					others++
					deliverTo(t, s, 6, 1000+second*100+i, text)
				}
			}
			pass(time.Second)
		}
		storm, other := heatOf(s, 5), heatOf(s, 6)
		pushed, hinted := received(t, c, 6)
		if len(hinted) > 0 || len(pushed) == 0 || other.hot || !storm.hot {
			t.Errorf("of the other conversation %d were pushed and %d hinted; hot are the storm: %v, the other: %v", len(pushed), len(hinted), storm.hot, other.hot)
		}
		if got, want := s.stats.LargePushed.Load(), int64(10+others); got < want || got > want+20 {
			t.Errorf("%d were pushed, want the %d of the other conversation and at most 20 of the storm", got, want)
		}
	})
}

// A conversation whose last follower left, and which is followed again, is one of those that share the rates, and cools down as slowly as others.
func TestAConversationThatIsFollowedAgainIsListedOnce(t *testing.T) {
	t.Parallel()
	heated(t, 1, func(list []*conn) {
		c := list[0]
		s, seq := c.server, uint64(1)
		for range 3 {
			for range 20 {
				seq++
				deliverTo(t, s, 5, seq, text)
			}
			s.hub.unfollow(c, 5)
			s.hub.follow(c, 5, seq)
		}
		for range 20 {
			seq++
			deliverTo(t, s, 5, seq, text)
		}
		for calm := range calmIntervals {
			s.heats.mu.Lock()
			listed := len(s.heats.listed)
			s.heats.mu.Unlock()
			if h := heatOf(s, 5); !h.hot || h.calm != calm || listed != 1 {
				t.Errorf("after %d intervals hot is %v, %d were calm, and %d are listed; want 1", calm, h.hot, h.calm, listed)
			}
			pass(time.Second)
			if calm == 0 { // the interval of the storm
				pass(time.Second)
			}
		}
		if h := heatOf(s, 5); h.hot || s.stats.Hot.Load() != 0 {
			t.Errorf("after %d calm intervals it is hot: %v; %d are", calmIntervals, h.hot, s.stats.Hot.Load())
		}
	})
}

func heatOf(s *Server, c id.Conversation) heat {
	var h heat
	s.heats.with(c, func(r *audience) { h = r.heat })
	return h
}

// A connection gets one hint about all hot conversations that it follows, after the answer of a sync that is under way, and a hint to sync takes its
// place. Who no longer follows one is not told.
func TestHintsOfAConnectionAreOne(t *testing.T) {
	t.Parallel()
	heated(t, 4, func(list []*conn) {
		s := list[0].server
		storm := func() {
			for seq := range uint64(20) {
				deliverTo(t, s, 5, seq+2, text)
				deliverTo(t, s, 6, seq+2, text)
			}
		}
		storm()
		for _, c := range list {
			received(t, c, 5)
		}
		list[1].withhold()
		list[2].requestHint()
		s.hub.unfollow(list[3], 5)
		pass(time.Second)
		if frames := sent(t, list[0]); len(frames) != 1 || len(frames[0].GetHint().GetConversations()) != 2 {
			t.Errorf("got %v, want one hint about two conversations", frames)
		}
		if frames := sent(t, list[1]); len(frames) != 0 {
			t.Errorf("got %v before the answer of a sync", frames)
		}
		list[1].releaseWithheld()
		if frames := sent(t, list[1]); len(frames) != 1 || len(frames[0].GetHint().GetConversations()) != 2 {
			t.Errorf("got %v after the answer of a sync, want one hint", frames)
		}
		if frames := sent(t, list[2]); len(frames) != 1 || frames[0].Hint == nil || len(frames[0].Hint.Conversations) != 0 {
			t.Errorf("got %v, want a hint to sync", frames)
		}
		if frames := sent(t, list[3]); len(frames) != 1 || len(frames[0].GetHint().GetConversations()) != 1 || frames[0].Hint.Conversations[0].Conversation != 6 {
			t.Errorf("got %v, want a hint about the conversation that it follows", frames)
		}
	})
}

// A node that cannot keep up lowers its rates: a conversation with many pushes whose messages come later and later becomes hot, below its configured rate.
// Others whose messages are late by that are not, nor is one whose messages are always as late. When nothing is late any more, the rates recover.
func TestLateMessagesLowerTheRates(t *testing.T) {
	t.Parallel()
	heated(t, 2, func(list []*conn) {
		s := list[0].server
		s.config.LargeGroupPushes, s.config.LargePushes = 1_000_000, 1_000_000
		seq := uint64(1)
		late := func(age time.Duration) {
			seq++
			deliverLate(t, s, 5, seq, text, age)
		}
		push := func() {
			t.Helper()
			for range lateAbove / 2 {
				seq++
				deliverTo(t, s, 5, seq, text)
				if seq%100 == 0 {
					sent(t, list[0])
					sent(t, list[1])
				}
			}
			if heatOf(s, 5).hot {
				t.Fatal("it is hot below its rate")
			}
		}
		const before = lateAfter + 10*time.Millisecond
		push()
		deliverLate(t, s, 6, 2, text, time.Minute)
		late(lateAfter)
		pass(time.Second)
		push()
		late(lateAfter + lateGrowth + 10*time.Millisecond) // nothing was late before
		pass(time.Second)
		push()
		late(before) // it is less late
		pass(time.Second)
		push()
		late(before + lateGrowth) // as late as before, or nearly
		if heatOf(s, 5).hot || heatOf(s, 6).hot {
			t.Error("a conversation with few pushes, or one that does not fall behind, is hot")
		}
		late(before + lateGrowth + 10*time.Millisecond)
		late(time.Minute)
		if !heatOf(s, 5).hot || heatOf(s, 6).hot || scaleOf(s) != 0.5 {
			t.Errorf("hot are the late one: %v, the other: %v; the rates are scaled by %v, want 0.5", heatOf(s, 5).hot, heatOf(s, 6).hot, scaleOf(s))
		}
		pass(calmIntervals * time.Second)
		if heatOf(s, 5).hot || scaleOf(s) == 1 {
			t.Errorf("after it was calm it is hot: %v, the rates are scaled by %v", heatOf(s, 5).hot, scaleOf(s))
		}
		pass(20 * time.Second)
		if scale := scaleOf(s); scale != 1 {
			t.Errorf("later the rates are scaled by %v, want 1", scale)
		}
	})
}

// scaleOf returns what a server's rates are scaled by.
func scaleOf(s *Server) float64 {
	s.heats.mu.Lock()
	defer s.heats.mu.Unlock()
	return s.heats.scale
}

// orderedTransport notes the order of writes, and has what is for one queued while what is for many is written.
type orderedTransport struct {
	transport
	flushed func()
}

func (t orderedTransport) flush(*conn) { t.flushed() }

// What is for one connection is written after at most a slice of what is for many.
func TestPushesToManyDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	const many = 10 * laterSlice
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	f := newFlusher(runtime.Gosched)
	f.most = time.Hour
	done := make(chan struct{})
	later, before := 0, -1
	one := &conn{transport: orderedTransport{flushed: func() { before = later }}}
	for range many {
		f.addLater(&conn{writeFlow: writeFlow{queuedLater: true}, transport: orderedTransport{flushed: func() {
			switch later++; later {
			case 10:
				f.add(one)
			case many:
				close(done)
			}
		}}})
	}
	go f.run(ctx)
	f.signal()
	<-done
	if before < 0 || before > laterSlice {
		t.Errorf("%d of %d were written before, want at most %d", before, many, laterSlice)
	}
}

// Messages of a node whose clock is behind look old. They are late only if they are older than that, or the rates of other nodes' groups fall for nothing.
func TestClocksThatAreBehindMakeNothingLate(t *testing.T) {
	t.Parallel()
	heatedBehind(t, 1, 2*time.Second, func(list []*conn) {
		s := list[0].server
		s.config.LargeGroupPushes, s.config.LargePushes = 1_000_000, 1_000_000
		pass(time.Second)
		seq := uint64(1)
		for range lateAbove + 10 {
			seq++
			deliverLate(t, s, 5, seq, text, 2*time.Second+tooLate)
			if seq%100 == 0 {
				sent(t, list[0])
			}
		}
		if heatOf(s, 5).hot || scaleOf(s) != 1 {
			t.Errorf("it is hot: %v, with rates scaled by %v", heatOf(s, 5).hot, scaleOf(s))
		}
		deliverLate(t, s, 5, seq+1, text, 2*time.Second+tooLate+10*time.Millisecond)
		if !heatOf(s, 5).hot {
			t.Error("a late message of a node that is behind is not noticed")
		}
	})
}

// When a conversation has cooled down, a connection gets no push before its last hint: clients pull where a push shows a gap, all at once, and the
// hints are spread.
func TestPushesResumeBehindTheLastHint(t *testing.T) {
	t.Parallel()
	heated(t, 2*hintSlice+1, func(list []*conn) {
		s, seq := list[0].server, uint64(1)
		deliver := func(n int) {
			for range n {
				seq++
				deliverTo(t, s, 5, seq, text)
			}
		}
		deliver(20)
		for range calmIntervals {
			pass(time.Second)
			deliver(1) // so that there is something to hint at each time
		}
		for _, c := range list {
			sent(t, c)
		}
		for heatOf(s, 5).hot {
			pass(time.Second)
		}
		first, last := list[0], list[len(list)-1]
		if _, hinted := received(t, first, 5); !slices.Equal(hinted, []uint64{seq}) {
			t.Errorf("at once, the first connection was hinted %v, want %d", hinted, seq)
		}
		deliver(1)
		if pushed, _ := received(t, first, 5); !slices.Equal(pushed, []uint64{seq}) {
			t.Errorf("the first connection was pushed %v, want %d", pushed, seq)
		}
		pass(500 * time.Millisecond)
		if pushed, hinted := received(t, last, 5); pushed != nil || !slices.Equal(hinted, []uint64{seq}) {
			t.Errorf("the last connection was pushed %v and hinted %v, want a hint with %d", pushed, hinted, seq)
		}
		deliver(1)
		if pushed, _ := received(t, last, 5); !slices.Equal(pushed, []uint64{seq}) {
			t.Errorf("then, the last connection was pushed %v, want %d", pushed, seq)
		}
	})
}

// A conversation may cool down while a batch is pushed to many. Connections that were not pushed it yet get their last hint in its place, which covers it.
func TestAPushBehindTheLastHintIsHinted(t *testing.T) {
	t.Parallel()
	heated(t, batchSlice+2, func(list []*conn) {
		s, seq := list[0].server, uint64(1)
		for range 20 {
			seq++
			deliverTo(t, s, 5, seq, text)
		}
		for _, c := range list {
			sent(t, c)
		}
		pass(1100 * time.Millisecond) // the first hint is sent, and the rate allows a correction
		seq++
		deliverTo(t, s, 5, seq, text) // withheld
		for _, c := range list {
			sent(t, c)
		}
		seq++
		edit := must(proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: 1}, Content: text}}}))
		e := message.Entry{ID: id.MessageOf(s.deps.Clock.Now().UnixMilli(), 0, 0, 5), Sender: 1, Updates: 1, Content: edit}
		var due []growth
		d := deliverer{server: s, yield: func() { due = s.heats.resume(5) }}
		d.deliver((&message.Delivery{Kind: message.DeliverEntry, Large: true, Conversation: 5, Seq: seq, Counted: seq, Body: e.Append(nil)}).Append(nil))
		s.heats.hint(context.Background(), due)
		for i, c := range list {
			want := []uint64{seq}
			if i >= batchSlice {
				want = nil
			}
			if pushed, hinted := received(t, c, 5); !slices.Equal(pushed, want) || !slices.Equal(hinted, []uint64{seq}) {
				t.Errorf("connection %d was pushed %v and hinted %v, want %v and %d", i, pushed, hinted, want, seq)
			}
		}
		if pushed, withheld := s.stats.LargePushed.Load(), s.stats.LargeWithheld.Load(); pushed != 5*(batchSlice+2)+batchSlice || pushed+withheld != (batchSlice+2)*int64(seq-1) {
			t.Errorf("%d pushes are counted, and %d that were withheld", pushed, withheld)
		}
	})
}

// A connection that reads a page while the conversation cools down waits for a hint from before. It gets no push before that one either.
func TestPushesResumeBehindAnEarlierHint(t *testing.T) {
	t.Parallel()
	heated(t, 1, func(list []*conn) {
		c := list[0]
		s, seq := c.server, uint64(1)
		for range 20 {
			seq++
			deliverTo(t, s, 5, seq, text)
		}
		sent(t, c)
		c.withhold()
		for heatOf(s, 5).hot {
			pass(time.Second)
		}
		seq++
		deliverTo(t, s, 5, seq, text)
		c.releaseWithheld()
		if pushed, hinted := received(t, c, 5); pushed != nil || !slices.Equal(hinted, []uint64{seq}) {
			t.Errorf("it was pushed %v and hinted %v, want a hint with %d", pushed, hinted, seq)
		}
	})
}
