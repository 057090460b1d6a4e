package rialto_test

import (
	"context"
	"testing"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// TestAcceptedMessagesWaitForTheirReceipt: a message that the server holds is not sent again, and is not stored before its receipt.
func TestAcceptedMessagesWaitForTheirReceipt(t *testing.T) {
	held := make(chan uint64, 10)
	release := make(chan struct{})
	s := start(t, &server{script: func(_ int, c *conn) {
		for sends := c.sends(); sends != nil; sends = c.sends() {
			for _, m := range sends {
				c.write(&gatewayv1.ServerFrame{Accepted: []*gatewayv1.Accepted{{Conversation: m.Conversation, ClientSeq: m.ClientSeq}}})
				held <- m.ClientSeq
			}
			if sends[0].ClientSeq == 2 {
				<-release
				for seq := range uint64(2) {
					c.write(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{{Conversation: 5, ClientSeq: seq + 1, Seq: seq + 7}}})
				}
			}
		}
	}})
	c, _ := s.client(nil)
	run(t, c)
	first := c.Queue(5, text("a"))
	if <-held != 1 {
		t.Error("the first message is not the first")
	}
	second := c.Queue(5, text("b"))
	<-held
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Flush(ended); err == nil {
		t.Error("messages without a receipt count as sent")
	}
	close(release)
	for i, wait := range []func(context.Context) (*gatewayv1.Receipt, error){first, second} {
		if r, err := wait(t.Context()); err != nil || r.Seq != uint64(i)+7 {
			t.Errorf("message %d has the receipt %v, %v", i+1, r, err)
		}
	}
	if len(held) > 0 {
		t.Errorf("message %d was sent again", <-held)
	}
}
