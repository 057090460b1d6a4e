package rialto_test

import (
	"sync/atomic"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// Hints of new posts, of notifications and of decisions are events of their own.
func TestHintsAreEvents(t *testing.T) {
	s := start(t, &server{script: func(_ int, c *conn) {
		c.write(&gatewayv1.ServerFrame{Posts: []*gatewayv1.PostHint{{Post: 8, Author: 2}, {Post: 9, Author: 3}}, Notifications: &gatewayv1.NotificationHint{Read: 5}, Decisions: &gatewayv1.DecisionHint{}})
		c.untilGone()
	}})
	c, events := s.client(nil)
	run(t, c)
	for _, want := range []uint64{8, 9} {
		if e := <-events; e.Post.GetPost() != want || !e.Live {
			t.Fatalf("got %+v, want post %d", e, want)
		}
	}
	if e := <-events; e.Notifications.GetRead() != 5 || !e.Live {
		t.Fatalf("got %+v, want notifications that are read up to 5", e)
	}
	if e := <-events; e.Decisions == nil || !e.Live {
		t.Fatalf("got %+v, want a hint of decisions", e)
	}
}

// TestLargeGroupIsPulled: a push that skips messages makes the client read them first.
func TestLargeGroupIsPulled(t *testing.T) {
	s := start(t, &server{script: func(_ int, c *conn) {
		for _, seq := range []uint64{5, 6, 9, 8, 10} {
			c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{{Body: &chatv1.Event_Message{Message: message(9, seq)}}}})
		}
		c.untilGone()
	}, history: func(r *chatv1.HistoryRequest) *chatv1.HistoryResponse {
		return &chatv1.HistoryResponse{Messages: []*chatv1.Message{message(9, r.After+1)}, More: true}
	}})
	c, events := s.client(nil)
	run(t, c)
	for want := uint64(5); want <= 10; want++ {
		if e := <-events; e.Message.GetSeq() != want {
			t.Fatalf("got event %d, want %d", e.Message.GetSeq(), want)
		}
	}
}

// TestAHintThatNamesGroupsIsPulled: the client reads the named groups to where they have come, and does not sync. Pushes continue from there.
func TestAHintThatNamesGroupsIsPulled(t *testing.T) {
	push := func(seq uint64) *gatewayv1.ServerFrame {
		return &gatewayv1.ServerFrame{Events: []*chatv1.Event{{Body: &chatv1.Event_Message{Message: message(9, seq)}}}}
	}
	var syncs atomic.Int32
	s := start(t, &server{script: func(_ int, c *conn) {
		c.write(push(5))
		c.write(&gatewayv1.ServerFrame{Hint: &gatewayv1.Hint{Conversations: []*chatv1.LargeTail{{Conversation: 9, LastSeq: 8}}}})
		c.write(&gatewayv1.ServerFrame{Hint: &gatewayv1.Hint{Conversations: []*chatv1.LargeTail{{Conversation: 9, LastSeq: 7}}}})
		c.write(push(9))
		c.untilGone()
	}, history: func(r *chatv1.HistoryRequest) *chatv1.HistoryResponse {
		return &chatv1.HistoryResponse{Messages: []*chatv1.Message{message(9, r.After+1)}, More: true}
	}})
	s.sync = func(after *chatv1.Position) *chatv1.SyncResponse {
		syncs.Add(1)
		return &chatv1.SyncResponse{Next: after}
	}
	c, events := s.client(nil)
	run(t, c)
	for want := uint64(5); want <= 9; want++ {
		if e := <-events; e.Message.GetSeq() != want {
			t.Fatalf("got event %d, want %d", e.Message.GetSeq(), want)
		}
	}
	if n := syncs.Load(); n > 1 {
		t.Errorf("it synced %d times, want at most once, after it connected", n)
	}
}

// TestLargeGroupIsPulledAfterAReconnect: messages of a large group do not move the stream's position, so its tail does not show missing ones.
func TestLargeGroupIsPulledAfterAReconnect(t *testing.T) {
	var newest atomic.Uint64
	newest.Store(5)
	s := start(t, &server{script: func(n int, c *conn) {
		if n == 1 {
			c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{{Body: &chatv1.Event_Message{Message: message(9, 5)}}}})
			c.sends()
			newest.Store(8)
			return
		}
		c.untilGone()
	}, history: func(r *chatv1.HistoryRequest) *chatv1.HistoryResponse {
		return &chatv1.HistoryResponse{Messages: []*chatv1.Message{message(9, r.After+1)}, More: true}
	}})
	s.sync = func(after *chatv1.Position) *chatv1.SyncResponse {
		return &chatv1.SyncResponse{Next: after, Large: []*chatv1.LargeTail{{Conversation: 9, LastSeq: newest.Load()}}}
	}
	c, events := s.client(nil)
	run(t, c)
	c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}}) // then the connection ends
	for want := uint64(6); want <= 8; want++ {
		e := <-events
		for e.Message.GetSeq() == 5 {
			e = <-events
		}
		if e.Message.GetSeq() != want {
			t.Fatalf("got event %d, want %d", e.Message.GetSeq(), want)
		}
	}
}
