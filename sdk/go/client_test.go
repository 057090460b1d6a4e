package rialto_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/proto"
)

// TestUnansweredMessagesAreResent: two connections receive messages and break without an answer; the third answers.
func TestUnansweredMessagesAreResent(t *testing.T) {
	var mu sync.Mutex
	stored := map[uint64]string{}
	s := start(t, &server{script: func(n int, c *conn) {
		for got := 0; ; {
			sends := c.sends()
			if sends == nil {
				return
			}
			mu.Lock()
			for _, m := range sends {
				if was, ok := stored[m.ClientSeq]; ok && was != m.Content.GetText() {
					c.Errorf("message %d was %q and is now %q", m.ClientSeq, was, m.Content.GetText())
				}
				stored[m.ClientSeq] = m.Content.GetText()
			}
			mu.Unlock()
			if got += len(sends); n < 3 && got >= 5 {
				return
			}
			if n >= 3 {
				c.store(sends)
			}
		}
	}})
	c, _ := s.client(nil)
	run(t, c)
	var waits []func(context.Context) (*gatewayv1.Receipt, error)
	for i := range 20 {
		waits = append(waits, c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: fmt.Sprint("text ", i)}}))
	}
	for i, wait := range waits {
		r, err := wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		if got := stored[r.ClientSeq]; got != fmt.Sprint("text ", i) {
			t.Errorf("the receipt of text %d is for %q", i, got)
		}
		mu.Unlock()
	}
	if err := c.Flush(t.Context()); err != nil || len(stored) != 20 {
		t.Errorf("%d messages stored, %v", len(stored), err)
	}
}

// TestMessagesBehindARefusedOneNameIt: while a refused message waits for its next try, a later one to the same conversation names the one
// before it. Without a refusal none is named.
func TestMessagesBehindARefusedOneNameIt(t *testing.T) {
	type send struct{ conversation, clientSeq, prev uint64 }
	got := make(chan send, 10)
	s := start(t, &server{script: func(_ int, c *conn) {
		for sends := c.sends(); sends != nil; sends = c.sends() {
			for _, m := range sends {
				got <- send{m.Conversation, m.ClientSeq, m.PrevClientSeq}
				r := &gatewayv1.Receipt{ClientSeq: m.ClientSeq, Seq: 1}
				if m.Conversation == 5 {
					r.Error = &gatewayv1.Error{Code: "unavailable", Reason: "missing_previous", RetryMs: 3_600_000}
				}
				c.write(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{r}})
			}
		}
	}})
	c, _ := s.client(nil)
	run(t, c)
	c.Queue(5, text("refused"))
	if _, err := c.SendText(t.Context(), 9, "of another conversation"); err != nil { // its receipt comes after the refusal
		t.Fatal(err)
	}
	c.Queue(5, text("behind it"))
	c.Queue(5, text("and behind that"))
	for _, want := range []send{{5, 1, 0}, {9, 2, 0}, {5, 3, 1}, {5, 4, 3}} {
		if have := <-got; have != want {
			t.Errorf("the client sent %v, want %v", have, want)
		}
	}
}

// TestRefusals: a permanent refusal reaches the sender; a temporarily refused message is sent again on the same connection.
func TestRefusals(t *testing.T) {
	tries := 0
	s := start(t, &server{script: func(_ int, c *conn) {
		for sends := c.sends(); sends != nil; sends = c.sends() {
			for _, m := range sends {
				r := &gatewayv1.Receipt{ClientSeq: m.ClientSeq, Seq: 1}
				switch m.Content.GetText() {
				case "bad":
					r.Error = &gatewayv1.Error{Code: "permission_denied", Reason: "blocked", Message: "no"}
				case "busy":
					if tries++; tries < 3 {
						r.Error = &gatewayv1.Error{Code: "unavailable", Reason: "busy", RetryMs: 1}
					}
				}
				c.write(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{r}})
			}
		}
	}})
	c, _ := s.client(nil)
	run(t, c)
	var refused *rialto.SendError
	if _, err := c.SendText(t.Context(), 7, "bad"); !errors.As(err, &refused) || refused.Reason != "blocked" {
		t.Errorf("a refusal: got %v", err)
	}
	if _, err := c.SendText(t.Context(), 7, "busy"); err != nil || tries != 3 {
		t.Errorf("after %d tries: %v", tries, err)
	}
	if s.dials != 1 {
		t.Errorf("the client used %d connections", s.dials)
	}
}

