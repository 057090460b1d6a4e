package sqldb_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

const benchRows = 20_000 // 20 MB: larger than the page caches of a few connections

func benchFile(b *testing.B) *sqldb.DB {
	b.Helper()
	db, err := sqldb.Open(b.Context(), filepath.Join(b.TempDir(), "records.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := db.Migrate(b.Context(), "bench", []string{`CREATE TABLE people (n BIGINT PRIMARY KEY, name TEXT)`}); err != nil {
		b.Fatal(err)
	}
	if err := db.Write(b.Context(), func(tx *sql.Tx) error {
		for n := range benchRows {
			if _, err := tx.Exec(`INSERT INTO people VALUES ($1, $2)`, n, strings.Repeat("x", 1000)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	return db
}

// BenchmarkCommit measures a transaction that changes one row, with its sync.
func BenchmarkCommit(b *testing.B) {
	db := benchFile(b)
	for n := 0; b.Loop(); n++ {
		if err := db.Write(b.Context(), func(tx *sql.Tx) error {
			_, err := tx.Exec(`UPDATE people SET name = $1 WHERE n = $2`, strings.Repeat("y", 1000), n*7919%benchRows)
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead measures reading one row by its key, mostly from a page that is not in SQLite's cache.
func BenchmarkRead(b *testing.B) {
	db := benchFile(b)
	var name string
	for n := 0; b.Loop(); n++ {
		if err := db.Read().QueryRow(`SELECT name FROM people WHERE n = $1`, n*7919%benchRows).Scan(&name); err != nil {
			b.Fatal(err)
		}
	}
}
