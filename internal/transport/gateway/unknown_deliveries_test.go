package gateway

import (
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/message"
)

// A delivery of an unknown kind, from a node of a later release, does not affect the others in its bus message. The targets of a corrupt
// delivery are unknown, so all connections are reconciled.
func TestUnknownDeliveriesAreIgnored(t *testing.T) {
	for name, test := range map[string]struct {
		odd     []byte
		unknown int64
		hinted  bool
	}{
		"unknown": {[]byte{3, 0x7e, 1, 2}, 1, false},
		"damaged": {[]byte{3, 1, 255, 255}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			checked(t, func(c *conn, r *fakeServices) {
				event := func(at message.Position) []byte {
					return (&message.Delivery{Kind: message.DeliverEvent, Body: []byte{0x22, 0}, Targets: []message.Target{{User: c.caller.User, At: at, Prev: at - 1}}}).Append(nil)
				}
				r.tail.Store(13) // before the delivery: the reconciler may compare as soon as it is asked to
				d := deliverer{server: c.server}
				d.deliver(append(append(event(11), test.odd...), event(12)...))
				pass(4 * time.Second)
				var pushed []uint64
				hinted := false
				for list := sent(t, c); list != nil; list = sent(t, c) {
					for _, f := range list {
						hinted = hinted || f.Hint != nil
						for _, e := range f.Events {
							pushed = append(pushed, e.Seq)
						}
					}
				}
				if want := []uint64{11, 12}; !slices.Equal(pushed, want) {
					t.Errorf("the events %v were pushed, want %v", pushed, want)
				}
				if got := c.server.Stats().Unknown.Load(); got != test.unknown {
					t.Errorf("%d unknown deliveries were counted", got)
				}
				if hinted != test.hinted {
					t.Errorf("reconciled at once: %v, want %v", hinted, test.hinted)
				}
			})
		})
	}
}
