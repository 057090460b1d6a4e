package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// counters are nodes with one table, {a: 0}.
func counters(t *testing.T, place string, nodes int) []*sqldb.DB {
	t.Helper()
	all := make([]*sqldb.DB, nodes)
	for i := range all {
		var err error
		all[i], err = sqldb.Open(t.Context(), place)
		must(t, err)
		t.Cleanup(func() { must(t, all[i].Close()) })
	}
	must(t, all[0].Migrate(t.Context(), "room", []string{`CREATE TABLE counters (name TEXT PRIMARY KEY, n BIGINT NOT NULL)`, `INSERT INTO counters (name, n) VALUES ('a', 0), ('b', 0)`}))
	return all
}

// add one to a counter, after a look at it.
func add(ctx context.Context, tx *sql.Tx, name string, meanwhile func()) error {
	var n int64
	if err := tx.QueryRowContext(ctx, `SELECT n FROM counters WHERE name = $1`, name).Scan(&n); err != nil {
		return err
	}
	meanwhile()
	_, err := tx.ExecContext(ctx, `UPDATE counters SET n = $2 WHERE name = $1`, name, n+1)
	return err
}

func nothing() {}

// beaten has one writer of a node lose against another node's, and calls again when it runs for the second time.
func beaten(t *testing.T, loses, wins *sqldb.DB, again func()) error {
	ctx, runs := context.WithoutCancel(t.Context()), 0
	return loses.Write(ctx, func(tx *sql.Tx) error {
		runs++
		if runs > 1 {
			again()
			return add(ctx, tx, "a", nothing)
		}
		return add(ctx, tx, "a", func() {
			must(t, wins.Write(ctx, func(tx *sql.Tx) error { return add(ctx, tx, "a", nothing) }))
		})
	})
}

// held keeps a node in the middle of a transaction, as one that is paused there, until it is let go.
func held(t *testing.T, write func(again func()) error) (letGo func() error) {
	t.Helper()
	in, out, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { ended <- write(func() { close(in); <-out }) }()
	select {
	case <-in:
	case err := <-ended:
		t.Fatal(err)
	}
	return func() error { close(out); return <-ended }
}

// TestAPausedWriterStopsNobody: a node that is paused in a transaction keeps others from being alone. Those who met write beside it, and
// who has to be alone is so when the server has ended the paused one's transaction.
func TestAPausedWriterStopsNobody(t *testing.T) {
	t.Parallel()
	nodes := counters(t, sqltest.Schema(t, sqltest.Postgres(t)), 3)
	ctx := context.WithoutCancel(t.Context())
	pause := func(before string) func() error {
		return held(t, func(paused func()) error {
			return nodes[0].Write(ctx, func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, before); err != nil {
					return err
				}
				return add(ctx, tx, "b", paused)
			})
		})
	}
	letGo := pause(`SET LOCAL idle_in_transaction_session_timeout = 0`) // nothing ends it
	if err := beaten(t, nodes[1], nodes[2], nothing); err != nil {
		t.Errorf("a writer that met another while a third node is paused: %v", err)
	}
	must(t, letGo())

	letGo = pause(`SELECT 1`)
	if err := nodes[2].Migrate(ctx, "later", []string{`CREATE TABLE later (n BIGINT PRIMARY KEY)`}); err != nil {
		t.Errorf("a migration while another node is paused: %v", err)
	}
	if err := letGo(); !errs.Is(err, errs.Unavailable) {
		t.Errorf("who was paused for so long ended with %v", err)
	}
	var a, b int
	must(t, nodes[0].Read().QueryRow(`SELECT sum(n) FILTER (WHERE name = 'a'), sum(n) FILTER (WHERE name = 'b') FROM counters`).Scan(&a, &b))
	if a != 2 || b != 1 {
		t.Errorf("a is %d and b is %d; want 2 and 1", a, b)
	}
}

// TestPausedAlone: a node that is paused while nobody else may write keeps the others for seconds, not for a transaction's time.
func TestPausedAlone(t *testing.T) {
	t.Parallel()
	nodes := counters(t, sqltest.Schema(t, sqltest.Postgres(t)), 3)
	letGo := held(t, func(paused func()) error { return beaten(t, nodes[0], nodes[1], paused) })
	if err := nodes[2].Write(t.Context(), func(tx *sql.Tx) error { return add(t.Context(), tx, "b", nothing) }); err != nil {
		t.Errorf("a writer while another node is paused alone: %v", err)
	}
	if err := letGo(); !errs.Is(err, errs.Unavailable) {
		t.Errorf("who was paused for so long ended with %v", err)
	}
}

