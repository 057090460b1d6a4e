package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// shelf caches the sums of rows by their shelf.
type shelf struct {
	*sqldb.SnapshotCache[int64, int64]
	db           *sqldb.DB
	hits, misses *atomic.Int64
}

const createShelves = `CREATE TABLE books (n BIGINT PRIMARY KEY, shelf BIGINT NOT NULL, pages BIGINT NOT NULL)`

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{hits: &atomic.Int64{}, misses: &atomic.Int64{}}
	db, err := sqldb.OpenWith(t.Context(), sqltest.Place(t), sqldb.Options{CacheReads: func(name string) func(hits, misses int) {
		if name != "shelves" {
			t.Errorf("reads of %s are counted", name)
		}
		return func(hits, misses int) { s.hits.Add(int64(hits)); s.misses.Add(int64(misses)) }
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.db.Close(); err != nil {
			t.Error(err)
		}
	})
	s.db = db
	if err := db.Migrate(t.Context(), "shelf", []string{createShelves}); err != nil {
		t.Fatal(err)
	}
	s.SnapshotCache, err = sqldb.NewSnapshotCache(t.Context(), db, sqldb.SnapshotCacheConfig[int64, int64]{Name: "shelves", Tables: map[string][]string{"books": {"shelf"}}, Key: func(k int64) []int64 { return []int64{k} },
		Size: func(int64) int { return 8 }, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sums returns the sums of some shelves that have books, as of a transaction.
func (s *shelf) sums(ctx context.Context, tx *sql.Tx, shelves ...int64) (map[int64]int64, error) {
	return s.Get(tx, shelves, func(keys []int64) (map[int64]int64, error) { return read(ctx, tx, keys) })
}

func read(ctx context.Context, tx *sql.Tx, keys []int64) (map[int64]int64, error) {
	marks, args := sqldb.Placeholders(1, keys, func(k int64) int64 { return k })
	rows, err := tx.QueryContext(ctx, `SELECT shelf, CAST(SUM(pages) AS BIGINT) FROM books WHERE shelf IN (`+marks+`) GROUP BY shelf`, args...)
	return sqldb.Pairs[int64, int64](rows, err)
}

func (s *shelf) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if err := s.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), statement, args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func (s *shelf) want(t *testing.T, why string, want map[int64]int64) {
	t.Helper()
	if err := s.db.ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
		got, err := s.sums(t.Context(), tx, 1, 2, 3)
		if err == nil && !maps.Equal(got, want) {
			t.Errorf("%s: the sums are %v, want %v", why, got, want)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// Whichever statement changes a row, the next reader sees it; what is not changed is not read again. PostgreSQL has other writers, and its rows are always read.
func TestSnapshotCachesShowEachChange(t *testing.T) {
	s := newShelf(t)
	s.exec(t, `INSERT INTO books (n, shelf, pages) VALUES (10, 1, 100), (20, 2, 200)`)
	want := map[int64]int64{1: 100, 2: 200}
	s.want(t, "first", want)
	for _, c := range []struct {
		statement string
		want      map[int64]int64
	}{
		{`UPDATE books SET pages = 101 WHERE n = 10`, map[int64]int64{1: 101, 2: 200}},
		{`INSERT INTO books (n, shelf, pages) VALUES (11, 1, 5)`, map[int64]int64{1: 106, 2: 200}},
		{`INSERT INTO books (n, shelf, pages) VALUES (11, 1, 5) ON CONFLICT (n) DO UPDATE SET pages = books.pages + 1`, map[int64]int64{1: 107, 2: 200}},
		{`UPDATE books SET shelf = 3 WHERE n = 11`, map[int64]int64{1: 101, 2: 200, 3: 6}},
		{`DELETE FROM books WHERE n = 11`, map[int64]int64{1: 101, 2: 200}},
		{`DELETE FROM books`, map[int64]int64{}},
		{`INSERT INTO books (n, shelf, pages) VALUES (30, 3, 7)`, map[int64]int64{3: 7}},
	} {
		s.exec(t, c.statement)
		s.want(t, c.statement, c.want)
	}
	s.hits.Store(0)
	s.misses.Store(0)
	s.want(t, "again", map[int64]int64{3: 7})
	if hits := s.hits.Load(); sqltest.OnPostgres() != (hits == 0) || s.misses.Load() != 0 {
		t.Errorf("%d of three keys were cached, and %d were read", hits, s.misses.Load())
	}
	s.exec(t, `UPDATE books SET pages = 8 WHERE n = 30`)
	s.hits.Store(0)
	s.want(t, "one of three", map[int64]int64{3: 8})
	if hits, misses := s.hits.Load(), s.misses.Load(); !sqltest.OnPostgres() && (hits != 2 || misses != 1) {
		t.Errorf("%d of three keys were cached, and %d were read; one had changed", hits, misses)
	}
}

// A snapshot sees what it has, whoever reads what before, meanwhile and afterwards.
func TestEntriesAreThoseOfTheSnapshot(t *testing.T) {
	s := newShelf(t)
	s.exec(t, `INSERT INTO books (n, shelf, pages) VALUES (10, 1, 100), (20, 2, 200)`)
	before, after := map[int64]int64{1: 100, 2: 200}, map[int64]int64{1: 101, 2: 200, 3: 1}
	if err := s.db.ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
		if sqltest.OnPostgres() { // its snapshot begins with the first query
			if _, err := read(t.Context(), tx, []int64{1}); err != nil {
				return err
			}
		}
		s.exec(t, `UPDATE books SET pages = 101 WHERE n = 10`)
		s.exec(t, `INSERT INTO books (n, shelf, pages) VALUES (30, 3, 1)`)
		s.want(t, "after the change", after) // entries are newer than the older snapshot now
		for range 2 {
			got, err := s.sums(t.Context(), tx, 1, 2, 3)
			if err != nil {
				return err
			}
			if !maps.Equal(got, before) {
				t.Errorf("the older snapshot has %v, want %v", got, before)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.want(t, "after the older snapshot", after)
}

// What a transaction writes is neither cached for others before it commits, nor hidden from itself.
func TestWritersReadTheirOwnRows(t *testing.T) {
	s := newShelf(t)
	s.exec(t, `INSERT INTO books (n, shelf, pages) VALUES (10, 1, 100)`)
	s.want(t, "first", map[int64]int64{1: 100})
	failure := errors.New("rolled back")
	if err := s.db.Write(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(t.Context(), `UPDATE books SET pages = 101 WHERE n = 10`); err != nil {
			return err
		}
		if s.Covers(tx) {
			t.Error("a writer reads from the cache")
		}
		if got, err := s.sums(t.Context(), tx, 1); err != nil || got[1] != 101 {
			t.Errorf("the writer reads %v, %v", got, err)
		}
		return failure
	}); !errors.Is(err, failure) {
		t.Fatalf("error %v, want %v", err, failure)
	}
	s.want(t, "after it was rolled back", map[int64]int64{1: 100})
	if got, err := s.GetCurrent([]int64{1}, func(keys []int64) (map[int64]int64, error) { return map[int64]int64{1: 100}, nil }); err != nil || got[1] != 100 {
		t.Errorf("outside a transaction: %v, %v", got, err)
	}
}

// A transaction that changes more keys than are counted one by one makes all entries old.
func TestATransactionOfVeryManyRows(t *testing.T) {
	s := newShelf(t)
	s.exec(t, `INSERT INTO books (n, shelf, pages) VALUES (10, 1, 100)`)
	s.want(t, "first", map[int64]int64{1: 100})
	s.exec(t, `INSERT INTO books (n, shelf, pages) WITH RECURSIVE many (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM many WHERE n < 49999) SELECT n, CASE WHEN n = 49999 THEN 2 ELSE n END, 1 FROM many`)
	s.want(t, "the last of many", map[int64]int64{1: 100, 2: 1})
}

// Readers that read two keys at any moment see both as of one commit, whatever writers do meanwhile.
func TestEntriesOfOneSnapshotBelongTogether(t *testing.T) {
	s := newShelf(t)
	s.exec(t, `INSERT INTO books (n, shelf, pages) VALUES (1, 1, 0), (2, 2, 1000)`)
	var readers, writers sync.WaitGroup
	ended := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for seen := int64(0); ; {
				select {
				case <-ended:
					return
				default:
				}
				if err := s.db.ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
					one, err := s.sums(t.Context(), tx, 1)
					if err != nil {
						return err
					}
					two, err := s.sums(t.Context(), tx, 2)
					if err == nil && one[1]+two[2] != 1000 {
						err = fmt.Errorf("a snapshot has %d and %d", one[1], two[2])
					}
					if err == nil && one[1] < seen {
						err = fmt.Errorf("%d came back after %d", one[1], seen)
					}
					seen = max(seen, one[1])
					return err
				}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Go(func() {
		for i := int64(1); i <= 200 && !t.Failed(); i++ {
			s.exec(t, `UPDATE books SET pages = CASE WHEN n = 1 THEN pages + 1 ELSE pages - 1 END`)
			if err := s.db.ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
				got, err := s.sums(t.Context(), tx, 1)
				if err == nil && got[1] != i {
					err = fmt.Errorf("after change %d was answered, there is %d", i, got[1])
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		}
	})
	writers.Wait()
	close(ended)
	readers.Wait()
}
