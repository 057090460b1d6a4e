package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
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
	must(t, all[0].Migrate(t.Context(), "component", []string{`CREATE TABLE counters (name TEXT PRIMARY KEY, n BIGINT NOT NULL)`, `INSERT INTO counters (name, n) VALUES ('a', 0), ('b', 0)`}))
	return all
}

// add reads a counter and adds one to it.
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

// beaten lets one writer of a node lose against another node's writer, and calls again when it is retried.
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

// held keeps a node paused in the middle of a transaction until it is released.
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

// TestAPausedWriterDoesNotBlockOthers: a node paused in a transaction keeps others from writing exclusively. Shared writers continue, and
// exclusive ones do once the server has ended the paused node's transaction.
func TestAPausedWriterDoesNotBlockOthers(t *testing.T) {
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
		t.Errorf("the paused writer ended with %v", err)
	}
	var a, b int
	must(t, nodes[0].Read().QueryRow(`SELECT sum(n) FILTER (WHERE name = 'a'), sum(n) FILTER (WHERE name = 'b') FROM counters`).Scan(&a, &b))
	if a != 2 || b != 1 {
		t.Errorf("a is %d and b is %d; want 2 and 1", a, b)
	}
}

// TestAPausedExclusiveWriterDoesNotBlockOthers: a node paused in an exclusive write blocks others for seconds, not for a transaction's time limit.
func TestAPausedExclusiveWriterDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	nodes := counters(t, sqltest.Schema(t, sqltest.Postgres(t)), 3)
	letGo := held(t, func(paused func()) error { return beaten(t, nodes[0], nodes[1], paused) })
	if err := nodes[2].Write(t.Context(), func(tx *sql.Tx) error { return add(t.Context(), tx, "b", nothing) }); err != nil {
		t.Errorf("a writer while another node is paused in an exclusive write: %v", err)
	}
	if err := letGo(); !errs.Is(err, errs.Unavailable) {
		t.Errorf("the paused writer ended with %v", err)
	}
}

// TestDedicatedWritesDoNotWaitForWriters: a dedicated write waits neither for a writer of its node nor for an exclusive one of another node.
func TestDedicatedWritesDoNotWaitForWriters(t *testing.T) {
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
		if err := db.WriteDedicated(ctx, func(tx *sql.Tx) error { return add(ctx, tx, "a", nothing) }); err != nil {
			t.Errorf("while a writer waits: %v", err)
		}
	}
	select {
	case err := <-blocked:
		t.Errorf("a writer did not wait (%v): the precondition of this test failed", err)
	default:
	}
	must(t, tx.Rollback(ctx))
	must(t, <-blocked)

	// If two change one row, the later one runs again.
	runs := 0
	must(t, nodes[0].WriteDedicated(ctx, func(tx *sql.Tx) error {
		runs++
		return add(ctx, tx, "a", func() {
			if runs == 1 {
				must(t, nodes[1].WriteDedicated(ctx, func(tx *sql.Tx) error { return add(ctx, tx, "a", nothing) }))
			}
		})
	}))
	var n int
	must(t, nodes[2].Read().QueryRow(`SELECT n FROM counters WHERE name = 'a'`).Scan(&n))
	if n != 5 || runs != 2 {
		t.Errorf("the counter is %d after %d runs; want 5 after 2", n, runs)
	}
	// A failed transaction stores nothing.
	failure := errors.New("it fails")
	if err := nodes[0].WriteDedicated(ctx, func(tx *sql.Tx) error { return errors.Join(add(ctx, tx, "a", nothing), failure) }); !errors.Is(err, failure) {
		t.Errorf("error %v, want %v", err, failure)
	}
	must(t, nodes[2].Read().QueryRow(`SELECT n FROM counters WHERE name = 'a'`).Scan(&n))
	if n != 5 {
		t.Errorf("a failed transaction was stored")
	}
}

// TestDedicatedWritesEndInTime: a dedicated write that waits for a row ends at its deadline, and leaves no lock behind.
func TestDedicatedWritesEndInTime(t *testing.T) {
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
	if err := db.WriteDedicated(short, func(tx *sql.Tx) error { return add(short, tx, "a", nothing) }); !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) && !errs.Is(err, errs.Unavailable) {
		t.Errorf("it ended with %v", err)
	}
	// A statement that ignores its own deadline, such as a commit, ends too.
	short, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if err := db.WriteDedicated(short, func(tx *sql.Tx) error { return add(context.WithoutCancel(ctx), tx, "a", nothing) }); !errs.Is(err, errs.Unavailable) {
		t.Errorf("it ended with %v", err)
	}
	must(t, tx.Rollback(ctx))
	must(t, db.WriteDedicated(ctx, func(tx *sql.Tx) error { return add(ctx, tx, "a", nothing) }))
	until(t, session(t, place), `SELECT n = 1 FROM counters WHERE name = 'a'`)
}

func insertCounter(db *sqldb.DB, name string) error {
	ctx := context.Background()
	return db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO counters (name, n) VALUES ($1, 0)`, name)
		return err
	})
}

// TestClosingEndsDedicatedWrites: a closed database, also if closed twice, writes nothing more.
func TestClosingEndsDedicatedWrites(t *testing.T) {
	t.Parallel()
	db, err := sqldb.Open(t.Context(), sqltest.Schema(t, sqltest.Postgres(t)))
	must(t, err)
	must(t, db.Close())
	must(t, db.Close())
	if err := db.WriteDedicated(t.Context(), func(*sql.Tx) error { return nil }); !errs.Is(err, errs.Unavailable) {
		t.Errorf("error %v, want one of the kind unavailable", err)
	}
}
