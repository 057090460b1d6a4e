package sqldb_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
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

// until waits until a query returns true.
func until(t *testing.T, c *pgx.Conn, question string, args ...any) {
	t.Helper()
	eventually.True(t, question, func() (yes bool) {
		if err := c.QueryRow(t.Context(), question, args...).Scan(&yes); err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		return yes
	})
}

// numbers opens a database with a table of numbers.
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

// TestWithoutTheStandbyNoCommitIsAcknowledged: whatever ends the wait, no commit is acknowledged without the standby, and its rows stay
// invisible. Abandoned writes do not accumulate connections at the server.
func TestWithoutTheStandbyNoCommitIsAcknowledged(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	ctx := t.Context()
	// Settings that would end the wait, hide its end, or disable it.
	for _, setting := range []string{"statement_timeout = '100ms'", "client_min_messages = 'error'", "synchronous_commit = 'local'"} {
		must(t, p.Primary().Exec(ctx, "ALTER ROLE rialto SET "+setting))
	}
	patient := numbers(t, p.URL, sqldb.Options{CommitTimeout: time.Minute})
	must(t, put(patient, 1)) // with the standby, a commit on a slow machine takes as long as it takes
	db, err := sqldb.OpenWith(ctx, p.URL, sqldb.Options{CommitTimeout: 400 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	admin := session(t, p.Primary().URL)
	_, err = admin.Exec(ctx, `SET statement_timeout = 0`)
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
		t.Errorf("rows that the standby does not have are visible: %v", stored)
	}
	must(t, p.Standby().Resume())
	until(t, admin, `SELECT count(*) = 2 FROM numbers`) // the first of them waited; the others did not begin
	for err := put(db, 6); err != nil; err = put(db, 6) {
		if !isUnknown(err) {
			t.Fatalf("error %v, want an unknown outcome", err)
		}
	}

	// An operator cancels the wait: the server answers that it is committed.
	must(t, p.Standby().Pause())
	wrote := make(chan error, 1)
	go func() { wrote <- put(patient, 7) }()
	until(t, admin, waits)
	until(t, admin, `SELECT coalesce(bool_or(pg_cancel_backend(pid)), false) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`)
	if err := <-wrote; !isUnknown(err) {
		t.Errorf("a commit with a cancelled wait: %v", err)
	}
	must(t, p.Standby().Resume())
	must(t, put(patient, 8)) // by another connection
}

// TestAcknowledgedRowsSurviveFailovers: the primary is killed under load repeatedly. No acknowledged row is lost.
func TestAcknowledgedRowsSurviveFailovers(t *testing.T) {
	t.Parallel()
	p := sqltest.PairOf(t, sqltest.PairOptions{})
	nodes := []*sqldb.DB{numbers(t, p.URL, sqldb.Options{CommitTimeout: 2 * time.Second, PrimaryCheckInterval: 100 * time.Millisecond}), numbers(t, p.URL, sqldb.Options{CommitTimeout: 2 * time.Second, PrimaryCheckInterval: 100 * time.Millisecond})}
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
					t.Errorf("%d: error %v, want one of the kind unavailable", n, err)
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
			must(t, p.Standby().Resume()) // it considers itself the primary
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
				t.Fatalf("node %d: acknowledged row %d of %d is missing (%v)", i, n, len(acknowledged), err)
			}
		}
	}
	if len(acknowledged) == 0 {
		t.Error("nothing was acknowledged")
	}
}
