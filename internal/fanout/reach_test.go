package fanout_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/fanout"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/timeline"
)

// cutOff is a bus on which a node reaches nobody else while cut says so.
type cutOff struct {
	bus.Bus
	node string
	cut  *atomic.Bool
}

func (b cutOff) lost(subject string) bool {
	return b.cut.Load() && !strings.HasPrefix(subject, "node."+b.node+".")
}

func (b cutOff) Publish(subject string, data []byte) error {
	if b.lost(subject) {
		return nil
	}
	return b.Bus.Publish(subject, data)
}

func (b cutOff) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if b.lost(subject) {
		<-ctx.Done()
		return nil, bus.ErrNoAnswer
	}
	return b.Bus.Request(ctx, subject, data)
}

// TestANodeThatBeatsIsCutOff on the bus. The others and it say so, so that its partitions go to another node: whatever waited for it by
// then, more than is kept in memory and an event of the outbox among it, reaches everybody, while the cut lasts. They say no more of it
// once it is over.
func TestANodeThatBeatsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkers(t, 2)
		const far = id.User(4)
		of := int(inbox(far).Partition())
		near, c := far+1, id.Conversation(1)
		for int(inbox(near).Partition()) == of {
			near++
		}
		for int(conversation(c).Partition()) == of {
			c++
		}
		w.chat.of[c] = []id.User{far, near}
		r := rand.New(rand.NewPCG(1, 1))
		for p := range timeline.Partitions {
			w.move(r, p, 0)
		}
		w.move(r, of, 1)
		until := func(what string, is func() bool) {
			t.Helper()
			for range 600 {
				if is() {
					return
				}
				time.Sleep(time.Second)
			}
			t.Fatal("after ten minutes: ", what)
		}
		cut := func(want int) func() bool {
			return func() bool { return len(w.workers[0].Cut()) == want && len(w.workers[1].Cut()) == want }
		}
		time.Sleep(30 * time.Second)
		if !cut(0)() {
			t.Errorf("%v, %v are said to be cut off, and are not", w.workers[0].Cut(), w.workers[1].Cut())
		}
		w.cut.Store(true)
		const messages = 3000
		var done sync.WaitGroup
		for range messages {
			w.append(c, textEntry("a"), &done)
		}
		done.Wait()
		told := make(chan error, 1)
		go func() {
			told <- w.workers[0].Notify(context.Background(), []fanout.Notice{{User: far, Body: stateOf(1)}})
		}()
		until("nobody says that a node is cut off", cut(1))
		if got := w.workers[0].Cut(); !slices.Equal(got, []string{"n1"}) {
			t.Errorf("%v are said to be cut off", got)
		}
		w.move(r, of, 0) // as the cluster does then
		for _, u := range []id.User{near, far} {
			until("somebody's stream waits", func() bool {
				entries, err := w.log.Read(context.Background(), inbox(u), 0, 10*messages)
				must(t, err)
				return len(entries) >= messages
			})
		}
		if err := <-told; err != nil {
			t.Error(err)
		}
		w.cut.Store(false)
		until("it is said to be cut off, and is not", cut(0))
		for _, stop := range w.stops {
			stop()
		}
		must(t, w.log.Close())
		must(t, w.bus.Close())
	})
}
