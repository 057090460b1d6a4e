package fanout_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/fanout"
)

// partitionedBus is a bus on which a node reaches only itself while partitioned is set.
type partitionedBus struct {
	bus.Bus
	node string
	cut  *atomic.Bool
}

func (b partitionedBus) lost(subject string) bool {
	return b.cut.Load() && !strings.HasPrefix(subject, "node."+b.node+".")
}

func (b partitionedBus) Publish(subject string, data []byte) error {
	if b.lost(subject) {
		return nil
	}
	return b.Bus.Publish(subject, data)
}

func (b partitionedBus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if b.lost(subject) {
		<-ctx.Done()
		return nil, bus.ErrNoAnswer
	}
	return b.Bus.Request(ctx, subject, data)
}

// TestQueuedEventsOfAnUnreachableNodeFollowItsPartitions: a node becomes unreachable, and its partitions move to another node. Everything
// that waited for it, including an outbox event and more records than memory holds, is delivered before the network heals.
func TestQueuedEventsOfAnUnreachableNodeFollowItsPartitions(t *testing.T) {
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
		time.Sleep(time.Second)
		w.partitioned.Store(true)
		const messages = 3000
		var done sync.WaitGroup
		for range messages {
			w.append(c, textEntry("a"), &done)
		}
		done.Wait()
		sent := make(chan error, 1)
		go func() {
			sent <- w.workers[0].Notify(context.Background(), []fanout.Notice{{User: far, Body: stateOf(1)}})
		}()
		time.Sleep(20 * time.Second)
		w.move(r, of, 0) // as the cluster does
		for _, u := range []id.User{near, far} {
			until("every user's stream is complete", func() bool {
				entries, err := w.log.Read(context.Background(), inbox(u), 0, 10*messages)
				must(t, err)
				return len(entries) >= messages
			})
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		for _, stop := range w.stops {
			stop()
		}
		must(t, w.log.Close())
		must(t, w.bus.Close())
	})
}
