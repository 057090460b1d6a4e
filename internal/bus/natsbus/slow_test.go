package natsbus_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/bus/natsbus"
)

// TestSlowSubscriber: what is beyond its bound is dropped and counted, and it is told, though nothing follows; others hear all.
func TestSlowSubscriber(t *testing.T) {
	for name, config := range map[string]natsbus.Config{"by number": {PendingMessages: 10}, "by bytes": {PendingBytes: 20_000}} {
		t.Run(name, func(t *testing.T) {
			config.Tally = 20 * time.Millisecond
			b := start(t, "n", config)
			began, release, heard, missed := make(chan struct{}), make(chan struct{}), make(chan byte, 100), make(chan struct{}, 100)
			_, err := b.Subscribe("s", func(data []byte) {
				if data[0] == 0 {
					close(began)
					<-release
				}
				heard <- data[0]
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
			must(t, b.Publish("last", nil)) // heard after all of them have come
			<-missed
			if len(heard) == 0 || len(heard) > 20 {
				t.Errorf("%d were heard", len(heard))
			}
			for i := range len(heard) {
				if got := <-heard; int(got) != i {
					t.Errorf("%d came as number %d", got, i)
				}
			}
			if s := b.Stats(); s.Dropped < 80 || s.Holes == 0 {
				t.Errorf("%+v", s)
			}
			// It goes on where it is quick again.
			for got := byte(0); got != 200; {
				data[0] = 200
				must(t, b.Publish("s", data))
				got = <-heard
			}
		})
	}
}
