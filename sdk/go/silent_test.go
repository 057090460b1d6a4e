package rialto_test

import (
	"sync"
	"testing"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// TestASilentNode: the client leaves a node that accepts a connection but does not answer, and tries another.
func TestASilentNode(t *testing.T) {
	s := start(t, &server{
		silent: func(n int) (before, after bool) { return n == 1, n == 2 },
		script: func(_ int, c *conn) {
			c.store(c.sends())
			c.untilGone()
		}})
	s.openWithin = 200 * time.Millisecond
	c, _ := s.client(nil)
	wait := c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}})
	run(t, c)
	if _, err := wait(t.Context()); err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tries < 3 {
		t.Errorf("it went out at try %d", s.tries)
	}
}

// TestAnUnresponsiveNode: the client leaves a node that stops answering pings, although the connection stays open.
func TestAnUnresponsiveNode(t *testing.T) {
	second := make(chan struct{})
	again := sync.OnceFunc(func() { close(second) })
	s := start(t, &server{
		heartbeatMs: 20,
		script: func(n int, c *conn) {
			if n == 1 {
				<-second
				return
			}
			again()
			c.untilGone()
		}})
	c, _ := s.client(nil)
	run(t, c)
	<-second
}

// TestANodeThatDoesNotAnswerSyncs: while pushes lag, a sync that gets no answer does not hold up what is pushed.
func TestANodeThatDoesNotAnswerSyncs(t *testing.T) {
	s := start(t, &server{})
	s.script = func(_ int, c *conn) {
		c.sends() // after the first sync
		s.mu.Lock()
		s.mute = true
		s.mu.Unlock()
		c.write(&gatewayv1.ServerFrame{Pong: &gatewayv1.Pong{TimeMs: time.Now().UnixMilli()}})
		late := event(1, 0)
		late.GetMessage().TimeMs = time.Now().Add(-time.Minute).UnixMilli()
		c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{late}})
		c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{event(2, 1)}})
		c.untilGone()
	}
	c, events := s.client(nil)
	c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}})
	run(t, c)
	for _, want := range []uint64{1, 2} {
		select {
		case e := <-events:
			if e.Message.GetSeq() != want {
				t.Fatalf("got %v, want message %d", e, want)
			}
		case <-time.After(20 * time.Second): // a call ends after 30 s
			t.Fatalf("message %d is not there", want)
		}
	}
}