// TestFramesStaySmall: frames stay below the server's limit of 1 MiB, which the fake server enforces.
func TestFramesStaySmall(t *testing.T) {
	s := start(t, &server{script: func(_ int, c *conn) {
		for sends := c.sends(); sends != nil; sends = c.sends() {
			c.store(sends)
		}
	}})
	c, _ := s.client(nil)
	for range 60 {
		c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat("x", 100_000)}})
	}
	run(t, c)
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.dials != 1 {
		t.Errorf("the client used %d connections", s.dials)
	}
}

// stream is a user's stream as a server has it.
func stream(to uint64) func(*chatv1.Position) *chatv1.SyncResponse {
	return func(after *chatv1.Position) *chatv1.SyncResponse {
		r := &chatv1.SyncResponse{Next: &chatv1.Position{Epoch: 1, Seq: after.GetSeq()}}
		for seq := after.GetSeq() + 1; seq <= to && len(r.Events) < 3; seq++ {
			r.Events = append(r.Events, event(seq, seq-1))
			r.Next.Seq = seq
		}
		r.More = r.Next.Seq < to
		return r
	}
}

// TestEachEventOnce: pushes arrive twice and with gaps, before and after the connection breaks. Each event is handed over once.
func TestEachEventOnce(t *testing.T) {
	const last = 40
	s := start(t, &server{sync: stream(last), script: func(n int, c *conn) {
		push := func(events ...*chatv1.Event) { c.write(&gatewayv1.ServerFrame{Events: events}) }
		if n == 1 {
			push(event(1, 0), event(2, 1))
			push(event(2, 1))
			push(event(1, 0))
			push(event(5, 4)) // 3 and 4 are missing
			push(event(4, 3))
			return
		}
		push(event(last, last-1))
		c.untilGone()
	}})
	c, events := s.client(nil)
	run(t, c)
	for want := uint64(1); want <= last; want++ {
		if e := <-events; e.Message.GetSeq() != want {
			t.Fatalf("got event %d, want %d", e.Message.GetSeq(), want)
		}
	}
	if len(events) > 0 {
		t.Errorf("%d more came", len(events))
	}
}

// TestACallThatFailsIsNoReasonToReconnect: a sync may go to another node than the connection did, which stops just then.
func TestACallThatFailsIsNoReasonToReconnect(t *testing.T) {
	const last = 3
	s := start(t, &server{away: 2, tail: &chatv1.Position{Epoch: 1, Seq: last}, sync: stream(last), script: func(n int, c *conn) {
		if n > 1 {
			c.Error("the client closed a working connection")
		}
		c.untilGone()
	}})
	c, events := s.client(nil)
	run(t, c)
	for want := uint64(1); want <= last; want++ {
		if e := <-events; e.Message.GetSeq() != want {
			t.Fatalf("got event %d, want %d", e.Message.GetSeq(), want)
		}
	}
}

// TestEventsWithoutABody: an expired message keeps its position in the stream, but the handler does not get it.
func TestEventsWithoutABody(t *testing.T) {
	empty := func(seq uint64) *chatv1.Event { return &chatv1.Event{Epoch: 1, Seq: seq, Prev: seq - 1} }
	s := start(t, &server{sync: func(after *chatv1.Position) *chatv1.SyncResponse {
		return &chatv1.SyncResponse{Next: &chatv1.Position{Epoch: 1, Seq: 3}, Events: []*chatv1.Event{empty(1), event(2, 1), empty(3)}[min(after.GetSeq(), 3):]}
	}, script: func(_ int, c *conn) {
		c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{event(4, 3)}}) // has the client sync
		c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{event(4, 3), empty(5), event(6, 5)}})
		c.untilGone()
	}})
	c, events := s.client(nil)
	run(t, c)
	for _, want := range []uint64{2, 4, 6} {
		if e := <-events; e.Message.GetSeq() != want {
			t.Fatalf("got %+v, want event %d", e, want)
		}
	}
}

