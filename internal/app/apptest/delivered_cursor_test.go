package apptest_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// A delivered cursor moves only when a device acknowledges what was pushed to it, or a page that it requested.
func TestAcknowledgementsAdvanceTheDeliveredCursor(t *testing.T) {
	h := apptest.Open(t, nil)
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	c := h.Direct(t, ann, bob)
	b, _ := bob.Socket(t, "rialto.v1.proto")
	delivered := func(seq uint64) {
		t.Helper()
		b.Until(func(f *gatewayv1.ServerFrame) bool {
			for _, e := range f.Events {
				if m := e.GetMark(); m != nil && m.DeliveredSeq == seq && m.ReadSeq == 0 && m.User == ann.User {
					return true
				}
			}
			return false
		})
	}
	a, _ := ann.Socket(t, "rialto.v1.proto")
	first := h.Send(t, bob, c, "1", "pushed")
	a.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, e := range f.Events {
			if e.GetMessage().GetSeq() == first.Seq {
				a.Write(&gatewayv1.ClientFrame{Ack: &chatv1.Position{Epoch: e.Epoch, Seq: e.Seq}})
				return true
			}
		}
		return false
	})
	delivered(first.Seq)

	a.Conn.CloseNow()
	second := h.Send(t, bob, c, "2", "pulled")
	after := &chatv1.Position{}
	for {
		page, err := h.Chat().Sync(t.Context(), apptest.As(ann, &chatv1.SyncRequest{After: after}))
		must(t, err)
		after = page.Msg.Next
		if n := len(page.Msg.Events); n == 0 {
			continue // not fanned out yet
		} else if page.Msg.Events[n-1].GetMessage().GetSeq() == second.Seq {
			break
		}
	}
	_, err := h.Chat().Sync(t.Context(), apptest.As(ann, &chatv1.SyncRequest{After: after}))
	must(t, err)
	delivered(second.Seq)
}
