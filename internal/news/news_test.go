package news_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/news"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// node is one of several on a database.
type node struct {
	*news.Service
	t  *testing.T
	db *sqldb.DB

	mu     sync.Mutex // guards all below
	told   []uint64   // Other of each item
	missed int
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
	deps := news.Deps{DB: n.db, Logger: slog.New(slog.DiscardHandler), Alone: alone, Tell: func(i news.Item) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if i.Kind != "kind" || i.User != 7 || i.Text != "why" {
			t.Errorf("told %+v", i)
		}
		n.told = append(n.told, i.Other)
	}, Missed: func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.missed++
	}}
	if n.Service, err = news.New(t.Context(), deps); err != nil {
		t.Fatal(err)
	}
	return n
}

// put commits an item; before that it waits for hold, where there is one, and then fails with err.
func (n *node) put(number uint64, begun chan<- struct{}, hold <-chan struct{}, err error) error {
	return n.db.Write(n.t.Context(), func(tx *sql.Tx) error {
		if err := n.Put(n.t.Context(), tx, news.Item{Kind: "kind", User: id.User(7), Other: number, Text: "why"}); err != nil {
			return err
		}
		if hold != nil {
			close(begun)
			<-hold
		}
		return err
	})
}

// heard reads, and gives what was told since the last time.
func (n *node) heard() []uint64 {
	n.t.Helper()
	if err := news.Round(n.t.Context(), n.Service); err != nil {
		n.t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	told := n.told
	n.told = nil
	return told
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, what string, got []uint64, want ...uint64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s was told %v, want %v", what, got, want)
	}
}

// Rows are numbered when they are written. One that is committed behind a later one is told all the same, also to a node that
// began between the two; one that is never committed is not asked for for ever.
func TestCommitsOutOfOrder(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	a, b, reader, late := open(t, place, false), open(t, place, false), open(t, place, false), open(t, place, false)
	held := func(number uint64, fate error) (let func()) {
		begun, hold, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() { done <- a.put(number, begun, hold, fate) }()
		<-begun
		return func() {
			close(hold)
			if err := <-done; !errors.Is(err, fate) {
				t.Error(err)
			}
		}
	}
	let := held(1, nil)
	must(t, b.put(2, nil, nil, nil))
	wants(t, "one who reads between two commits", reader.heard(), 2)
	must(t, news.Begin(t.Context(), late.Service))
	let()
	wants(t, "then", reader.heard(), 1)
	wants(t, "one who began between them", late.heard(), 1)
	wants(t, "who wrote the first, and may not know that it is stored", a.heard(), 1, 2)
	wants(t, "and again", reader.heard())

	undone := errors.New("undone")
	let = held(3, undone)
	must(t, b.put(4, nil, nil, nil))
	wants(t, "the reader", reader.heard(), 4)
	let()
	if news.Missing(reader.Service) == 0 {
		t.Error("a number that may come yet is not asked for")
	}
	reader.forgets()
	wants(t, "one who begins now", open(t, place, false).heard())
}

// forgets reads until no number is asked for again any more.
func (n *node) forgets() {
	n.t.Helper()
	news.Age(n.Service, news.OpenFor+1)
	for news.Missing(n.Service) > 0 { // other tests on this server may have transactions open
		if n.t.Context().Err() != nil {
			n.t.Fatalf("%d numbers that nobody has are asked for still", news.Missing(n.Service))
		}
		wants(n.t, "one who asks for what nobody has", n.heard())
	}
}

// A commit may wait for longer than a row is kept. What it stores is told to all then, and kept for them like any other.
func TestACommitThatWaitsIsAwaited(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	a, b, reader, other := open(t, place, false), open(t, place, false), open(t, place, false), open(t, place, false)
	must(t, a.put(1, nil, nil, nil))
	begun, hold, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { done <- a.put(2, begun, hold, nil) }()
	<-begun
	must(t, b.put(3, nil, nil, nil))
	wants(t, "the reader", reader.heard(), 1, 3)
	wants(t, "the other", other.heard(), 1, 3)
	pass := func(d time.Duration) {
		for ; d >= 0; d -= news.TrimEvery {
			news.Age(reader.Service, news.TrimEvery)
			news.Age(other.Service, news.TrimEvery)
			wants(t, "the reader", reader.heard())
		}
	}
	pass(2 * news.KeptFor)
	close(hold)
	must(t, <-done)
	wants(t, "the reader, of what is stored at last", reader.heard(), 2)
	pass(news.KeptFor - 2*news.TrimEvery)
	wants(t, "who reads a little later", other.heard(), 2)
	if n := news.Missing(reader.Service); n != 0 {
		t.Errorf("%d numbers are asked for still", n)
	}
	pass(2 * news.KeptFor)
	var rows int
	must(t, reader.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM news`).Scan(&rows))
	if rows != 0 {
		t.Errorf("%d rows are never dropped", rows)
	}
}

// All write at once, and each is told all that was committed, its own too: nobody may have answered a commit.
func TestAllAreTold(t *testing.T) {
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
						fate = errors.New("undone")
					}
					if err := n.put(uint64(i*1000+w*100+k), nil, nil, fate); !errors.Is(err, fate) {
						t.Error(err)
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
		must(t, news.Round(t.Context(), n.Service))
		seen := map[uint64]int{}
		for _, k := range n.told {
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
						t.Fatalf("node %d was told item %d of node %d %d times, want %d", i, w*100+k, j, got, want)
					}
				}
			}
		}
	}
}

// What all have read long ago is dropped. A node that was away for longer than it may be is told that it missed something.
func TestOldItemsAreDropped(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	a, b, sleeper := open(t, place, false), open(t, place, false), open(t, place, false)
	must(t, a.put(1, nil, nil, nil))
	wants(t, "b", b.heard(), 1)
	count := func() (n int) {
		must(t, b.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM news`).Scan(&n))
		return n
	}
	for at := news.TrimEvery; at <= news.KeptFor; at += news.TrimEvery {
		news.Age(b.Service, news.TrimEvery)
		wants(t, "b", b.heard())
		if count() != 1 {
			t.Fatalf("after %v the row is dropped", at)
		}
	}
	news.Age(b.Service, news.TrimEvery)
	wants(t, "b", b.heard())
	if count() != 0 || b.missed != 0 {
		t.Errorf("%d rows are left, and %d were missed", count(), b.missed)
	}
	news.Age(sleeper.Service, news.KeptFor)
	wants(t, "one who slept", sleeper.heard())
	if sleeper.missed != 1 {
		t.Errorf("one who slept was told so %d times", sleeper.missed)
	}
	must(t, a.put(2, nil, nil, nil))
	wants(t, "one who slept", sleeper.heard(), 2)
	wants(t, "b", b.heard(), 2)
}

// Who has the database alone writes nothing.
func TestAlone(t *testing.T) {
	n := open(t, filepath.Join(t.TempDir(), "records.db"), true)
	must(t, n.put(1, nil, nil, nil))
	n.Sent()
	var rows int
	must(t, n.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM news`).Scan(&rows))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	must(t, n.Run(ctx))
	if rows != 0 || len(n.told) != 0 {
		t.Errorf("%d rows, told %v", rows, n.told)
	}
}
