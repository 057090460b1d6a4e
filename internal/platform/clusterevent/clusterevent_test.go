package clusterevent_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
)

// node is one of several on a database.
type node struct {
	*clusterevent.Service
	t  *testing.T
	db *sqldb.DB

	mu        sync.Mutex // guards the fields below
	delivered []uint64   // Other of each event
	missed    int
}

func open(t *testing.T, place string, alone bool) *node {
	t.Helper()
	n := &node{t: t}
	var err error
	if n.db, err = sqldb.Open(t.Context(), place); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.db.Close(); err != nil {
			t.Error(err)
		}
	})
	deps := clusterevent.Deps{DB: n.db, Logger: slog.New(slog.DiscardHandler), SingleNode: alone, Handle: func(i clusterevent.Event) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if i.Kind != "kind" || i.User != 7 || i.Detail != "why" {
			t.Errorf("unexpected event %+v", i)
		}
		n.delivered = append(n.delivered, i.Other)
	}, Missed: func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.missed++
	}}
	if n.Service, err = clusterevent.New(t.Context(), deps); err != nil {
		t.Fatal(err)
	}
	return n
}

// add stores an event. Before it commits it waits for hold, if given, and rolls back with err, if given.
func (n *node) add(number uint64, begun chan<- struct{}, hold <-chan struct{}, err error) error {
	return n.db.Write(n.t.Context(), func(tx *sql.Tx) error {
		if err := n.Add(n.t.Context(), tx, clusterevent.Event{Kind: "kind", User: id.User(7), Other: number, Detail: "why"}); err != nil {
			return err
		}
		if hold != nil {
			close(begun)
			<-hold
		}
		return err
	})
}

// newEvents polls, and returns what was delivered since the last call.
func (n *node) newEvents() []uint64 {
	n.t.Helper()
	if err := clusterevent.Poll(n.t.Context(), n.Service); err != nil {
		n.t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delivered := n.delivered
	n.delivered = nil
	return delivered
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func checkEvents(t *testing.T, what string, got []uint64, want ...uint64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s got %v, want %v", what, got, want)
	}
}

// Rows are numbered when they are written. A row that is committed after a later one is still delivered, also to a node that started
// between the two. A number that is never committed is not queried forever.
func TestCommitsOutOfOrderAreDelivered(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	a, b, reader, late := open(t, place, false), open(t, place, false), open(t, place, false), open(t, place, false)
	held := func(number uint64, fate error) (finish func()) {
		begun, hold, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() { done <- a.add(number, begun, hold, fate) }()
		<-begun
		return func() {
			close(hold)
			if err := <-done; !errors.Is(err, fate) {
				t.Errorf("error %v, want %v", err, fate)
			}
		}
	}
	finish := held(1, nil)
	must(t, b.add(2, nil, nil, nil))
	checkEvents(t, "a reader between two commits", reader.newEvents(), 2)
	must(t, clusterevent.Restart(t.Context(), late.Service))
	finish()
	checkEvents(t, "the reader", reader.newEvents(), 1)
	checkEvents(t, "a node that started between them", late.newEvents(), 1)
	checkEvents(t, "the writer itself", a.newEvents(), 1, 2)
	checkEvents(t, "the reader, again", reader.newEvents())

	undone := errors.New("rolled back")
	finish = held(3, undone)
	must(t, b.add(4, nil, nil, nil))
	checkEvents(t, "the reader", reader.newEvents(), 4)
	finish()
	if clusterevent.Gaps(reader.Service) == 0 {
		t.Error("a number that may still be committed is not queried again")
	}
	reader.dropGaps()
	checkEvents(t, "a node that starts now", open(t, place, false).newEvents())
}

// dropGaps polls until no number is missing any more.
func (n *node) dropGaps() {
	n.t.Helper()
	clusterevent.Age(n.Service, clusterevent.MaxTransactionAge+1)
	for clusterevent.Gaps(n.Service) > 0 { // other tests on this server may have transactions open
		if n.t.Context().Err() != nil {
			n.t.Fatalf("%d numbers of no transaction are still queried", clusterevent.Gaps(n.Service))
		}
		checkEvents(n.t, "a reader with gaps", n.newEvents())
	}
}

// A commit may wait for longer than the retention. Its row is delivered to all then, and kept as long as any other.
func TestALateCommitIsDelivered(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	a, b, reader, other := open(t, place, false), open(t, place, false), open(t, place, false), open(t, place, false)
	must(t, a.add(1, nil, nil, nil))
	begun, hold, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { done <- a.add(2, begun, hold, nil) }()
	<-begun
	must(t, b.add(3, nil, nil, nil))
	checkEvents(t, "the reader", reader.newEvents(), 1, 3)
	checkEvents(t, "the other", other.newEvents(), 1, 3)
	pass := func(d time.Duration) {
		for ; d >= 0; d -= clusterevent.TrimInterval {
			clusterevent.Age(reader.Service, clusterevent.TrimInterval)
			clusterevent.Age(other.Service, clusterevent.TrimInterval)
			checkEvents(t, "the reader", reader.newEvents())
		}
	}
	pass(2 * clusterevent.Retention)
	close(hold)
	must(t, <-done)
	checkEvents(t, "the reader, after the late commit", reader.newEvents(), 2)
	pass(clusterevent.Retention - 2*clusterevent.TrimInterval)
	checkEvents(t, "a reader a little later", other.newEvents(), 2)
	if n := clusterevent.Gaps(reader.Service); n != 0 {
		t.Errorf("%d numbers are still missing", n)
	}
	pass(2 * clusterevent.Retention)
	var rows int
	must(t, reader.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM cluster_events`).Scan(&rows))
	if rows != 0 {
		t.Errorf("%d rows were never deleted", rows)
	}
}

// All nodes write at once, and each gets all events that were committed, including its own.
func TestAllNodesGetAllEvents(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	const each, writers = 30, 4
	nodes := []*node{open(t, place, false), open(t, place, false), open(t, place, false)}
	ctx, stop := context.WithCancel(t.Context())
	var running, writing sync.WaitGroup
	for _, n := range nodes {
		running.Go(func() { must(t, n.Run(ctx)) })
		n.Wake()
	}
	for i, n := range nodes {
		for w := range writers {
			writing.Go(func() {
				for k := range each {
					var fate error
					if k%5 == 4 {
						fate = errors.New("rolled back")
					}
					if err := n.add(uint64(i*1000+w*100+k), nil, nil, fate); !errors.Is(err, fate) {
						t.Errorf("error %v, want %v", err, fate)
					}
					nodes[(i+1)%len(nodes)].Wake()
				}
			})
		}
	}
	writing.Wait()
	stop()
	running.Wait()
	for i, n := range nodes {
		must(t, clusterevent.Poll(t.Context(), n.Service))
		seen := map[uint64]int{}
		for _, k := range n.delivered {
			seen[k]++
		}
		for j := range nodes {
			for w := range writers {
				for k := range each {
					want := 1
					if k%5 == 4 {
						want = 0
					}
					if got := seen[uint64(j*1000+w*100+k)]; got != want {
						t.Fatalf("node %d got event %d of node %d %d times, want %d", i, w*100+k, j, got, want)
					}
				}
			}
		}
	}
}

// Old rows are deleted. A node that could not read for too long is notified that it missed events.
func TestOldEventsAreDeleted(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	a, b, sleeper := open(t, place, false), open(t, place, false), open(t, place, false)
	must(t, a.add(1, nil, nil, nil))
	checkEvents(t, "b", b.newEvents(), 1)
	count := func() (n int) {
		must(t, b.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM cluster_events`).Scan(&n))
		return n
	}
	for at := clusterevent.TrimInterval; at <= clusterevent.Retention; at += clusterevent.TrimInterval {
		clusterevent.Age(b.Service, clusterevent.TrimInterval)
		checkEvents(t, "b", b.newEvents())
		if count() != 1 {
			t.Fatalf("the row was deleted after %v", at)
		}
	}
	clusterevent.Age(b.Service, clusterevent.TrimInterval)
	checkEvents(t, "b", b.newEvents())
	if count() != 0 || b.missed != 0 {
		t.Errorf("%d rows are left, and %d times events were missed; want 0 and 0", count(), b.missed)
	}
	clusterevent.Age(sleeper.Service, clusterevent.Retention)
	checkEvents(t, "the suspended node", sleeper.newEvents())
	if sleeper.missed != 1 {
		t.Errorf("Missed was called %d times; want 1", sleeper.missed)
	}
	must(t, a.add(2, nil, nil, nil))
	checkEvents(t, "the suspended node", sleeper.newEvents(), 2)
	checkEvents(t, "b", b.newEvents(), 2)
}

