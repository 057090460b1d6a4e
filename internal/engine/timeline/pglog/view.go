package pglog

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
)

// View is a read-only snapshot of a log. Others may write meanwhile. One goroutine at a time may use it.
type View struct {
	reader
	conn     *pgx.Conn
	snapshot string
}

// OpenView opens a snapshot of the log in a database.
func OpenView(ctx context.Context, url string) (*View, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("timelines in PostgreSQL: %w", err) // it leaves the password out
	}
	fence, read := pglink.New(&config.Config), readerConfig(config)
	fence.ProbeAll(ctx, &config.Config)
	fence.Prepare(&read.Config, true)
	c, err := pgx.ConnectConfig(ctx, read)
	if err != nil {
		return nil, fmt.Errorf("timelines in PostgreSQL at %s: %w", config.Host, err)
	}
	v := &View{reader: reader{c}, conn: c}
	var version int
	if _, err = c.Exec(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`); err == nil {
		err = c.QueryRow(ctx, `SELECT version, pg_export_snapshot() FROM log_meta`).Scan(&version, &v.snapshot)
	}
	switch {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("timelines in PostgreSQL at %s: has a server run there? %w", config.Host, err), c.Close(ctx))
	case version != len(migrations):
		return nil, errors.Join(fmt.Errorf("the tables are of version %d, this rialto knows %d", version, len(migrations)), c.Close(ctx))
	}
	return v, nil
}

// Snapshot returns the id of the snapshot, for SET TRANSACTION SNAPSHOT on another connection, until Close.
func (v *View) Snapshot() string { return v.snapshot }

// Close ends the connection.
func (v *View) Close() error { return v.conn.Close(context.Background()) }
