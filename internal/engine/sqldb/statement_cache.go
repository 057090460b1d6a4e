package sqldb

import (
	"container/list"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
)

const (
	// maxCachedStatements bounds the prepared statements of one connection. The code has about 800 statements, of which few are used all the time;
	// they take 3.5 KiB each on average. Beyond the bound, the least recently used one is closed.
	maxCachedStatements = 256
	// Statements with more than maxCachedArgs have a cache of their own, with maxLongStatements: each length of a list of placeholders is another text, and
	// could displace a statement that is used all the time.
	maxCachedArgs     = 33
	maxLongStatements = 8
)

// openCached opens a SQLite database whose connections keep their prepared statements, because parsing and planning a statement costs as
// much as executing it, or more. SQLite itself prepares a kept statement again when the schema has changed.
func openCached(dsn string, opened func(driver.Conn)) (*sql.DB, error) {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(cachingConnector{c, opened}), nil
}

type cachingConnector struct {
	driver.Connector
	opened func(driver.Conn) // called with each new connection; may be nil
}

func (c cachingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if c.opened != nil {
		c.opened(conn)
	}
	return &cachingConn{sqliteConn: conn.(sqliteConn)}, nil
}

// sqliteConn is what the driver's connections implement.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type sqliteStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// cachingConn is a connection with its prepared statements. Like every driver.Conn it is used by one goroutine at a time.
type cachingConn struct {
	sqliteConn
	idle, long statementCache
}

// cacheOf returns the cache of a statement with some arguments.
func (c *cachingConn) cacheOf(args int) *statementCache {
	if args > maxCachedArgs {
		c.long.most = maxLongStatements
		return &c.long
	}
	c.idle.most = maxCachedStatements
	return &c.idle
}

// BeginTx begins a transaction.
func (c *cachingConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if o.ReadOnly {
		return c.beginSnapshot(ctx)
	}
	return c.sqliteConn.BeginTx(ofDriver(ctx), o)
}

// ExecContext executes a statement, and keeps it prepared.
func (c *cachingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	ctx, span := startStatement(ctx, query, "sqlite")
	result, err := c.exec(ctx, query, args)
	span.End(err)
	return result, err
}

func (c *cachingConn) exec(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !cacheable(query) {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	cache := c.cacheOf(len(args))
	s, err := c.acquire(ctx, cache, query)
	if err != nil {
		return nil, err
	}
	in, err := s.arguments(args)
	if err != nil {
		return nil, release(cache, query, s, err)
	}
	result, err := s.ExecContext(ctx, in)
	return result, release(cache, query, s, err)
}

// QueryContext runs a query, and keeps it prepared once its rows are closed.
func (c *cachingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	ctx, span := startStatement(ctx, query, "sqlite")
	rows, err := c.query(ctx, query, args)
	span.End(err)
	return rows, err
}

func (c *cachingConn) query(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if !cacheable(query) {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	cache := c.cacheOf(len(args))
	s, err := c.acquire(ctx, cache, query)
	if err != nil {
		return nil, err
	}
	in, err := s.arguments(args)
	if err != nil {
		return nil, release(cache, query, s, err)
	}
	rows, err := s.QueryContext(ofDriver(ctx), in)
	if err != nil {
		return nil, release(cache, query, s, err)
	}
	return &cachedRows{Rows: rows, cache: cache, query: query, statement: s}, nil
}

// Close closes the idle statements and then the connection. database/sql has closed all rows by then, which released theirs.
func (c *cachingConn) Close() error {
	return errors.Join(c.idle.closeAll(), c.long.closeAll(), c.sqliteConn.Close())
}

// acquire takes a statement out of a cache, or prepares one. A query that runs while rows of the same query are still open thus gets a
// statement of its own.
func (c *cachingConn) acquire(ctx context.Context, cache *statementCache, query string) (*preparedStatement, error) {
	if s := cache.remove(query); s != nil {
		return s, nil
	}
	text, order := positional(query)
	s, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return &preparedStatement{s.(sqliteStatement), order}, nil
}

// release puts a statement back, and returns the failure of its execution. One that failed is closed, so that no error outlives its
// execution.
func release(cache *statementCache, query string, s *preparedStatement, failure error) error {
	if failure != nil {
		_ = s.Close() // it could only repeat the failure
		return failure
	}
	return cache.add(query, s)
}

// preparedStatement is a statement with positional placeholders.
type preparedStatement struct {
	sqliteStatement
	order []int // the index of the argument of each placeholder
}

// arguments returns the arguments in the order of the placeholders.
func (s *preparedStatement) arguments(args []driver.NamedValue) ([]driver.NamedValue, error) {
	in := make([]driver.NamedValue, len(s.order))
	for i, at := range s.order {
		if at >= len(args) {
			return nil, fmt.Errorf("sqldb: a statement has the placeholder $%d, and %d arguments", at+1, len(args))
		}
		in[i] = driver.NamedValue{Ordinal: i + 1, Value: args[at].Value}
	}
	return in, nil
}

// cachedRows releases its statement when it is closed.
type cachedRows struct {
	driver.Rows
	cache     *statementCache
	query     string
	statement *preparedStatement // nil once closed
}

func (r *cachedRows) Close() error {
	if r.statement == nil {
		return nil
	}
	err := r.Rows.Close()
	s := r.statement
	r.statement = nil
	return release(r.cache, r.query, s, err)
}

// cacheable reports whether a prepared statement may be executed again later. Scripts are not one statement, some PRAGMAs act while
// they are prepared, and a migration's statement never comes again.
func cacheable(query string) bool {
	if strings.Contains(query, ";") {
		return false
	}
	query = strings.TrimLeft(query, " \t\n")
	if i := strings.IndexAny(query, " \t\n"); i > 0 {
		query = query[:i]
	}
	switch query {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "SAVEPOINT", "RELEASE":
		return true
	}
	return false
}

// statementCache holds idle statements by their text, at most most.
type statementCache struct {
	most    int
	byQuery map[string]*list.Element
	recent  list.List // of cachedStatement, the most recently used first
}

type cachedStatement struct {
	query     string
	statement *preparedStatement
}

// remove returns the statement of a query and forgets it; nil if there is none.
func (c *statementCache) remove(query string) *preparedStatement {
	e := c.byQuery[query]
	if e == nil {
		return nil
	}
	delete(c.byQuery, query)
	return c.recent.Remove(e).(cachedStatement).statement
}

// add keeps a statement, and closes the one for which there is no room.
func (c *statementCache) add(query string, s *preparedStatement) error {
	if c.byQuery == nil {
		c.byQuery = map[string]*list.Element{}
	}
	if c.byQuery[query] != nil { // it ran twice at once
		return s.Close()
	}
	c.byQuery[query] = c.recent.PushFront(cachedStatement{query, s})
	if c.recent.Len() <= c.most {
		return nil
	}
	oldest := c.recent.Remove(c.recent.Back()).(cachedStatement)
	delete(c.byQuery, oldest.query)
	return oldest.statement.Close()
}

func (c *statementCache) closeAll() (err error) {
	for e := c.recent.Front(); e != nil; e = e.Next() {
		err = errors.Join(err, e.Value.(cachedStatement).statement.Close())
	}
	c.byQuery = nil
	c.recent.Init()
	return err
}
