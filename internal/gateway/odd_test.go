package gateway

import (
	"testing"
	"time"

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