// TestPositionOutlivesTheProcess: a second client on the same store continues after the first one's events.
func TestPositionOutlivesTheProcess(t *testing.T) {
	store := rialto.NewFileStore(filepath.Join(t.TempDir(), "sub", "state.json"))
	to := uint64(7)
	s := start(t, &server{tail: &chatv1.Position{Epoch: 1, Seq: 7}, script: func(_ int, c *conn) { c.untilGone() }})
	s.sync = func(after *chatv1.Position) *chatv1.SyncResponse { return stream(to)(after) }
	for first := uint64(1); first < 15; first += 7 {
		c, events := s.client(store)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		for want := first; want < first+7; want++ {
			if e := <-events; e.Message.GetSeq() != want {
				t.Fatalf("got event %d, want %d", e.Message.GetSeq(), want)
			}
		}
		if first == 1 { // a message sent while Run was running is kept, and refused only in the next process
			c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "kept"}})
		}
		for { // the page's position is kept a moment after its last event
			state, err := store.Load()
			if err != nil {
				t.Fatal(err)
			}
			if state.Seq == first+6 {
				break
			}
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want %v", err, context.Canceled)
		}
		state, err := store.Load()
		if err != nil {
			t.Fatal(err)
		}
		if len(state.Outbox) != 1 || state.ClientSeq != 1 {
			t.Errorf("the store has %+v", state)
		}
		s.mu.Lock()
		to = 14
		s.tail = &chatv1.Position{Epoch: 1, Seq: 14}
		s.mu.Unlock()
	}
}

// TestRefusalOfAKeptMessage: nobody waits for the message, so the refusal is an event.
func TestRefusalOfAKeptMessage(t *testing.T) {
	store := rialto.NewMemoryStore()
	s := start(t, &server{script: func(_ int, c *conn) {
		for sends := c.sends(); sends != nil; sends = c.sends() {
			c.write(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{ClientSeq: sends[0].ClientSeq, Error: &gatewayv1.Error{Reason: "no_conversation"}}}})
		}
	}})
	before, _ := s.client(store)
	before.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "kept"}})
	after, events := s.client(store)
	run(t, after)
	if e := <-events; e.Refused.GetError().GetReason() != "no_conversation" || e.Refused.ClientSeq != 1 {
		t.Errorf("%v came", e)
	}
}

// TestLastQueued: the newest message on its way can be answered, not an update, nor one of another conversation, nor one that is stored.
func TestLastQueued(t *testing.T) {
	s := start(t, &server{script: func(_ int, c *conn) {
		for sends := c.sends(); sends != nil; sends = c.sends() {
			for _, send := range sends {
				c.write(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: send.Conversation, ClientSeq: send.ClientSeq, Id: "id", Seq: send.ClientSeq}}})
			}
		}
	}})
	c, _ := s.client(rialto.NewMemoryStore())
	text := &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}}
	edit := &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: 1}, Content: text}}}
	if n := c.LastQueued(7); n != 0 {
		t.Errorf("nothing is queued: got %d", n)
	}
	c.Queue(7, text)
	wait := c.Queue(7, text)
	c.Queue(7, edit)
	c.Queue(8, text)
	if n := c.LastQueued(7); n != 2 {
		t.Errorf("got %d, want the second message", n)
	}
	run(t, c)
	if _, err := wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := c.LastQueued(7); n != 0 {
		t.Errorf("all is stored: got %d", n)
	}
}

// TestReset: a reset is handed over, and the position continues where the server says.
func TestReset(t *testing.T) {
	s := start(t, &server{tail: &chatv1.Position{Epoch: 2, Seq: 500}, script: func(_ int, c *conn) {
		e := event(501, 500)
		e.Epoch = 2
		c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{e}})
		c.untilGone()
	}, sync: func(*chatv1.Position) *chatv1.SyncResponse {
		return &chatv1.SyncResponse{Reset_: true, Next: &chatv1.Position{Epoch: 2, Seq: 500}}
	}})
	c, events := s.client(nil)
	run(t, c)
	if e := <-events; !e.Reset {
		t.Errorf("%v came first", e)
	}
	if e := <-events; e.Message.GetSeq() != 501 || !e.Live {
		t.Errorf("%v came then", e)
	}
}

