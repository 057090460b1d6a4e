package rialto_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// held is a sync that waits at the server.
type held struct {
	*chatv1.SyncRequest
	ctx    context.Context
	answer chan<- *chatv1.SyncResponse
}

// holding returns a server whose sockets are blocked, and the syncs that wait at it.
func holding(t *testing.T) (*server, <-chan held) {
	t.Helper()
	calls := make(chan held)
	s := &server{sync: stream(1), tail: &chatv1.Position{Epoch: 1, Seq: 2}}
	s.refuse.Store(503)
	s.waits = func(ctx context.Context, r *chatv1.SyncRequest) (*chatv1.SyncResponse, error) {
		answer := make(chan *chatv1.SyncResponse, 1)
		select {
		case calls <- held{r, ctx, answer}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		select {
		case page := <-answer:
			return page, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return start(t, s), calls
}

// TestEventsWithoutSockets: a call that waits brings what comes, as live events, and names how far large groups are.
func TestEventsWithoutSockets(t *testing.T) {
	s, calls := holding(t)
	c, events := s.client(nil)
	run(t, c)
	if e := <-events; e.Message.GetSeq() != 1 || e.Live {
		t.Errorf("got %v, want the first message, from a sync", e)
	}
	first := <-calls
	if first.After.GetSeq() != 1 || first.WaitMs == 0 || len(first.Large) != 0 {
		t.Errorf("the first call that waits was %v", first.SyncRequest)
	}
	tails := []*chatv1.LargeTail{{Conversation: 9, LastSeq: 30}}
	first.answer <- &chatv1.SyncResponse{Events: []*chatv1.Event{event(2, 1)}, Next: &chatv1.Position{Epoch: 1, Seq: 2}, Large: tails}
	if e := <-events; e.Message.GetSeq() != 2 || !e.Live {
		t.Errorf("got %v, want the second message, live", e)
	}
	second := <-calls
	if second.After.GetSeq() != 2 || len(second.Large) != 1 || second.Large[0].Conversation != 9 || second.Large[0].LastSeq != 30 {
		t.Errorf("the second call that waits was %v", second.SyncRequest)
	}
}

// TestSendingWithoutSockets: a message and a cursor end a call that waits, and go at once.
func TestSendingWithoutSockets(t *testing.T) {
	s, calls := holding(t)
	c, _ := s.client(nil)
	run(t, c)
	waiting := <-calls
	sent := c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}})
	<-waiting.ctx.Done()
	if r, err := sent(t.Context()); err != nil || r.Seq != 1 {
		t.Errorf("the message was answered %v, %v", r, err)
	}
	waiting = <-calls
	c.Mark(7, 5, 4)
	<-waiting.ctx.Done()
	<-calls // what was to be sent was sent before
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) != 1 || fmt.Sprint(s.marks) != "[7:5,4]" {
		t.Errorf("%d messages were sent, and the cursors %v", len(s.calls), s.marks)
	}
}

// TestBackToTheSocket: tries to open a socket go on while calls wait. When one opens, polling ends, and events come once.
func TestBackToTheSocket(t *testing.T) {
	s, calls := holding(t)
	push := make(chan struct{})
	s.script = func(_ int, c *conn) {
		<-push
		c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{event(3, 2)}})
		c.untilGone()
	}
	c, events := s.client(nil)
	run(t, c)
	waiting := <-calls
	waiting.answer <- &chatv1.SyncResponse{Events: []*chatv1.Event{event(2, 1)}, Next: &chatv1.Position{Epoch: 1, Seq: 2}}
	waiting = <-calls
	s.refuse.Store(0)
	<-waiting.ctx.Done()
	close(push)
	for want := uint64(1); want <= 3; want++ {
		if e := <-events; e.Message.GetSeq() != want {
			t.Errorf("got %v, want message %d", e, want)
		}
	}
	select {
	case late := <-calls:
		t.Errorf("beside the socket, %v waits", late.SyncRequest)
	default:
	}
}

// TestCallsThatWaitAreBroken: a network that breaks calls that wait does not keep messages from being sent.
func TestCallsThatWaitAreBroken(t *testing.T) {
	s, _ := holding(t)
	var waited atomic.Int32
	s.waits = func(context.Context, *chatv1.SyncRequest) (*chatv1.SyncResponse, error) {
		waited.Add(1)
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("broken by a proxy"))
	}
	plain, known := s.sync, make(chan struct{})
	know := sync.OnceFunc(func() { close(known) })
	s.sync = func(after *chatv1.Position) *chatv1.SyncResponse {
		if waited.Load() > 0 {
			know() // a call that does not wait follows the one that failed
		}
		return plain(after)
	}
	c, _ := s.client(nil)
	run(t, c)
	<-known
	for n := uint64(1); n <= 3; n++ {
		if r, err := c.SendText(t.Context(), 7, "hello"); err != nil || r.Seq != n {
			t.Errorf("message %d was answered %v, %v", n, r, err)
		}
	}
	if n := waited.Load(); n != 1 {
		t.Errorf("%d calls waited, want 1", n)
	}
}
