package sqldb_test

import (
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// Two nodes that start concurrently on an empty database create each table once, and change the same rows as if one after the other.
func TestTwoNodes(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	nodes := make([]*sqldb.DB, 2)
	steps := []string{`CREATE TABLE counters (name TEXT PRIMARY KEY, n BIGINT NOT NULL)`, `CREATE TABLE log (id {number}, body {bytes} NOT NULL)`}
	var wait sync.WaitGroup
	for i := range nodes {
		wait.Go(func() {
			var err error
			if nodes[i], err = sqldb.Open(t.Context(), place); err == nil {
				err = nodes[i].Migrate(t.Context(), "component", steps)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	const each, writers = 40, 4
	for _, db := range nodes {
		defer db.Close()
		for range writers {
			wait.Go(func() {
				for range each {
					if err := db.Write(t.Context(), func(tx *sql.Tx) error { return count(t, tx) }); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wait.Wait()
	var n, rows int
	if err := nodes[0].Read().QueryRow(`SELECT n, (SELECT count(*) FROM log) FROM counters`).Scan(&n, &rows); err != nil {
		t.Fatal(err)
	}
	if want := each * writers * len(nodes); n != want || rows != want {
		t.Errorf("%d counted and %d logged, want %d", n, rows, want)
	}
}

// count reads a counter, and writes a result of it.
func count(t *testing.T, tx *sql.Tx) error {
	var n int64
	if err := tx.QueryRowContext(t.Context(), `SELECT coalesce(max(n), 0) FROM counters WHERE name = 'a'`).Scan(&n); err != nil {
		return err
	}
	if _, err := tx.ExecContext(t.Context(), `INSERT INTO counters (name, n) VALUES ('a', $1) ON CONFLICT (name) DO UPDATE SET n = $1`, n+1); err != nil {
		return err
	}
	_, err := tx.ExecContext(t.Context(), `INSERT INTO log (body) VALUES ($1)`, []byte{byte(n)})
	return err
}

// The settings of connections decide whether commits are durable and reads cannot write.
func TestPostgresConnections(t *testing.T) {
	db := open(t, sqltest.Schema(t, sqltest.Postgres(t)))
	defer db.Close()
	for name, want := range map[string]string{"synchronous_commit": "on", "transaction_isolation": "serializable"} {
		var got string
		if err := db.Write(t.Context(), func(tx *sql.Tx) error { return tx.QueryRow("SHOW " + name).Scan(&got) }); err != nil || got != want {
			t.Errorf("%s is %q (%v), and must be %s", name, got, err, want)
		}
	}
	// The server ends a connection: its writer gets an error, and later writers go on.
	hold := make(chan struct{})
	var begun, wait sync.WaitGroup
	begun.Add(6)
	for i := range 5 {
		wait.Go(func() {
			begun.Done()
			<-hold
			if err := insert(db, t, i, "after"); err != nil {
				t.Errorf("a writer after a lost connection: %v", err)
			}
		})
	}
	wait.Go(func() {
		begun.Done()
		err := db.Write(t.Context(), func(tx *sql.Tx) error {
			close(hold)
			var ended bool
			return tx.QueryRow(`SELECT pg_terminate_backend(pg_backend_pid())`).Scan(&ended)
		})
		if e := errs.Of(err); e == nil || e.Kind != errs.Unavailable || e.Reason != "storage" {
			t.Errorf("the writer of the lost connection: %v", err)
		}
	})
	begun.Wait()
	wait.Wait()
	if got := stored(t, db); len(got) != 5 {
		t.Errorf("stored %v", got)
	}
}

func TestErrorsOfAnUnreachableServerHideThePassword(t *testing.T) {
	_, err := sqldb.Open(t.Context(), "postgres://someone:secret@127.0.0.1:1/records")
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v, want one with the address and without the password", err)
	}
}
