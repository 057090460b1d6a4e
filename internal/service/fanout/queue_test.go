package fanout

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"pgregory.net/rapid"
)

// userIn returns a user of a partition.
func userIn(p uint16) id.User {
	for u := id.User(1); ; u++ {
		if partitionOf(u) == p {
			return u
		}
	}
}

// eventFor is a batch with an event for a user of each partition.
func eventFor(bytes int, partitions ...uint16) *batch {
	it := item{kind: message.DeliverEvent, body: make([]byte, bytes)}
	for _, p := range partitions {
		it.members = append(it.members, userIn(p))
	}
	return &batch{items: []item{it}}
}

// TestQueuesKeepTheirOrder: whichever sender has a partition, and however often an attempt fails, batches are stored in queue order, each
// is finished when all of its partitions have stored it, and no two senders have a partition at once.
func TestQueuesKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const partitions, senders = 5, 3
		q := &queues{}
		var waiting [partitions][]*batch // not stored, in order
		all := map[*batch]int{}          // partitions that have not stored it
		var taken [senders][]part
		r.Repeat(map[string]func(*rapid.T){
			"add": func(r *rapid.T) {
				b := &batch{bytes: rapid.IntRange(1, maxQueueBytes/8).Draw(r, "bytes"), partitions: partitionSet(rapid.IntRange(1, 1<<partitions-1).Draw(r, "partitions"))}
				b.pending.Store(int32(b.partitions.len()))
				if _, err := q.add(b); err != nil {
					return
				}
				all[b] = b.partitions.len()
				b.partitions.each(func(p uint16) { waiting[p] = append(waiting[p], b) })
			},
			"take": func(r *rapid.T) {
				n := rapid.IntRange(0, senders-1).Draw(r, "sender")
				if len(taken[n]) > 0 {
					return
				}
				taken[n] = q.take(nil, partitionSet(rapid.IntRange(0, 1<<partitions-1).Draw(r, "of")), rapid.IntRange(1, maxQueueBytes).Draw(r, "most"))
				var next [partitions]int
				for _, t := range taken[n] {
					t.of.each(func(p uint16) {
						if waiting[p][next[p]] != t.batch {
							r.Fatalf("partition %d: batch %d was taken out of order", p, t.number)
						}
						next[p]++
						for other := range taken {
							if other != n && slices.ContainsFunc(taken[other], func(o part) bool { return o.of.has(p) }) {
								r.Fatalf("two senders have partition %d", p)
							}
						}
					})
				}
			},
			"settle": func(r *rapid.T) {
				n := rapid.IntRange(0, senders-1).Draw(r, "sender")
				lost := partitionSet(rapid.IntRange(0, 1<<partitions-1).Draw(r, "lost"))
				q.settle(taken[n], lost)
				for _, t := range taken[n] {
					(t.of &^ lost).each(func(p uint16) {
						waiting[p] = waiting[p][1:]
						all[t.batch]--
					})
				}
				taken[n] = nil
			},
			"": func(r *rapid.T) {
				bytes := 0
				for b, n := range all {
					if int(b.pending.Load()) != n {
						r.Fatalf("batch %d waits for %d partitions, want %d", b.number, b.pending.Load(), n)
					}
					if n > 0 {
						bytes += b.bytes
					}
				}
				if q.bytes != bytes {
					r.Fatalf("%d bytes are counted, want %d", q.bytes, bytes)
				}
				for p, list := range waiting {
					if !slices.Equal(q.of[p].batches, list) || q.nonEmpty.has(uint16(p)) != (len(list) > 0) {
						r.Fatalf("partition %d has %d batches, want %d", p, len(q.of[p].batches), len(list))
					}
				}
			},
		})
	})
}

