package rialto_test

import (
	"strings"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// The client offers compression, and reads frames in which the server merged and compressed several events. A frame that is small on the
// wire and huge after decompression ends the connection; the next one continues.
func TestCompressedFramesAreBounded(t *testing.T) {
	long := func(seq uint64) *chatv1.Event {
		e := event(seq, seq-1)
		e.GetMessage().Content = &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat("compressible ", 1000)}}
		return e
	}
	s := start(t, &server{compresses: true, sync: stream(2), script: func(n int, c *conn) {
		if n > 1 {
			c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{event(3, 2)}})
			c.untilGone()
			return
		}
		c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{long(1), long(2)}})
		c.write(&gatewayv1.ServerFrame{Request: 1, Result: &gatewayv1.Result{Payload: make([]byte, 16<<20)}}) // the client ends the connection meanwhile
		c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{event(3, 2)}})
		c.untilGone()
	}})
	c, events := s.client(nil)
	run(t, c)
	for want := uint64(1); want <= 3; want++ {
		if e := <-events; e.Message.GetSeq() != want {
			t.Fatalf("got event %d, want %d", e.Message.GetSeq(), want)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(s.offered, "permessage-deflate") || s.dials != 2 {
		t.Errorf("it offered %q, and opened %d connections", s.offered, s.dials)
	}
}
