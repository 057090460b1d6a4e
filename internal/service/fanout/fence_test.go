package fanout_test

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/fanout"
)

// stateOf encodes a user's state as an event body.
func stateOf(n byte) []byte { return message.AppendBody(nil, message.FieldRelation, []byte{n}) }

// states returns the states in a user's stream, in order.
func (w *workers) states(u id.User) (all []byte) {
	w.t.Helper()
	entries, err := w.log.Read(context.Background(), inbox(u), 0, 1000)
	must(w.t, err)
	for _, e := range entries {
		_, _, body, err := message.DecodeInbox(e.Payload)
		must(w.t, err)
		all = append(all, body[len(body)-1])
	}
	return all
}

// outboxes returns the outboxes of two nodes that share a database.
func outboxes(t *testing.T) (db *sqldb.DB, boxes [2]*job.Outbox) {
	url := sqltest.Schema(t, sqltest.Postgres(t))
	db, err := sqldb.Open(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	for i := range boxes {
		boxes[i], err = job.NewOutbox(t.Context(), db, slog.New(slog.DiscardHandler))
		must(t, err)
	}
	return db, boxes
}

// TestAPausedOutboxNodeSendsNothingLate: a node pauses between reading events and sending them. Another node sends these and later ones,
// then the first resumes. Whichever node owns the user, the stream ends with the latest event.
func TestAPausedOutboxNodeSendsNothingLate(t *testing.T) {
	for has, name := range []string{"the paused node has the user", "the other node has the user", "the user moves to the paused node", "the user moves from the paused node"} {
		t.Run(name, func(t *testing.T) { testPausedOutboxNode(t, has) })
	}
	noGoroutines(t)
}

func testPausedOutboxNode(t *testing.T, has int) {
	const user = id.User(4)
	w := newWorkers(t, 2)
	db, boxes := outboxes(t)
	w.isCurrent = boxes[1].IsCurrent
	r := rand.New(rand.NewPCG(1, 1))
	all := func(to int) {
		for p := range timeline.Partitions {
			w.move(r, p, to)
		}
	}
	put := func(n byte) {
		must(t, db.Write(t.Context(), func(tx *sql.Tx) error {
			return boxes[1].Put(t.Context(), tx, job.Event{User: user, Body: stateOf(n)})
		}))
		boxes[0].Wake()
		boxes[1].Wake()
	}
	all([]int{0, 1, 1, 0}[has])
	var dead atomic.Bool
	paused, resume, notified := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for i := range 2 {
		lease := job.NewOutboxLease(w.names[i], func(name string) bool { return name != w.names[0] || !dead.Load() }, nil)
		dispatch := func(ctx context.Context, events []job.Event) error {
			notices := make([]fanout.Notice, len(events))
			for i, e := range events {
				notices[i] = fanout.Notice{User: e.User, Body: e.Body, Fence: e.Fence}
			}
			if i == 0 {
				close(paused)
				<-resume
			}
			err := w.workers[i].Notify(ctx, notices)
			if i == 0 {
				notified <- err
			}
			return err
		}
		running.Go(func() { must(t, boxes[i].RunLeased(ctx, lease, dispatch)) })
		if i == 0 {
			lease.Assigned(cluster.NewGrant(ctx, 0, terms.Add(1)))
			put(1)
			<-paused
			dead.Store(true)
		} else {
			lease.Assigned(cluster.NewGrant(ctx, 0, terms.Add(1)))
		}
	}
	put(2)
	eventually.True(t, "the second state is stored", func() bool { return bytes.Contains(w.states(user), []byte{2}) }) // the first may be stored twice
	all([]int{0, 1, 0, 1}[has])
	close(resume)
	if err := <-notified; err == nil {
		t.Error("an event of an ended lease was accepted")
	}
	if got := w.states(user); got[len(got)-1] != 2 { // an event is repeated if the bus lost an answer
		t.Errorf("the stream's states are %q", got)
	}
	put(3)
	eventually.True(t, "the third state is the last", func() bool { return bytes.HasSuffix(w.states(user), []byte{3}) })
	stop()
	running.Wait()
	for _, stop := range w.stops {
		stop()
	}
	must(t, w.log.Close())
}

// TestADelayedPostIsRejected: a post is delayed between the check of its fence and the log. Meanwhile the lease ends, and the user's partition
// moves to another node, which stores later events. Its return waits for the post, which the log rejects.
func TestADelayedPostIsRejected(t *testing.T) {
	const user = id.User(4)
	p := int(inbox(user).Partition())
	w := newWorkers(t, 2)
	var lease atomic.Value
	lease.Store("1")
	w.isCurrent = func(_ context.Context, t string) (bool, error) { return t == lease.Load(), nil }
	r := rand.New(rand.NewPCG(1, 1))
	w.move(r, p, 0)
	paused, resume, notified := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	pause := func() {
		close(paused)
		<-resume
	}
	w.shared.beforePost.Store(&pause)
	go func() {
		notified <- w.workers[0].Notify(t.Context(), []fanout.Notice{{User: user, Body: stateOf(1), Fence: "1"}})
	}()
	<-paused
	lease.Store("2")
	w.move(r, p, 1)
	eventually.True(t, "the other node has the partition", func() bool {
		return w.workers[1].Notify(t.Context(), []fanout.Notice{{User: user, Body: stateOf(2), Fence: "2"}}) == nil
	})
	w.shared.mu.Lock()
	acquisitions := w.shared.acquisitions
	w.shared.mu.Unlock()
	w.move(r, p, 0)
	eventually.True(t, "the partition is acquired, or Acquire waits", func() bool {
		w.shared.mu.Lock()
		defer w.shared.mu.Unlock()
		return w.shared.acquisitions > acquisitions || acquireWaits()
	})
	close(resume)
	if err := <-notified; err == nil {
		t.Error("an event of an ended lease was accepted")
	}
	if got := string(w.states(user)); got != "\x02" {
		t.Errorf("the stream's states are %q", got)
	}
	for _, stop := range w.stops {
		stop()
	}
	must(t, w.log.Close())
	noGoroutines(t)
}

// acquireWaits reports whether a dispatcher waits for acquireLock.
func acquireWaits() bool {
	buf := make([]byte, 1<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "fanout.(*dispatcher).acquire") && strings.Contains(g, "sync.(*RWMutex).Lock") {
			return true
		}
	}
	return false
}
