package sqldb_test

import (
	"database/sql"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// All queries of a snapshot see the database as of the first one. The next snapshot sees what was written meanwhile.
func TestQueriesOfASnapshotSeeOneState(t *testing.T) {
	db := open(t, sqltest.Place(t))
	ctx := t.Context()
	if err := db.Migrate(ctx, "snapshot", []string{`CREATE TABLE snapshot_rows (n BIGINT PRIMARY KEY)`}); err != nil {
		t.Fatal(err)
	}
	insert := func(n int) {
		t.Helper()
		if err := db.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO snapshot_rows (n) VALUES ($1)`, n)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	insert(1)
	for want := 1; want < 4; want++ {
		if err := db.ReadSnapshot(ctx, func(tx *sql.Tx) error {
			for i := range 2 {
				var n int
				if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM snapshot_rows`).Scan(&n); err != nil || n != want {
					t.Errorf("query %d of a snapshot sees %d rows, want %d: %v", i, n, want, err)
				}
				if i == 0 {
					insert(want + 1)
				}
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO snapshot_rows (n) VALUES (100)`)
			if err == nil {
				t.Error("a snapshot writes")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
