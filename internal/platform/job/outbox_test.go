package job_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/job"
)

var errBroken = errors.New("broken by the test")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB) (*sqldb.DB, *job.Outbox) {
	t.Helper()
	db, err := sqldb.Open(context.Background(), sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	o, err := job.NewOutbox(context.Background(), db, slog.New(slog.DiscardHandler))
	must(t, err)
	return db, o
}

func put(t testing.TB, db *sqldb.DB, o *job.Outbox, events ...job.Event) {
	t.Helper()
	must(t, db.Write(context.Background(), func(tx *sql.Tx) error { return o.Put(context.Background(), tx, events...) }))
}

func event(u id.User, n int) job.Event { return job.Event{User: u, Body: fmt.Append(nil, n)} }

// waiting returns the number of events in the table.
func waiting(t testing.TB, db *sqldb.DB) (n int) {
	t.Helper()
	must(t, db.Read().QueryRow(`SELECT count(*) FROM outbox`).Scan(&n))
	return n
}

// dispatched runs an outbox until n events have been dispatched, and returns all calls of dispatch.
func dispatched(t testing.TB, o *job.Outbox, n int, dispatch func(call int) error) (calls [][]job.Event) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	must(t, o.Run(ctx, func(_ context.Context, events []job.Event) error {
		calls = append(calls, events)
		if err := dispatch(len(calls)); err != nil {
			return err
		}
		if n -= len(events); n <= 0 {
			cancel()
		}
		return nil
	}))
	return calls
}

func always(int) error { return nil }

func TestEventsAreDispatchedInCommitOrder(t *testing.T) {
	db, o := open(t)
	const writers, each = 6, 200
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := 0; i < each; i += 2 {
				put(t, db, o, event(id.User(w), i), event(id.User(w), i+1))
				o.Wake()
			}
		})
	}
	calls := dispatched(t, o, writers*each, always)
	wait.Wait()
	next := map[id.User]int{}
	for _, events := range calls {
		for _, e := range events {
			if string(e.Body) != fmt.Sprint(next[e.User]) {
				t.Fatalf("user %d got %s, want %d", e.User, e.Body, next[e.User])
			}
			next[e.User]++
		}
	}
	for w := range writers {
		if next[id.User(w)] != each {
			t.Errorf("%d of %d", next[id.User(w)], each)
		}
	}
}

// TestEventsCommitWithTheirTransaction: an event is stored only if the transaction that puts it commits.
func TestEventsCommitWithTheirTransaction(t *testing.T) {
	db, o := open(t)
	err := db.Write(context.Background(), func(tx *sql.Tx) error {
		return errors.Join(o.Put(context.Background(), tx, event(1, 1)), errBroken)
	})
	if !errors.Is(err, errBroken) || waiting(t, db) != 0 {
		t.Errorf("%v, and %d events wait", err, waiting(t, db))
	}
	put(t, db, o, event(1, 2))
	if waiting(t, db) != 1 {
		t.Errorf("%d events wait", waiting(t, db))
	}
}

// TestEventsAreRetriedInOrder: after an error the same events are dispatched again before any later ones, and after a restart those that
// were not dispatched.
func TestEventsAreRetriedInOrder(t *testing.T) {
	db, o := open(t)
	const n = 1200
	var events []job.Event
	for i := range n {
		events = append(events, event(1, i))
	}
	put(t, db, o, events...)
	calls := dispatched(t, o, n, func(call int) error {
		if call == 1 || call == 3 {
			return errBroken
		}
		return nil
	})
	want := 0
	for i, events := range calls {
		if i == 1 || i == 3 { // the one before failed
			want -= len(calls[i-1])
		}
		for _, e := range events {
			if string(e.Body) != fmt.Sprint(want) {
				t.Fatalf("call %d: %s, want %d", i+1, e.Body, want)
			}
			want++
		}
	}
	if want != n {
		t.Errorf("%d of %d", want, n)
	}
	if len(calls) != 5 { // pages of 500, two of them twice
		t.Errorf("%d calls", len(calls))
	}

	put(t, db, o, event(1, n))
	next, err := job.NewOutbox(context.Background(), db, slog.New(slog.DiscardHandler))
	must(t, err)
	calls = dispatched(t, next, 1, always)
	if len(calls[0]) != 1 || string(calls[0][0].Body) != fmt.Sprint(n) {
		t.Errorf("after a restart: %d from %s", len(calls[0]), calls[0][0].Body)
	}
}

// TestLateRowsAreDispatched: rows that become visible only after later ones are dispatched too.
func TestLateRowsAreDispatched(t *testing.T) {
	db, o := open(t)
	at := func(n int) {
		t.Helper()
		must(t, db.Write(context.Background(), func(tx *sql.Tx) error {
			_, err := tx.Exec(`INSERT INTO outbox (n, owner, body) VALUES ($1, 1, $2)`, n, fmt.Append(nil, n))
			return err
		}))
	}
	for _, n := range []int{10, 11, 13} {
		at(n)
	}
	got := ""
	for _, events := range dispatched(t, o, 5, func(call int) error {
		if call == 1 {
			at(9)
			at(12)
		}
		return nil
	}) {
		for _, e := range events {
			got += string(e.Body) + " "
		}
	}
	if got != "10 11 13 9 12 " || waiting(t, db) != 0 {
		t.Errorf("got %s, and %d events wait", got, waiting(t, db))
	}
}

// TestStoppingDeletesNoEvents: events in progress when Run stops are not deleted.
func TestStoppingDeletesNoEvents(t *testing.T) {
	db, o := open(t)
	put(t, db, o, event(1, 1))
	ctx, cancel := context.WithCancel(context.Background())
	must(t, o.Run(ctx, func(context.Context, []job.Event) error {
		cancel()
		return context.Canceled
	}))
	if waiting(t, db) != 1 {
		t.Fatalf("%d events wait", waiting(t, db))
	}
	dispatched(t, o, 1, always)
}

// TestWake: events put while Run sleeps are dispatched at once, or, without a Wake, at the next poll.
func TestWake(t *testing.T) {
	db, o := open(t)
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan job.Event)
	ended := make(chan error)
	go func() {
		ended <- o.Run(ctx, func(_ context.Context, events []job.Event) error {
			for _, e := range events {
				got <- e
			}
			return nil
		})
	}()
	for i := range 50 {
		put(t, db, o, event(1, i))
		if i%20 != 19 {
			o.Wake()
		}
		if e := <-got; string(e.Body) != fmt.Sprint(i) {
			t.Fatalf("%s, want %d", e.Body, i)
		}
	}
	cancel()
	must(t, <-ended)
}