// TestSeqsOfLostMessages: after a reset, a message is handed over whose seq another had that the server has lost since.
func TestSeqsOfLostMessages(t *testing.T) {
	s := start(t, &server{tail: &chatv1.Position{Epoch: 2, Seq: 500}, script: func(_ int, c *conn) {
		e := event(501, 500)
		e.Epoch = 2
		e.GetMessage().Seq = 3
		c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{e}})
		c.untilGone()
	}, sync: func(*chatv1.Position) *chatv1.SyncResponse {
		return &chatv1.SyncResponse{Reset_: true, Next: &chatv1.Position{Epoch: 2, Seq: 500}}
	}})
	store := rialto.NewMemoryStore()
	if err := store.Save(rialto.State{User: 1, Device: 2, Access: "a", Refresh: "r", Epoch: 1, Seq: 900, Seen: map[uint64]uint64{7: 40}}); err != nil {
		t.Fatal(err)
	}
	c, events := s.client(store)
	run(t, c)
	if e := <-events; !e.Reset {
		t.Errorf("%v came first", e)
	}
	if e := <-events; e.Message.GetSeq() != 3 {
		t.Errorf("%v came then", e)
	}
}

// TestReadsOnWhileTheServerDoesNot: a server that stops reading, because it is not read from fast enough, is read from all the
// same, while messages and marks wait to be written: else both would wait for ever.
func TestReadsOnWhileTheServerDoesNot(t *testing.T) {
	const messages, size, pushed = 200, 100_000, 20_000
	resume := make(chan struct{})
	s := start(t, &server{script: func(_ int, c *conn) {
		c.sends() // and no more: the rest fills what lies between
		for seq := uint64(1); seq <= pushed; seq++ {
			c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{event(seq, seq-1)}})
		}
		<-resume
		c.untilGone()
	}})
	c, events := s.client(nil)
	text := &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat("x", size)}}
	for range messages {
		c.Queue(7, text)
	}
	run(t, c)
	defer close(resume)
	for want := uint64(1); want <= pushed; want++ {
		if e := <-events; e.Message.GetSeq() != want {
			t.Fatalf("got %v, want event %d", e, want)
		}
		if want%10 == 0 {
			c.Mark(7, want, want)
		}
	}
}

// TestGoodbyes: which close reasons make a client sign out, stop, or reconnect.
func TestGoodbyes(t *testing.T) {
	for _, tc := range []struct {
		code   uint32
		want   error
		signed bool
	}{{4000, nil, true}, {4008, nil, true}, {4101, nil, true}, {4100, rialto.ErrStayAway, true}, {4103, rialto.ErrStayAway, true}, {4102, rialto.ErrSignedOut, false}} {
		t.Run(fmt.Sprint(tc.code), func(t *testing.T) {
			s := start(t, &server{script: func(n int, c *conn) {
				sends := c.sends()
				if n == 1 {
					c.write(&gatewayv1.ServerFrame{Bye: &gatewayv1.Bye{Code: tc.code, Reason: "because"}})
					return
				}
				c.store(sends)
				c.untilGone()
			}})
			c, _ := s.client(nil)
			wait := c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}})
			ended := run(t, c)
			if tc.want == nil {
				if _, err := wait(t.Context()); err != nil {
					t.Error(err)
				}
			} else if err := <-ended; !errors.Is(err, tc.want) {
				t.Errorf("Run returned %v", err)
			}
			if c.SignedIn() != tc.signed {
				t.Errorf("signed in: %v", c.SignedIn())
			}
			if !tc.signed {
				if _, err := wait(t.Context()); !errors.Is(err, rialto.ErrSignedOut) {
					t.Errorf("the waiting call got %v", err)
				}
			}
		})
	}
}

