package rialto_test

import (
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// TestAPingReportsRetries: a ping reports the number of retries and the latency of the last answer.
func TestAPingReportsRetries(t *testing.T) {
	pings := make(chan *gatewayv1.Ping, 100)
	s := start(t, &server{
		heartbeatMs: 20,
		drops:       func(n int) bool { return n <= 2 },
		script: func(_ int, c *conn) {
			for f := c.next(); f != nil; f = c.next() {
				if f.Ping != nil {
					pings <- f.Ping
				}
			}
		}})
	c, _ := s.client(nil)
	run(t, c)
	if p := <-pings; p.Retries != 2 {
		t.Errorf("the first ping says %v; want 2 retries", p)
	}
}

// TestLatePushesCauseASync: a late push makes the client sync, which returns the missing messages.
func TestLatePushesCauseASync(t *testing.T) {
	s := start(t, &server{
		sync: func(after *chatv1.Position) *chatv1.SyncResponse {
			r := &chatv1.SyncResponse{Next: &chatv1.Position{Epoch: 1, Seq: 2}}
			for seq := after.GetSeq() + 1; seq <= 2; seq++ {
				r.Events = append(r.Events, event(seq, seq-1))
			}
			return r
		},
		script: func(_ int, c *conn) {
			c.write(&gatewayv1.ServerFrame{Pong: &gatewayv1.Pong{TimeMs: 100_000}})
			late := event(1, 0)
			late.GetMessage().TimeMs = 1_000
			c.write(&gatewayv1.ServerFrame{Events: []*chatv1.Event{late}}) // the second is never pushed
			c.untilGone()
		}})
	c, events := s.client(nil)
	run(t, c)
	for seq := range uint64(2) {
		if e := <-events; e.Message.GetSeq() != seq+1 {
			t.Fatalf("after %d came %v", seq, e)
		}
	}
}