// TestSkippedBatchesAreSentNext: a sender has no room for a partition. settle returns that partition once the others are sent, even if
// nothing more waits for them.
func TestSkippedBatchesAreSentNext(t *testing.T) {
	q := &queues{}
	for _, p := range []uint16{3, 4} {
		if _, err := q.add(&batch{bytes: 100, partitions: setOf(p)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []struct{ sent, more partitionSet }{{setOf(3), setOf(4)}, {setOf(4), 0}} {
		parts := q.take(nil, allPartitions, 100)
		if len(parts) != 1 || parts[0].of != want.sent {
			t.Fatalf("took %v, want one of %b", parts, want.sent)
		}
		if more := q.settle(parts, 0); more != want.more {
			t.Errorf("partitions with more to send: %b, want %b", more, want.more)
		}
	}
}

// scripted is a bus whose requests are answered by the test.
type scripted struct {
	bus.Bus
	requests chan request
}

type request struct {
	node   string
	data   []byte
	answer chan []byte // nil: no answer
}

func (s scripted) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	r := request{subject[len("node.") : len(subject)-len(".post")], slices.Clone(data), make(chan []byte, 1)}
	select {
	case s.requests <- r:
	case <-ctx.Done():
		return nil, bus.ErrNoAnswer
	}
	select {
	case answer := <-r.answer:
		if answer == nil {
			return nil, bus.ErrNoAnswer
		}
		return answer, nil
	case <-ctx.Done():
		return nil, bus.ErrNoAnswer
	}
}

// sender is a worker that owns no partition and sends everything.
type sender struct {
	*Worker
	owners [timeline.Partitions]atomic.Pointer[string]
	bus    scripted
}

// newSender returns a worker whose partitions the node "far" owns. The test changes the owners.
func newSender(t *testing.T) *sender {
	s := &sender{bus: scripted{requests: make(chan request)}}
	for p := range s.owners {
		s.own(uint16(p), "far")
	}
	s.Worker = New(Deps{Node: "here", Bus: s.bus, Owner: func(p uint16) string { return *s.owners[p].Load() }, Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(t.Context())
	s.peers.start(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.resend(ctx)
	}()
	t.Cleanup(func() {
		stop()
		s.peers.stop()
		<-done
	})
	return s
}

// own makes a node the owner of a partition.
func (s *sender) own(p uint16, node string) { s.owners[p].Store(&node) }

// users returns the users that a request is for, in order.
func (r request) users(t *testing.T) (users []id.User) {
	var d message.Delivery
	for data := r.data; len(data) > 0; {
		var err error
		if data, err = d.Next(data); err != nil {
			t.Fatal(err)
		}
		for _, target := range d.Targets {
			users = append(users, target.User)
		}
	}
	return users
}

func usersIn(partitions ...uint16) (users []id.User) {
	for _, p := range partitions {
		users = append(users, userIn(p))
	}
	return users
}

// TestBatchesForANodeShareARequest: batches that are queued for a node during a request are sent together in the next one.
func TestBatchesForANodeShareARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t)
		put(t, s, 100, 3)
		first := eventually.Receive(t, "the first request", s.bus.requests)
		put(t, s, 100, 9, 4)
		put(t, s, 100, 3)
		put(t, s, 100, 7)
		first.answer <- []byte{statusStored}
		second := eventually.Receive(t, "the second request", s.bus.requests)
		second.answer <- []byte{statusStored}
		if got, want := second.users(t), usersIn(9, 4, 3, 7); !slices.Equal(got, want) {
			t.Errorf("the second request is for %v, want %v", got, want)
		}
		synctest.Wait()
		if s.queues.bytes != 0 || s.queues.nonEmpty != 0 {
			t.Errorf("%d bytes still wait", s.queues.bytes)
		}
	})
}

func put(t *testing.T, s *sender, bytes int, partitions ...uint16) {
	t.Helper()
	if err := s.enqueue(t.Context(), eventFor(bytes, partitions...)); err != nil {
		t.Fatal(err)
	}
}

// TestAMovedPartitionIsSentToItsNewOwner: batches that were not stored go to the partition's new owner, with later ones. The request's
// other partitions are not repeated. Without an owner, batches wait.
func TestAMovedPartitionIsSentToItsNewOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t)
		put(t, s, 1, 3, 4)
		first := eventually.Receive(t, "the first request", s.bus.requests)
		put(t, s, 2, 3)
		s.own(3, "")
		first.answer <- []byte{statusStored, 3}
		time.Sleep(time.Minute)
		s.own(3, "near")
		second := eventually.Receive(t, "the second request", s.bus.requests)
		if got, want := second.users(t), usersIn(3, 3); second.node != "near" || !slices.Equal(got, want) {
			t.Errorf("sent %v to %s, want %v to near", got, second.node, want)
		}
		second.answer <- []byte{statusStored}
		synctest.Wait()
		if s.queues.bytes != 0 {
			t.Errorf("%d bytes still wait", s.queues.bytes)
		}
	})
}