// TestWithoutSockets a client chats by calls.
func TestWithoutSockets(t *testing.T) {
	s := start(t, &server{sync: stream(4)})
	s.refuse.Store(503)
	c, events := s.client(nil)
	run(t, c)
	if _, err := c.SendText(t.Context(), 7, "hello"); err != nil {
		t.Error(err)
	}
	var refused *rialto.SendError
	if _, err := c.SendText(t.Context(), 7, "forbidden"); !errors.As(err, &refused) || refused.Code != "permission_denied" {
		t.Errorf("a refusal: got %v", err)
	}
	for want := uint64(1); want <= 4; want++ {
		if e := <-events; e.Message.GetSeq() != want {
			t.Fatalf("got event %d, want %d", e.Message.GetSeq(), want)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) != 2 || s.calls[0].ClientSeq != 1 || s.calls[1].ClientSeq != 2 {
		t.Errorf("the server got %v", s.calls)
	}
}

// TestOneRefreshForMany: a refresh token is good once.
func TestOneRefreshForMany(t *testing.T) {
	s := start(t, &server{})
	s.expires = time.Now()
	c, _ := s.client(nil)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := c.Chat().GetConversation(t.Context(), connect.NewRequest(&chatv1.GetConversationRequest{Conversation: 7})); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if s.refreshes != 1 {
		t.Errorf("%d refreshes", s.refreshes)
	}
}

// TestWatchesAndCursorsAreRepeated: watches, the device's activity and read cursors are sent again on the next connection.
func TestWatchesAndCursorsAreRepeated(t *testing.T) {
	said := make(chan *gatewayv1.ClientFrame, 10)
	s := start(t, &server{script: func(n int, c *conn) {
		all := c.read()
		if marks := c.read(); len(all.GetMarks()) == 0 { // after the sync
			proto.Merge(all, marks)
		}
		said <- all
		if n == 2 {
			c.untilGone()
		}
	}})
	c, _ := s.client(nil)
	c.Watch(4, 5)
	c.WatchReaders(&gatewayv1.WatchedMessage{Conversation: 7, Seq: 2})
	c.SetAway(true)
	c.Mark(7, 9, 3)
	c.Mark(7, 2, 6)
	run(t, c)
	want := &gatewayv1.ClientFrame{Watch: &gatewayv1.Watch{Users: []uint64{4, 5}}, WatchReaders: &gatewayv1.WatchReaders{Messages: []*gatewayv1.WatchedMessage{{Conversation: 7, Seq: 2}}}, Activity: presencev1.Activity_ACTIVITY_AWAY,
		Marks: []*gatewayv1.Mark{{Conversation: 7, DeliveredSeq: 9, ReadSeq: 6}}}
	for range 2 {
		if f := <-said; !proto.Equal(f, want) {
			t.Errorf("the client sent %v", f)
		}
	}
}

// TestAnotherUser: another user neither sends the last user's messages nor continues at that position.
func TestAnotherUser(t *testing.T) {
	s := start(t, &server{})
	store := rialto.NewMemoryStore()
	c, _ := s.client(store)
	wait := c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "of the first user"}})
	other := s.session()
	other.User = 99
	if err := c.Adopt(other); err != nil {
		t.Fatal(err)
	}
	if _, err := wait(t.Context()); !errors.Is(err, rialto.ErrSignedOut) {
		t.Errorf("the waiting call got %v", err)
	}
	if state, err := store.Load(); err != nil || state.User != 99 || len(state.Outbox) != 0 || state.ClientSeq != 0 {
		t.Errorf("the state is %+v, want that of user 99 without unsent messages; error %v", state, err)
	}
}