// TestApart: what is written apart waits neither for a writer of its node nor for one of another that is alone.
func TestApart(t *testing.T) {
	t.Parallel()
	place := sqltest.Schema(t, sqltest.Postgres(t))
	nodes := counters(t, place, 3)
	ctx := t.Context()
	admin := session(t, place)
	tx, err := admin.Begin(ctx)
	must(t, err)
	_, err = tx.Exec(ctx, `LOCK TABLE migrations IN EXCLUSIVE MODE`)
	must(t, err)
	blocked := make(chan error, 1)
	go func() { blocked <- insertCounter(nodes[0], "c") }()
	until(t, session(t, place), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid)))`, admin.PgConn().PID())
	for _, db := range nodes {
		if err := db.WriteApart(ctx, func(tx *sql.Tx) error { return add(ctx, tx, "a", nothing) }); err != nil {
			t.Errorf("while a writer waits: %v", err)
		}
	}
	select {
	case err := <-blocked:
		t.Errorf("a writer did not wait (%v): this test shows nothing", err)
	default:
	}
	must(t, tx.Rollback(ctx))
	must(t, <-blocked)

	// Of two that change one row the later one looks again.
	runs := 0
	must(t, nodes[0].WriteApart(ctx, func(tx *sql.Tx) error {
		runs++
		return add(ctx, tx, "a", func() {
			if runs == 1 {
				must(t, nodes[1].WriteApart(ctx, func(tx *sql.Tx) error { return add(ctx, tx, "a", nothing) }))
			}
		})
	}))
	var n int
	must(t, nodes[2].Read().QueryRow(`SELECT n FROM counters WHERE name = 'a'`).Scan(&n))
	if n != 5 || runs != 2 {
		t.Errorf("%d is counted in %d runs; want 5 in 2", n, runs)
	}
	// What fails is not stored.
	failure := errors.New("it fails")
	if err := nodes[0].WriteApart(ctx, func(tx *sql.Tx) error { return errors.Join(add(ctx, tx, "a", nothing), failure) }); !errors.Is(err, failure) {
		t.Errorf("%v", err)
	}
	must(t, nodes[2].Read().QueryRow(`SELECT n FROM counters WHERE name = 'a'`).Scan(&n))
	if n != 5 {
		t.Errorf("what failed is stored")
	}
}

// TestApartEndsInTime: one that waits for a row ends with its time, and leaves nothing behind that the next would wait for.
func TestApartEndsInTime(t *testing.T) {
	t.Parallel()
	place := sqltest.Schema(t, sqltest.Postgres(t))
	db := counters(t, place, 1)[0]
	ctx := t.Context()
	tx, err := session(t, place).Begin(ctx)
	must(t, err)
	_, err = tx.Exec(ctx, `UPDATE counters SET n = 10 WHERE name = 'a'`)
	must(t, err)
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if err := db.WriteApart(short, func(tx *sql.Tx) error { return add(short, tx, "a", nothing) }); err == nil || short.Err() == nil {
		t.Errorf("it ended with %v", err)
	}
	// Also who heeds no time of its own, as a commit, ends.
	short, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if err := db.WriteApart(short, func(tx *sql.Tx) error { return add(context.WithoutCancel(ctx), tx, "a", nothing) }); !errs.Is(err, errs.Unavailable) {
		t.Errorf("it ended with %v", err)
	}
	must(t, tx.Rollback(ctx))
	must(t, db.WriteApart(ctx, func(tx *sql.Tx) error { return add(ctx, tx, "a", nothing) }))
	until(t, session(t, place), `SELECT n = 1 FROM counters WHERE name = 'a'`)
}

func insertCounter(db *sqldb.DB, name string) error {
	ctx := context.Background()
	return db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO counters (name, n) VALUES ($1, 0)`, name)
		return err
	})
}

// TestClosedApart: a database that is closed, also twice, writes nothing more.
func TestClosedApart(t *testing.T) {
	t.Parallel()
	db, err := sqldb.Open(t.Context(), sqltest.Schema(t, sqltest.Postgres(t)))
	must(t, err)
	must(t, db.Close())
	must(t, db.Close())
	if err := db.WriteApart(t.Context(), func(*sql.Tx) error { return nil }); !errs.Is(err, errs.Unavailable) {
		t.Errorf("%v", err)
	}
}
