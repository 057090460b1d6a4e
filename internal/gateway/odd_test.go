package gateway

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
)

// What a node of the next release delivers, and this one does not know, takes nothing else with it. Of what is damaged nobody knows
// for whom it was: all are compared.
func TestOddDeliveriesAreLeftOut(t *testing.T) {
	for name, test := range map[string]struct {
		odd     []byte
		unknown int64
		hinted  bool
	}{
		"unknown": {[]byte{3, 0x7e, 1, 2}, 1, false},
		"damaged": {[]byte{3, 1, 255, 255}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			checked(t, func(c *conn, r *rooms) {
				event := func(at message.Position) []byte {
					return (&message.Delivery{Kind: message.DeliverEvent, Body: []byte{0x22, 0}, Targets: []message.Target{{User: c.caller.User, At: at, Prev: at - 1}}}).Append(nil)
				}
				d := deliverer{server: c.server}
				d.deliver(append(append(event(11), test.odd...), event(12)...))
				events := 0
				for list := sent(t, c); list != nil; list = sent(t, c) {
					for _, f := range list {
						events += len(f.Events)
					}
				}
				if events != 2 || c.at != 12 {
					t.Errorf("%d events came, up to %d", events, c.at)
				}
				if got := c.server.Stats().Unknown.Load(); got != test.unknown {
					t.Errorf("%d were counted", got)
				}
				r.tail.Store(13)
				pass(4 * time.Second)
				if hinted(t, c) != test.hinted {
					t.Errorf("compared at once: %v, want %v", !test.hinted, test.hinted)
				}
			})
		})
	}
}

// An entry that is named comes as if it had been sent. One that cannot be had is missed, so all are compared.
func TestNamedDeliveries(t *testing.T) {
	for name, had := range map[string]bool{"had": true, "not to be had": false} {
		t.Run(name, func(t *testing.T) {
			checked(t, func(c *conn, r *rooms) {
				c.server.deps.Entry = func(of id.Conversation, seq, record uint64) []byte {
					if of != 7 || seq != 8 || record != 9 {
						t.Errorf("asked for %d of %d in %d", seq, of, record)
					}
					if !had {
						return nil
					}
					e := message.Entry{Sender: 5, Content: message.AppendText(nil, "hello")}
					return e.Append(nil)
				}
				d := deliverer{server: c.server}
				d.deliver((&message.Delivery{Kind: message.DeliverNamed, Conversation: 7, Seq: 8, Record: 9, Targets: []message.Target{{User: c.caller.User, At: 11, Prev: 10}}}).Append(nil))
				var texts []string
				for list := sent(t, c); list != nil; list = sent(t, c) {
					for _, f := range list {
						for _, e := range f.Events {
							texts = append(texts, e.GetMessage().GetContent().GetText())
						}
					}
				}
				if had && (len(texts) != 1 || texts[0] != "hello") || !had && len(texts) > 0 {
					t.Errorf("%q came", texts)
				}
				r.tail.Store(12)
				pass(4 * time.Second)
				if hinted(t, c) == had {
					t.Errorf("compared at once: %v, want %v", had, !had)
				}
			})
		})
	}
}
