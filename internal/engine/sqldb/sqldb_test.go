package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// onBoth runs a test on each kind of database, which is empty.
func onBoth(t *testing.T, test func(t *testing.T, place string)) {
	t.Run("SQLite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "a b%?.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, sqltest.Schema(t, sqltest.Postgres(t))) })
}

func open(t *testing.T, place string) *sqldb.DB {
	t.Helper()
	ctx := context.Background()
	db, err := sqldb.Open(ctx, place)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call finds nothing to do
		if err := db.Migrate(ctx, "test", []string{`CREATE TABLE things (n BIGINT PRIMARY KEY)`, `ALTER TABLE things ADD COLUMN name TEXT`}); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func TestConcurrentWritersAreIsolated(t *testing.T) { onBoth(t, testWritersThatMeet) }

func testWritersThatMeet(t *testing.T, place string) {
	db := open(t, place)
	ctx := context.Background()
	const writers = 200
	var wait sync.WaitGroup
	refused := errors.New("refused")
	for n := range writers {
		wait.Go(func() {
			err := db.Write(ctx, func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, `INSERT INTO things (n) VALUES ($1)`, n/2*2); err != nil {
					return err
				}
				if n%20 < 2 {
					return refused
				}
				return nil
			})
			if n%20 < 2 && !errors.Is(err, refused) && !sqldb.IsUnique(err) {
				t.Errorf("writer %d: %v", n, err)
			}
		})
	}
	wait.Wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, place)
	defer db.Close()
	var count, sum int
	if err := db.Read().QueryRowContext(ctx, `SELECT count(*), count(CASE WHEN n % 20 = 0 THEN 1 END) FROM things`).Scan(&count, &sum); err != nil {
		t.Fatal(err)
	}
	if count != writers/2-writers/20 || sum != 0 {
		t.Errorf("%d rows, including %d that were rejected", count, sum)
	}
	if err := db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO things (n) VALUES (2)`)
		return err
	}); !sqldb.IsUnique(err) {
		t.Errorf("a second row with one key: %v", err)
	}
	if _, err := db.Read().Exec(`DELETE FROM things`); err == nil {
		t.Error("a reader wrote")
	}
}
