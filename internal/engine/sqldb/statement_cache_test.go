package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"modernc.org/sqlite"
)

// countingConnector counts what SQLite prepares, and what is not closed yet.
type countingConnector struct {
	driver.Connector
	mu       sync.Mutex // guards the fields below
	prepared map[string]int
	open     int
	watched  int // queries whose context may end
}

func (c *countingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return countingConn{conn.(sqliteConn), c}, nil
}

func (c *countingConnector) times(query string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, _ := positional(query)
	return c.prepared[text]
}

func (c *countingConnector) stillOpen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

type countingConn struct {
	sqliteConn
	counts *countingConnector
}

func (c countingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.counts.mu.Lock()
	defer c.counts.mu.Unlock()
	c.counts.prepared[query]++
	c.counts.open++
	return countingStatement{s.(sqliteStatement), c.counts}, nil
}

type countingStatement struct {
	sqliteStatement
	counts *countingConnector
}

func (s countingStatement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if ctx.Done() != nil {
		s.counts.mu.Lock()
		s.counts.watched++
		s.counts.mu.Unlock()
	}
	return s.sqliteStatement.QueryContext(ctx, args)
}

func (s countingStatement) Close() error {
	s.counts.mu.Lock()
	s.counts.open--
	s.counts.mu.Unlock()
	return s.sqliteStatement.Close()
}

// counted opens a file with one connection and a table of the numbers 1 to 3.
func counted(t *testing.T) (*sql.DB, *countingConnector) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	if err := createIfAbsent(path, StoreOptions{}); err != nil {
		t.Fatal(err)
	}
	c, err := sqlite.NewConnector(fileURL(path, url.Values{}))
	if err != nil {
		t.Fatal(err)
	}
	counts := &countingConnector{Connector: c, prepared: map[string]int{}}
	db := sql.OpenDB(cachingConnector{counts, nil})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(`CREATE TABLE things (n BIGINT PRIMARY KEY); INSERT INTO things (n) VALUES (1), (2), (3)`); err != nil {
		t.Fatal(err)
	}
	return db, counts
}