// TestFileStore: the store returns what was saved, and its errors name an invalid file.
func TestFileStore(t *testing.T) {
	f := rialto.NewFileStore(filepath.Join(t.TempDir(), "state.json"))
	want := rialto.State{User: 1, Device: 2, Epoch: 3, Seq: 4, ClientSeq: 5, Seen: map[uint64]uint64{6: 7}, Outbox: []rialto.Unsent{{ClientSeq: 5, Conversation: 6, Content: []byte{1, 2}}}}
	for range 2 {
		if err := f.Save(want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Load()
	if err != nil || got.Seq != 4 || got.Seen[6] != 7 || !slices.Equal(got.Outbox[0].Content, []byte{1, 2}) {
		t.Errorf("the state is %+v, want the stored one; error %v", got, err)
	}
	if _, err := rialto.New(rialto.Config{URL: "chat.example.com"}); err == nil {
		t.Error("a URL without a scheme was accepted")
	}
}

// TestAnEndInTheMiddleOfAFrame: events that were handed over before the end are not repeated.
func TestAnEndInTheMiddleOfAFrame(t *testing.T) {
	asked, release := make(chan struct{}, 1), make(chan struct{})
	s := start(t, &server{tail: &chatv1.Position{}, script: func(_ int, c *conn) {
		c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{event(1, 0), event(2, 1), event(5, 4)}})
		c.untilGone()
	}, sync: func(after *chatv1.Position) *chatv1.SyncResponse {
		if after.GetSeq() == 0 { // that of the new connection
			return &chatv1.SyncResponse{Next: after}
		}
		asked <- struct{}{}
		<-release
		return &chatv1.SyncResponse{}
	}})
	store := rialto.NewMemoryStore()
	c, events := s.client(store)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	<-asked
	cancel()
	<-ended
	close(release)
	if state, err := store.Load(); err != nil || state.Seq != 2 || state.Seen[7] != 2 || len(events) != 2 {
		t.Errorf("%d events were handed over, and %+v is kept, %v", len(events), state, err)
	}
}

// TestRefusalsOfCalls have the server's word; one for now leaves the message to be sent again.
func TestRefusalsOfCalls(t *testing.T) {
	s := start(t, &server{})
	s.refuse.Store(503)
	c, _ := s.client(nil)
	run(t, c)
	var refused *rialto.SendError
	if _, err := c.SendText(t.Context(), 7, "blocked"); !errors.As(err, &refused) || refused.Reason != "blocked" || refused.Message != "no" || rialto.Reason(err) != "blocked" {
		t.Errorf("a refusal: got %v", err)
	}
	if _, err := c.SendText(t.Context(), 7, "busy"); err != nil {
		t.Errorf("one that was refused for now: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.calls); n < 3 || s.calls[n-1].Content.GetText() != "busy" || s.calls[n-2].Content.GetText() != "busy" {
		t.Errorf("the server got %v", s.calls)
	}
}

// TestOneRunAtATime: two would send and hand over each for itself.
func TestOneRunAtATime(t *testing.T) {
	s := start(t, &server{script: func(_ int, c *conn) {
		for sends := c.sends(); sends != nil; sends = c.sends() {
			c.store(sends)
		}
	}})
	c, _ := s.client(nil)
	for range 2 { // it may run again after its end
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		if _, err := c.SendText(t.Context(), 7, "hello"); err != nil {
			t.Error(err)
		}
		if err := c.Run(t.Context()); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("a second one: %v", err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	}
}

// TestMarksOfManyConversations: read cursors are sent in frames within the server's limits.
func TestMarksOfManyConversations(t *testing.T) {
	const many = 2500
	said := make(chan map[uint64]bool, 1)
	s := start(t, &server{script: func(_ int, c *conn) {
		marked := map[uint64]bool{}
		for len(marked) < many {
			f := c.read()
			if f == nil {
				return
			}
			if len(f.Marks) > 1000 {
				t.Errorf("%d marks in a frame", len(f.Marks))
			}
			for _, m := range f.Marks {
				marked[m.Conversation] = true
			}
		}
		said <- marked
		c.untilGone()
	}})
	c, _ := s.client(nil)
	for n := range uint64(many) {
		c.Mark(n+1, 1, 1)
	}
	run(t, c)
	if marked := <-said; len(marked) != many {
		t.Errorf("%d marks came", len(marked))
	}
}

// TestADeviceIsKnownByItsKey at each login after the first.
func TestADeviceIsKnownByItsKey(t *testing.T) {
	s := start(t, &server{})
	c, _ := s.client(rialto.NewMemoryStore())
	if err := c.Login(t.Context(), "alice", "a good password"); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.logins) != 2 || s.logins[0] != "0 " || s.logins[1] != "2 rd_key" {
		t.Errorf("the logins are %q, want one without a key and one with it", s.logins)
	}
}
