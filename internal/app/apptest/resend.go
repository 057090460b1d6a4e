package apptest

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// sends are the messages that a socket has sent, and those of them that the server refused for a time. A node that lacks CPU time refuses
// messages, for example while it waits for ids, and docs/protocol.md tells clients to send them again.
type sends struct {
	mu      sync.Mutex // guards the fields below
	written map[sendKey]*gatewayv1.Send
	refused []*gatewayv1.Send // to be sent again
}

// sendKey identifies a message of a device, as receipts name it.
type sendKey struct {
	conversation, clientSeq uint64
	clientMsgID             string
}

// keep remembers messages. They are not forgotten: a test may send a message again after its receipt.
func (k *sends) keep(list []*gatewayv1.Send) {
	if len(list) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.written == nil {
		k.written = map[sendKey]*gatewayv1.Send{}
	}
	for _, m := range list {
		k.written[sendKey{m.Conversation, m.ClientSeq, m.ClientMsgId}] = m
	}
}

// repeatRefused removes the receipts of messages that are refused for a time from a frame, and sends these messages again after it.
func (s *Socket) repeatRefused(f *gatewayv1.ServerFrame) {
	k := &s.sends
	k.mu.Lock()
	defer k.mu.Unlock()
	f.Receipts = slices.DeleteFunc(f.Receipts, func(r *gatewayv1.Receipt) bool {
		wait := time.Duration(r.Error.GetRetryMs()) * time.Millisecond
		m := k.written[sendKey{r.Conversation, r.ClientSeq, r.ClientMsgId}]
		if wait == 0 || m == nil {
			return false
		}
		if k.refused = append(k.refused, m); len(k.refused) == 1 {
			go s.resend(wait) // ends with the wait
		}
		return true
	})
}

// resend sends all refused messages again, in their order.
func (s *Socket) resend(after time.Duration) {
	if backoff.Sleep(s.t.Context(), after) != nil {
		return
	}
	s.sends.mu.Lock()
	list := s.sends.refused
	s.sends.refused = nil
	s.sends.mu.Unlock()
	slices.SortStableFunc(list, func(a, b *gatewayv1.Send) int { return cmp.Compare(a.ClientSeq, b.ClientSeq) })
	_ = s.write(&gatewayv1.ClientFrame{Sends: list}) // the reader gets the error of a broken connection as well
}