// numbers returns what a query selects.
func numbers(t *testing.T, db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string, args ...any) (list []int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestStatementCacheIsBoundedAndKeepsRecentStatements(t *testing.T) {
	db, counts := counted(t)
	const recent = `SELECT n FROM things WHERE n > $1 ORDER BY n`
	for i := range 2 * maxCachedStatements {
		if got := numbers(t, db, recent, 1); !slices.Equal(got, []int{2, 3}) {
			t.Fatalf("the repeated query returned %v, want [2 3]", got)
		}
		if got := numbers(t, db, fmt.Sprintf(`SELECT n + %d FROM things WHERE n = 1`, i)); !slices.Equal(got, []int{1 + i}) {
			t.Fatalf("query %d returned %v, want [%d]", i, got, 1+i)
		}
	}
	if open := counts.stillOpen(); open != maxCachedStatements {
		t.Errorf("%d statements are open, want %d", open, maxCachedStatements)
	}
	if n := counts.times(recent); n != 1 {
		t.Errorf("the repeated query was prepared %d times, want once", n)
	}
	if n := counts.times(`SELECT n + 0 FROM things WHERE n = 1`); n != 1 {
		t.Errorf("the first of the other queries was prepared %d times, want once", n)
	}
	if numbers(t, db, `SELECT n + 0 FROM things WHERE n = 1`); counts.times(`SELECT n + 0 FROM things WHERE n = 1`) != 2 {
		t.Error("the least recently used statement was not evicted")
	}
}

func TestLongPlaceholderListsDisplaceOnlyEachOther(t *testing.T) {
	db, counts := counted(t)
	var args []any
	var placeholders []string
	for i := range 300 {
		args, placeholders = append(args, i), append(placeholders, fmt.Sprintf("$%d", i+1))
		numbers(t, db, `SELECT n FROM things WHERE n IN (`+strings.Join(placeholders, ", ")+`)`, args...)
	}
	if open := counts.stillOpen(); open != maxCachedArgs+maxLongStatements {
		t.Errorf("%d statements of 300 lengths are kept, want the %d shortest and the last %d", open, maxCachedArgs, maxLongStatements)
	}
	last := `SELECT n FROM things WHERE n IN (` + strings.Join(placeholders, ", ") + `)`
	if numbers(t, db, last, args...); counts.times(last) != 1 {
		t.Errorf("the last one was prepared %d times", counts.times(last))
	}
}

// Placeholders become positional, each with its argument, and texts stay as they are.
func TestPlaceholdersBecomePositional(t *testing.T) {
	for _, c := range []struct {
		statement, want string
		order           []int
	}{
		{`SELECT 1`, `SELECT 1`, nil},
		{`SELECT $1`, `SELECT ?`, []int{0}},
		{`SELECT n FROM t WHERE a = $2 AND b IN ($10, $1) AND c = $2 LIMIT $3`, `SELECT n FROM t WHERE a = +? AND b IN (?, ?) AND c = +? LIMIT ?+0`, []int{1, 9, 0, 1, 2}},
		{`SELECT '$1', 'it''s $2', $1 LIMIT 3`, `SELECT '$1', 'it''s $2', ? LIMIT 3`, []int{0}},
		{`SELECT json_extract(a, '$.b'), $1`, `SELECT json_extract(a, '$.b'), ?`, []int{0}},
	} {
		if text, order := positional(c.statement); text != c.want || !slices.Equal(order, c.order) {
			t.Errorf("%s becomes %s with %v, want %s with %v", c.statement, text, order, c.want, c.order)
		}
	}
	db, _ := counted(t)
	if got := numbers(t, db, `SELECT n + $3 FROM things WHERE n >= $2 AND n + $3 > 0 ORDER BY n LIMIT $1`, 1, 2, 100); !slices.Equal(got, []int{102}) {
		t.Errorf("the query returned %v, want [102]", got)
	}
	if got := numbers(t, db, `SELECT n FROM things WHERE 'a' || n = $1`, "a2"); !slices.Equal(got, []int{2}) {
		t.Errorf("the query with a text returned %v, want [2]", got)
	}
	if _, err := db.Query(`SELECT n FROM things WHERE n = $2`, 1); err == nil || !strings.Contains(err.Error(), "$2") {
		t.Errorf("a missing argument is answered with %v", err)
	}
}

// Short reads are not interrupted by the end of their context, and none begins after it. Others are interrupted.
func TestShortReadsAreNotWatched(t *testing.T) {
	db, counts := counted(t)
	ctx, cancel := context.WithCancel(t.Context())
	const query = `SELECT n FROM things WHERE n = $1`
	for watched, ctx := range []context.Context{ShortReads(ctx), ctx} {
		var n int
		if err := db.QueryRowContext(ctx, query, 2).Scan(&n); err != nil || n != 2 || counts.watched != watched {
			t.Errorf("the query returned %d, %v; %d queries were watched, want %d", n, err, counts.watched, watched)
		}
	}
	tx, err := db.BeginTx(ShortReads(ctx), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // it only ends the snapshot
	cancel()
	if rows, err := tx.QueryContext(ShortReads(ctx), query, 2); !errors.Is(err, context.Canceled) && !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("a read after the end of its context is answered with %v, %v", rows, err)
	}
}

func TestOpenRowsAndTheSameQueryDoNotShareAStatement(t *testing.T) {
	db, counts := counted(t)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	const query = `SELECT n FROM things WHERE n >= $1 ORDER BY n`
	outer, err := tx.Query(query, 1)
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for outer.Next() {
		var n int
		if err := outer.Scan(&n); err != nil {
			t.Fatal(err)
		}
		list = append(append(list, n), numbers(t, tx, query, n)...)
	}
	if err := outer.Err(); err != nil || !slices.Equal(list, []int{1, 1, 2, 3, 2, 2, 3, 3, 3}) {
		t.Errorf("nested queries returned %v (%v), want [1 1 2 3 2 2 3 3 3]", list, err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if open := counts.stillOpen(); open != 1 {
		t.Errorf("%d statements of one query are open, want 1", open)
	}
}

func TestEndedTransactionsAndConnectionsLeaveNoStatement(t *testing.T) {
	db, counts := counted(t)
	const query, insert = `SELECT n FROM things ORDER BY n`, `INSERT INTO things (n) VALUES ($1)`
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(insert, 4); err != nil {
			t.Fatal(err)
		}
		rows, err := tx.QueryContext(ctx, query)
		if err != nil || !rows.Next() {
			t.Fatal("no row:", err)
		}
		if err := tx.Rollback(); err != nil { // its rows are open
			t.Fatal(err)
		}
		cancel()
		if _, err := db.Exec(insert, 3); !IsUnique(err) {
			t.Fatalf("inserting a row that exists: %v, want a unique violation", err)
		}
		if got := numbers(t, db, query); !slices.Equal(got, []int{1, 2, 3}) {
			t.Fatalf("after a rollback the table has %v, want [1 2 3]", got)
		}
	}
	if open := counts.stillOpen(); open > 2 {
		t.Errorf("%d statements of two texts are open", open)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if open := counts.stillOpen(); open != 0 {
		t.Errorf("%d statements are open after the database was closed", open)
	}
}

func TestCancelledQueriesLeaveNoStatement(t *testing.T) {
	db, counts := counted(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows, err := db.QueryContext(ctx, `WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r`) // without end
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; rows.Next(); n++ {
		if n == 10 {
			cancel()
		}
	}
	if err := rows.Err(); err == nil {
		t.Error("a cancelled query without end ended without an error")
	}
	if got := numbers(t, db, `SELECT count(*) FROM things`); !slices.Equal(got, []int{3}) {
		t.Errorf("after a cancelled query, the table has %v rows, want [3]", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if open := counts.stillOpen(); open != 0 {
		t.Errorf("%d statements are open after the database was closed", open)
	}
}

// isCached reports whether one of a pool's connections keeps a query, of a pool with one idle connection.
func isCached(t *testing.T, pool *sql.DB, query string) (found bool) {
	t.Helper()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Raw(func(c any) error {
		found = c.(*cachingConn).idle.byQuery[query] != nil
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCachedStatementsFollowMigrations(t *testing.T) {
	ctx := t.Context()
	db, err := Open(ctx, filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	steps := []string{
		`CREATE TABLE things (n BIGINT PRIMARY KEY)`,
		`ALTER TABLE things ADD COLUMN name TEXT NOT NULL DEFAULT 'none'`,
		`DROP TABLE things`,
		`CREATE TABLE things (name TEXT NOT NULL, n BIGINT NOT NULL)`,
	}
	const all, insert = `SELECT * FROM things`, `INSERT INTO things (n, name) VALUES (2, 'two')`
	read := func() (columns []string, count int) {
		t.Helper()
		rows, err := db.Read().QueryContext(ctx, all)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		if columns, err = rows.Columns(); err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			count++
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return columns, count
	}
	write := func(query string) {
		t.Helper()
		if err := db.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, query)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range [][]string{{"n"}, {"n", "name"}, nil, {"name", "n"}} {
		if err := db.Migrate(ctx, "test", steps[:i+1]); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			if _, err := db.Read().QueryContext(ctx, all); err == nil {
				t.Error("a dropped table could be read")
			}
			continue
		}
		if len(want) == 1 {
			write(`INSERT INTO things (n) VALUES (1)`)
		} else {
			write(insert)
			if !isCached(t, db.writer, insert) {
				t.Error("the writer does not keep its statement")
			}
		}
		if columns, count := read(); !slices.Equal(columns, want) || count != 1+i%3 {
			t.Errorf("after step %d: %d rows with columns %v, want %d with %v", i, count, columns, 1+i%3, want)
		}
		if !isCached(t, db.reader, all) {
			t.Error("the reader does not keep its statement")
		}
	}
}

func BenchmarkReadOneRow(b *testing.B) {
	db := benchmarked(b)
	for i := range b.N {
		var name string
		if err := db.Read().QueryRowContext(b.Context(), `SELECT name FROM things WHERE n = $1`, i%1000).Scan(&name); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteOneRow(b *testing.B) {
	db := benchmarked(b)
	for i := range b.N {
		if err := db.Write(b.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(b.Context(), `INSERT INTO things (n, name) VALUES ($1, $2) ON CONFLICT (n) DO UPDATE SET name = excluded.name`, i%1000, "again")
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarked(b *testing.B) *DB {
	db, err := Open(b.Context(), filepath.Join(b.TempDir(), "test.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(b.Context(), "bench", []string{`CREATE TABLE things (n BIGINT PRIMARY KEY, name TEXT NOT NULL)`}); err != nil {
		b.Fatal(err)
	}
	if err := db.Write(b.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < 999) INSERT INTO things (n, name) SELECT n, 'thing' FROM r`)
		return err
	}); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	return db
}
