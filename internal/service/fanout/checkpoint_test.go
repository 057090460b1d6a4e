package fanout_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// TestCheckpointWaitsForAnotherNode: a batch waits for a node that cannot be reached, and later batches of the same partition are
// finished. The checkpoint stays below the waiting batch, so that the next worker delivers it.
func TestCheckpointWaitsForAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkers(t, 2)
		const waiting, finished = id.Conversation(1), 3
		far, near := id.User(2), id.User(3)
		for _, p := range []uint16{conversation(waiting).Partition(), inbox(near).Partition()} {
			if p == inbox(far).Partition() {
				t.Fatal("the users of two nodes share a partition")
			}
		}
		w.chat.of[waiting] = []id.User{far}
		conversations := []id.Conversation{waiting}
		for c := waiting + 1; len(conversations) <= finished; c++ {
			if conversation(c).Partition() == conversation(waiting).Partition() {
				w.chat.of[c] = []id.User{near}
				conversations = append(conversations, c)
			}
		}
		r := rand.New(rand.NewPCG(1, 1))
		for p := range timeline.Partitions {
			w.move(r, p, 0)
		}
		w.move(r, int(inbox(far).Partition()), 1)
		time.Sleep(10 * time.Second)
		w.partitioned.Store(true)

		var done sync.WaitGroup
		for _, c := range conversations {
			w.append(c, textEntry("a"), &done)
			done.Wait()
			time.Sleep(10 * time.Second) // one record each; all that can be delivered is, and checkpoints are saved
		}
		expect := func(when string, checkpoint uint64, farHas, nearHas int) {
			t.Helper()
			at, err := w.log.Checkpoint(context.Background(), conversation(waiting).Partition())
			must(t, err)
			posted := w.posted(near, far)
			if at != checkpoint || len(posted[far]) != farHas || len(posted[near]) != nearHas {
				t.Errorf("%s: the checkpoint is %d, want %d; the streams have %d and %d entries, want %d and %d",
					when, at, checkpoint, len(posted[far]), len(posted[near]), farHas, nearHas)
			}
		}
		expect("while a batch waits", 0, 0, finished)
		for _, stop := range w.stops {
			stop()
		}
		expect("after the stop", 0, 0, finished)
		w.start() // a worker that owns all partitions
		time.Sleep(10 * time.Second)
		expect("after the next start", 1+finished, 1, 2*finished)
		w.stop()
		must(t, w.log.Close())
		must(t, w.bus.Close())
	})
}
