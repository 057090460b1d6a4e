package natsbus_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/bus/natsbus"
)

// Messages beyond a slow subscriber's limit are dropped and counted, and it is notified, although nothing follows; other subscribers
// receive all messages.
func TestSlowSubscriber(t *testing.T) {
	for name, config := range map[string]natsbus.Config{"by number": {PendingMessages: 10}, "by bytes": {PendingBytes: 20_000}} {
		t.Run(name, func(t *testing.T) {
			config.Tally = 20 * time.Millisecond
			b := start(t, "n", config)
			began, release, received, missed := make(chan struct{}), make(chan struct{}), make(chan byte, 100), make(chan struct{}, 100)
			_, err := b.Subscribe("s", func(data []byte) {
				if data[0] == 0 {
					close(began)
					<-release
				}
				received <- data[0]
			}, func() { missed <- struct{}{} })
			must(t, err)
			_, err = b.Subscribe("last", func([]byte) { close(release) }, nil)
			must(t, err)
			data := make([]byte, 2000)
			for i := range 100 {
				data[0] = byte(i)
				must(t, b.Publish("s", data))
				if i == 0 {
					<-began
				}
			}
			must(t, b.Publish("last", nil)) // received after all other messages
			<-missed
			if len(received) == 0 || len(received) > 20 {
				t.Errorf("got %d messages", len(received))
			}
			for i := range len(received) {
				if got := <-received; int(got) != i {
					t.Errorf("got message %d at position %d", got, i)
				}
			}
			if s := b.Stats(); s.Dropped < 80 || s.Gaps == 0 {
				t.Errorf("got stats %+v", s)
			}
			// It receives messages again when it is fast enough.
			for got := byte(0); got != 200; {
				data[0] = 200
				must(t, b.Publish("s", data))
				got = <-received
			}
		})
	}
}