// TestALostPartitionStopsLaterRequests: batches that do not fit into one request follow in another one, but not if the first reports a lost
// partition. Otherwise later events would be stored before earlier ones.
func TestALostPartitionStopsLaterRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t)
		large := &batch{}
		for range 3 {
			large.items = append(large.items, item{kind: message.DeliverEvent, body: make([]byte, bus.MaxData*2/5), members: usersIn(3)})
		}
		if err := s.enqueue(t.Context(), large); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			answer []byte
			events int
		}{{[]byte{statusStored, 3}, 2}, {nil, 2}, {[]byte{statusStored}, 2}, {[]byte{statusStored}, 1}} {
			r := eventually.Receive(t, "a request", s.bus.requests)
			if got := len(r.users(t)); got != step.events {
				t.Fatalf("a request has %d events, want %d", got, step.events)
			}
			r.answer <- step.answer
		}
		synctest.Wait()
		if s.queues.bytes != 0 {
			t.Errorf("%d bytes still wait", s.queues.bytes)
		}
	})
}

// TestQueuesAreBoundedByBytes: a queue whose owner does not answer takes no more than its bound, and all queues together no more than
// theirs. A full queue affects no other one. A batch larger than the bound need not wait until a queue is empty, and a finished batch releases its
// items.
func TestQueuesAreBoundedByBytes(t *testing.T) {
	w := New(Deps{Node: "here", Owner: func(uint16) string { return "" }})
	fill := func(bytes int, p uint16) (n int) {
		for {
			switch err := w.enqueue(t.Context(), eventFor(bytes, p)); {
			case err == nil:
				n++
			case errors.Is(err, errQueueFull):
				return n
			default:
				t.Fatal(err)
			}
		}
	}
	if n := fill(maxQueueBytes/16, 0); n != 15 {
		t.Errorf("a queue took %d sixteenths of its bound", n)
	}
	if err := w.enqueue(t.Context(), eventFor(100, 1)); err != nil {
		t.Fatal(err)
	}
	if n := fill(2*maxQueueBytes, 1); n != 1 {
		t.Errorf("a queue with a small batch took %d that are larger than its bound", n)
	}
	for p := uint16(2); p < 40; p++ {
		fill(maxQueueBytes/4, p)
	}
	if got := w.queues.bytes; got > maxWaitingBytes || got < maxWaitingBytes-maxQueueBytes/4-100 {
		t.Errorf("%d bytes wait; the bound is %d", got, maxWaitingBytes)
	}
	parts := w.queues.take(nil, allPartitions, 1<<30)
	if len(parts) == 0 {
		t.Fatal("the queues are empty")
	}
	w.queues.settle(parts, 0)
	if parts[0].items != nil || w.queues.bytes != 0 {
		t.Errorf("finished batches still hold items, or %d bytes are counted", w.queues.bytes)
	}
}

// TestAFullLaneAbandonsABatch: a batch's part does not fit into a lane before its context ends. The batch is finished once its partitions
// have stored it, and its memory is free for others.
func TestAFullLaneAbandonsABatch(t *testing.T) {
	w := New(Deps{})
	b := eventFor(100, 3)
	b.items = append(b.items, item{kind: message.DeliverFollow, conversation: 7, members: usersIn(3)})
	lane, _ := b.items[1].lane()
	for range laneQueue {
		w.lanes[lane].tryEnqueue(part{&batch{}, 0})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.enqueue(ctx, b); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want %v", err, context.Canceled)
	}
	w.queues.settle(w.queues.take(nil, allPartitions, 1<<30), 0)
	if b.pending.Load() != 0 || w.queues.bytes != 0 {
		t.Errorf("the batch waits for %d lanes and partitions; %d bytes are counted", b.pending.Load(), w.queues.bytes)
	}
}

// TestLanesAreBoundedByBytes: a lane that does not run accepts no more than its bound. A larger part waits until the lane is empty.
func TestLanesAreBoundedByBytes(t *testing.T) {
	l := New(Deps{}).lanes[0]
	for range 64 {
		l.tryEnqueue(part{&batch{bytes: laneBytes / 16}, 0})
	}
	if n := len(l.given); n != 16 {
		t.Errorf("a lane accepted %d sixteenths of its bound", n)
	}
	large := part{&batch{bytes: 2 * laneBytes}, 0}
	given := make(chan error, 1)
	go func() { given <- l.enqueue(t.Context(), large) }()
	for last := (part{}); last.batch != large.batch; {
		last = eventually.Receive(t, "a part", l.given)
		l.capacity.Release(last.cost())
	}
	if err := <-given; err != nil {
		t.Error(err)
	}
}