// A single node stores and delivers nothing.
func TestASingleNodeStoresNothing(t *testing.T) {
	n := open(t, filepath.Join(t.TempDir(), "records.db"), true)
	must(t, n.add(1, nil, nil, nil))
	n.Notify()
	var rows int
	must(t, n.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM cluster_events`).Scan(&rows))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	must(t, n.Run(ctx))
	if rows != 0 || len(n.delivered) != 0 {
		t.Errorf("%d rows, and %v was delivered; want none", rows, n.delivered)
	}
}

// TestSyncFails with the poll that it caused, and not over and over while the database cannot be read. That is logged once in a while.
func TestSyncFails(t *testing.T) {
	n := open(t, filepath.Join(t.TempDir(), "records.db"), true)
	var log bytes.Buffer
	s, err := clusterevent.New(t.Context(), clusterevent.Deps{DB: n.db, Logger: slog.New(slog.NewTextHandler(&log, nil)), Handle: func(clusterevent.Event) {}})
	must(t, err)
	must(t, n.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `DROP TABLE cluster_events`)
		return err
	}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	for range 20 {
		limited, end := context.WithTimeout(t.Context(), 10*time.Second)
		if err := s.Sync(limited); err == nil || limited.Err() != nil {
			t.Fatalf("Sync has %v", err)
		}
		end()
	}
	cancel()
	must(t, <-done)
	if lines := strings.Count(log.String(), "could not be read"); lines != 1 {
		t.Errorf("%d lines are logged", lines)
	}
}

// TestSync returns when all that was committed before is delivered, without the bus, and not while the database cannot be read.
func TestSync(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	a, reader, alone := open(t, place, false), open(t, place, false), open(t, place, true)
	must(t, alone.Sync(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- reader.Run(ctx) }()
	for i := range uint64(20) {
		must(t, a.add(i+1, nil, nil, nil))
		must(t, reader.Sync(t.Context()))
		reader.mu.Lock()
		delivered := reader.delivered
		reader.mu.Unlock()
		if len(delivered) != int(i)+1 || delivered[i] != i+1 {
			t.Fatalf("after event %d, %v are delivered", i+1, delivered)
		}
	}
	cancel()
	must(t, <-done)
	stopped, end := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer end()
	if err := reader.Sync(stopped); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a poll, Sync has %v", err)
	}
}
