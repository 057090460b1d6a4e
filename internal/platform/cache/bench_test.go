package cache_test

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/cache"
)

// BenchmarkGet measures reading one row, and 20 for a page, from copies in the process.
func BenchmarkGet(b *testing.B) {
	c, err := cache.New(cache.Deps{Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler), Metrics: cache.NewMetrics()}, cache.Config[post, int]{Name: "posts",
		Load: func(_ context.Context, keys []post, _ bool) (map[post]int, error) {
			found := map[post]int{}
			for _, key := range keys {
				found[key] = int(key)
			}
			return found, nil
		}})
	must(b, err)
	keys := make([]post, 20)
	for i := range keys {
		keys[i] = post(i + 1)
	}
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			if _, found, err := c.Get(b.Context(), 7); err != nil || !found {
				b.Fatalf("the row was found: %v; error %v", found, err)
			}
		}
	})
	b.Run("twenty, from the database", func(b *testing.B) { readTwenty(b, keys) })
	b.Run("twenty", func(b *testing.B) {
		for b.Loop() {
			if got, err := c.GetMany(b.Context(), keys); err != nil || len(got) != 20 {
				b.Fatalf("%d rows, want 20; error %v", len(got), err)
			}
		}
	})
}

// readTwenty reads 20 of 10,000 rows, of 300 bytes, by their keys.
func readTwenty(b *testing.B, keys []post) {
	db, err := sqldb.Open(b.Context(), sqltest.Place(b))
	must(b, err)
	b.Cleanup(func() { must(b, db.Close()) })
	must(b, db.Migrate(b.Context(), "bench", []string{`CREATE TABLE posts (id BIGINT PRIMARY KEY, body TEXT NOT NULL)`}))
	must(b, db.Write(b.Context(), func(tx *sql.Tx) error {
		for n := range 10_000 {
			if _, err := tx.Exec(`INSERT INTO posts (id, body) VALUES ($1, $2)`, n, strings.Repeat("x", 300)); err != nil {
				return err
			}
		}
		return nil
	}))
	for b.Loop() {
		placeholders, args := sqldb.Placeholders(1, keys, func(key post) int64 { return int64(key) * 487 % 10_000 })
		found := 0
		rows, err := db.ReadYourWrites(b.Context()).QueryContext(b.Context(), `SELECT id, body FROM posts WHERE id IN (`+placeholders+`)`, args...)
		must(b, sqldb.EachRow(rows, err, func(row *sql.Rows) error {
			var id uint64
			var body string
			found++
			return row.Scan(&id, &body)
		}))
		if found != len(keys) {
			b.Fatalf("%d rows", found)
		}
	}
}
