package sqldb_test

import (
	"context"
	"database/sql"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// session is a connection beside the database's own.
func session(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), address)
	must(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// until a question is answered with true.
func until(t *testing.T, c *pgx.Conn, question string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for yes := false; !yes; runtime.Gosched() {
		if err := c.QueryRow(ctx, question, args...).Scan(&yes); err != nil {
			t.Fatalf("%s: %v", question, err)
		}
	}
}

// numbers is a table of them.
func numbers(t *testing.T, address string, o sqldb.Options) *sqldb.DB {
	t.Helper()
	db, err := sqldb.OpenWith(t.Context(), address, o)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	must(t, db.Migrate(t.Context(), "numbers", []string{`CREATE TABLE numbers (n BIGINT PRIMARY KEY)`}))
	return db
}

func put(db *sqldb.DB, n int) error {
	ctx := context.Background()
	return db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO numbers (n) VALUES ($1)`, n)
		return err
	})
}

func isUnknown(err error) bool {
	return errs.Is(err, errs.Unavailable) && errs.Of(err).Reason == "storage"
}

const waits = `SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`

// TestTheStandbyIsAway: no commit is acknowledged without it, whatever ends the wait; nothing of it is shown; and those who give up are
// not more and more connections at the server.
func TestTheStandbyIsAway(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx := t.Context()
	// What would end a wait, hide that it was ended, or do without.
	for _, setting := range []string{"statement_timeout = '100ms'", "client_min_messages = 'error'", "synchronous_commit = 'local'"} {
		must(t, p.Primary().Exec(ctx, "ALTER ROLE rialto SET "+setting))
	}
	db := numbers(t, p.URL, sqldb.Options{Patience: 400 * time.Millisecond})
	must(t, put(db, 1))
	admin := session(t, p.Primary().URL)
	_, err := admin.Exec(ctx, `SET statement_timeout = 0`)
	must(t, err)

	must(t, p.Standby().Pause())
	for n := 2; n < 6; n++ {
		if err := put(db, n); !isUnknown(err) {
			t.Fatalf("a write without the standby: %v", err)
		}
		until(t, admin, waits)
	}
	var stored []int
	must(t, admin.QueryRow(ctx, `SELECT array_agg(n ORDER BY n) FROM numbers`).Scan(&stored))
	if !slices.Equal(stored, []int{1}) {
		t.Errorf("what the standby does not have is shown: %v", stored)
	}
	must(t, p.Standby().Resume())
	until(t, admin, `SELECT count(*) = 2 FROM numbers`) // the first of them waited; the others were not begun
	for err := put(db, 6); err != nil; err = put(db, 6) {
		if !isUnknown(err) {
			t.Fatal(err)
		}
	}

	// An operator cancels the wait: the server answers that it is committed.
	patient := numbers(t, p.URL, sqldb.Options{Patience: time.Minute})
	must(t, p.Standby().Pause())
	wrote := make(chan error, 1)
	go func() { wrote <- put(patient, 7) }()
	until(t, admin, waits)
	until(t, admin, `SELECT coalesce(bool_or(pg_cancel_backend(pid)), false) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`)
	if err := <-wrote; !isUnknown(err) {
		t.Errorf("a commit whose wait was cancelled: %v", err)
	}
	must(t, p.Standby().Resume())
	must(t, put(patient, 8)) // by another connection
}

// TestRecordsFailOver: the primary is killed under load, again and again, and nothing that was acknowledged is missing.
func TestRecordsFailOver(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	nodes := []*sqldb.DB{numbers(t, p.URL, sqldb.Options{Patience: 2 * time.Second, Every: 100 * time.Millisecond}), numbers(t, p.URL, sqldb.Options{Patience: 2 * time.Second, Every: 100 * time.Millisecond})}
	var mu sync.Mutex // guards acknowledged
	var acknowledged []int
	progress := make(chan struct{}, 1)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for w := range 4 {
		writing.Go(func() {
			for n := w; ; n += 4 {
				select {
				case <-stop:
					return
				default:
				}
				if err := put(nodes[w%2], n); err == nil {
					mu.Lock()
					acknowledged = append(acknowledged, n)
					mu.Unlock()
					select {
					case progress <- struct{}{}:
					default:
					}
				} else if !errs.Is(err, errs.Unavailable) {
					t.Errorf("%d: %v", n, err)
				}
			}
		})
	}
	await := func() {
		for range 30 {
			<-progress
		}
	}
	await()
	for round := range 4 {
		if round%2 == 0 {
			must(t, p.Primary().Kill())
		} else {
			must(t, p.Primary().Pause())
		}
		must(t, p.Promote(t.Context()))
		await() // on the other
		if round%2 == 1 {
			must(t, p.Standby().Resume()) // it believes to be the primary
			await()
		}
		must(t, p.Rejoin(t.Context()))
		await()
	}
	close(stop)
	writing.Wait()
	for i, db := range nodes {
		for _, n := range acknowledged {
			var there bool
			if err := db.Read().QueryRow(`SELECT EXISTS (SELECT FROM numbers WHERE n = $1)`, n).Scan(&there); err != nil || !there {
				t.Fatalf("node %d: %d of %d was acknowledged and is not there (%v)", i, n, len(acknowledged), err)
			}
		}
	}
	if len(acknowledged) == 0 {
		t.Error("nothing was acknowledged")
	}
}
