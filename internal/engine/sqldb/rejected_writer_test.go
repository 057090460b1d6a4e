package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// TestARejectionIsRecheckedWhenTheBatchFails: one of the writers in a transaction is rejected because of another's row. The server
// ends the transaction, or its commit fails: no writer may be rejected because of a row that is not stored.
func TestARejectionIsRecheckedWhenTheBatchFails(t *testing.T) {
	t.Parallel()
	place, ctx := sqltest.Schema(t, sqltest.Postgres(t)), t.Context()
	db, err := Open(ctx, place)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(ctx, "component", []string{`CREATE TABLE handles (handle TEXT PRIMARY KEY, twin TEXT REFERENCES handles DEFERRABLE INITIALLY DEFERRED)`}); err != nil {
		t.Fatal(err)
	}
	taken := errs.New(errs.Conflict, "taken", "the handle is taken")
	take := func(tx *sql.Tx, twin any) error {
		done, err := tx.ExecContext(ctx, `INSERT INTO handles (handle, twin) VALUES ('h', $1) ON CONFLICT DO NOTHING`, twin)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return taken
	}
	end := func(tx *sql.Tx) error {
		var yes bool
		return tx.QueryRowContext(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`).Scan(&yes)
	}
	unnoticed := func(tx *sql.Tx) {
		var pid int
		err := tx.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&pid)
		var yes bool
		if err == nil {
			err = db.reader.QueryRowContext(ctx, `SELECT pg_terminate_backend($1, 60000)`, pid).Scan(&yes)
		}
		if err != nil || !yes {
			t.Errorf("the connection has not ended: %v", err)
		}
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	for name, runs := range map[string][]func(tx *sql.Tx) error{
		"the connection ends before another's statement": {
			func(tx *sql.Tx) error { return take(tx, nil) }, func(tx *sql.Tx) error { return take(tx, nil) }, end},
		"the connection ends with the rejection": {
			func(tx *sql.Tx) error { return take(tx, nil) }, func(tx *sql.Tx) error { err := take(tx, nil); unnoticed(tx); return err }},
		"the commit fails": {
			func(tx *sql.Tx) error { return take(tx, "nobody") }, func(tx *sql.Tx) error { return take(tx, nil) }},
	} {
		var jobs []*job
		for _, run := range runs {
			jobs = append(jobs, &job{ctx: ctx, run: run, done: make(chan struct{})})
		}
		jobs = append(jobs, &job{ctx: over, run: func(*sql.Tx) error { return nil }, done: make(chan struct{})})
		db.commit(jobs)
		for i, j := range jobs[:len(jobs)-1] {
			if e := errs.Of(j.err); j.err == nil || e != nil && e.Reason == taken.Reason {
				t.Errorf("%s: writer %d, whose row is not stored: %v", name, i, j.err)
			}
		}
		if late := jobs[len(jobs)-1]; name == "the commit fails" && !errors.Is(late.err, context.Canceled) {
			t.Errorf("%s: a writer cancelled before: %v", name, late.err)
		}
		var n int
		if err := db.reader.QueryRow(`SELECT count(*) FROM handles`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d rows (%v): the precondition of this test failed", name, n, err)
		}
	}
}
