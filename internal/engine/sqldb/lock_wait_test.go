package sqldb

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// A command beside a server waits a minute for the lock, and a server five seconds. Whoever waits in vain learns why.
func TestTheLockOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records.db")
	open := func(beside bool, wantMs int) *DB {
		t.Helper()
		db, err := OpenWith(t.Context(), path, Options{Store: StoreOptions{OtherProcesses: beside}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		var ms int
		if err := db.writer.QueryRowContext(t.Context(), `PRAGMA busy_timeout`).Scan(&ms); err != nil || ms != wantMs {
			t.Errorf("with others %v, a transaction waits for %d ms: %v", beside, ms, err)
		}
		return db
	}
	server, command := open(false, 5_000), open(true, 60_000)
	if _, err := command.writer.ExecContext(t.Context(), `PRAGMA busy_timeout = 1`); err != nil {
		t.Fatal(err)
	}
	if err := server.Write(t.Context(), func(*sql.Tx) error {
		err := command.Write(t.Context(), func(*sql.Tx) error { return nil })
		if errs.Of(err).Reason != "storage" || !strings.Contains(err.Error(), "another process") {
			t.Errorf("beside a transaction: %v", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := command.Write(t.Context(), func(*sql.Tx) error { return nil }); err != nil {
		t.Errorf("after it: %v", err)
	}
}
