// Package bustest is the suite that every bus passes.
package bustest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/bus"
)

// Run holds a bus to its port's promises.
func Run(t *testing.T, open func(t *testing.T) bus.Bus) {
	t.Run("each publisher's order is kept", func(t *testing.T) {
		b := open(t)
		const publishers, messages = 4, 200
		var mu sync.Mutex
		got := map[byte][]byte{}
		var all sync.WaitGroup
		all.Add(publishers * messages)
		cancel, err := b.Subscribe("s", func(data []byte) {
			mu.Lock()
			got[data[0]] = append(got[data[0]], data[1])
			mu.Unlock()
			all.Done()
		})
		if err != nil {
			t.Fatal(err)
		}
		defer cancel()
		for p := range publishers {
			go func() {
				data := make([]byte, 2) // reused: a bus does not keep it
				for m := range messages {
					data[0], data[1] = byte(p), byte(m)
					if err := b.Publish("s", data); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		all.Wait()
		for p, seen := range got {
			if !slices.IsSorted(seen) || len(seen) != messages {
				t.Errorf("publisher %d: %d messages, sorted: %v", p, len(seen), slices.IsSorted(seen))
			}
		}
	})
	t.Run("subjects are apart, and a cancelled subscriber hears nothing", func(t *testing.T) {
		b := open(t)
		heard := make(chan string, 10)
		listen := func(name, subject string) func() {
			cancel, err := b.Subscribe(subject, func(data []byte) { heard <- fmt.Sprintf("%s %s", name, data) })
			if err != nil {
				t.Fatal(err)
			}
			return cancel
		}
		gone := listen("gone", "a")
		listen("first", "a")
		listen("other", "b")
		gone()
		for _, subject := range []string{"a", "b"} {
			if err := b.Publish(subject, []byte(subject)); err != nil {
				t.Fatal(err)
			}
		}
		got := []string{<-heard, <-heard}
		slices.Sort(got)
		if want := []string{"first a", "other b"}; !slices.Equal(got, want) || len(heard) > 0 {
			t.Errorf("heard %v", got)
		}
	})
}
