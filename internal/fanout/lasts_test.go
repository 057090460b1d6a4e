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

	"github.com/rialto-im/rialto/internal/fanout"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/timeline"
)

// stateOf a user as an event says it.
func stateOf(n byte) []byte { return message.AppendBody(nil, message.FieldRelation, []byte{n}) }

// states gives what a user's stream says, in order.
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

// outboxes are those of two nodes, which share one.
func outboxes(t *testing.T) (db *sqldb.DB, boxes [2]*job.Outbox) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	db, err := sqldb.Open(t.Context(), place)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	for i := range boxes {
		boxes[i], err = job.NewOutbox(t.Context(), db, slog.New(slog.DiscardHandler))
		must(t, err)
	}
	return db, boxes
}

// TestACarrierOfTheOutboxIsPaused between reading events and handing them over. Another node carries them, and later ones; then the
// first goes on. Whoever has the user by then, the stream ends with what was last.
func TestACarrierOfTheOutboxIsPaused(t *testing.T) {
	for has, name := range []string{"the paused node has the user", "the other node has the user", "the user moves to the paused node", "the user moves from the paused node"} {
		t.Run(name, func(t *testing.T) { testPausedCarrier(t, has) })
	}
	noneLeft(t)
}

func testPausedCarrier(t *testing.T, has int) {
	const user = id.User(4)
	w := newWorkers(t, 2)
	db, boxes := outboxes(t)
	w.lasts = boxes[1].Lasts
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
	held, let, told := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for i := range 2 {
		turn := job.NewTurn(w.names[i], func(name string) bool { return name != w.names[0] || !dead.Load() }, nil)
		carry := func(ctx context.Context, events []job.Event) error {
			notices := make([]fanout.Notice, len(events))
			for i, e := range events {
				notices[i] = fanout.Notice{User: e.User, Body: e.Body, Turn: e.Turn}
			}
			if i == 0 {
				close(held)
				<-let
			}
			err := w.workers[i].Notify(ctx, notices)
			if i == 0 {
				told <- err
			}
			return err
		}
		running.Go(func() { must(t, boxes[i].RunInTurn(ctx, turn, carry)) })
		if i == 0 {
			turn.Begin(0)
			put(1)
			<-held
			dead.Store(true)
		} else {
			turn.Begin(0)
		}
	}
	put(2)
	for !bytes.Contains(w.states(user), []byte{2}) { // the first may be there twice
		runtime.Gosched()
	}
	all([]int{0, 1, 0, 1}[has])
	close(let)
	if err := <-told; err == nil {
		t.Error("what was handed over in a turn that is over was taken")
	}
	if got := w.states(user); got[len(got)-1] != 2 { // some come twice, together, where the bus lost an answer
		t.Errorf("the stream says %q", got)
	}
	put(3)
	for got := w.states(user); got[len(got)-1] != 3; got = w.states(user) {
		runtime.Gosched()
	}
	stop()
	running.Wait()
	for _, stop := range w.stops {
		stop()
	}
	must(t, w.log.Close())
}

// TestAPostIsHeld between the question whether its turn lasts and the log. Meanwhile the turn is over, the user's partition goes to another
// node, which stores what is later, and is to come back: that waits for the post, which the log refuses.
func TestAPostIsHeld(t *testing.T) {
	const user = id.User(4)
	p := int(inbox(user).Partition())
	w := newWorkers(t, 2)
	var turn atomic.Value
	turn.Store("1")
	w.lasts = func(_ context.Context, t string) (bool, error) { return t == turn.Load(), nil }
	r := rand.New(rand.NewPCG(1, 1))
	w.move(r, p, 0)
	held, let, told := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	hold := func() {
		close(held)
		<-let
	}
	w.shared.hold.Store(&hold)
	go func() {
		told <- w.workers[0].Notify(t.Context(), []fanout.Notice{{User: user, Body: stateOf(1), Turn: "1"}})
	}()
	<-held
	turn.Store("2")
	w.move(r, p, 1)
	for w.workers[1].Notify(t.Context(), []fanout.Notice{{User: user, Body: stateOf(2), Turn: "2"}}) != nil {
		runtime.Gosched() // it does not have it yet
	}
	w.shared.mu.Lock()
	takes := w.shared.takes
	w.shared.mu.Unlock()
	w.move(r, p, 0)
	for {
		w.shared.mu.Lock()
		taken := w.shared.takes > takes
		w.shared.mu.Unlock()
		if taken || takeWaits() {
			break
		}
		runtime.Gosched()
	}
	close(let)
	if err := <-told; err == nil {
		t.Error("what was handed over in a turn that is over was taken")
	}
	if got := string(w.states(user)); got != "\x02" {
		t.Errorf("the stream says %q", got)
	}
	for _, stop := range w.stops {
		stop()
	}
	must(t, w.log.Close())
	noneLeft(t)
}

// takeWaits tells whether a carrier waits to take a partition.
func takeWaits() bool {
	buf := make([]byte, 1<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "fanout.(*carrier).take") && strings.Contains(g, "sync.(*RWMutex).Lock") {
			return true
		}
	}
	return false
}
