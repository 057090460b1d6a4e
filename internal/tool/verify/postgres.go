package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
)

// RunPostgres checks a database: timelines and SQL data are read in one snapshot.
func RunPostgres(ctx context.Context, url string, progress func(format string, args ...any)) (*Report, error) {
	return runPostgres(ctx, url, nil, progress)
}

// runPostgres is RunPostgres; bucket has the files, or nil.
func runPostgres(ctx context.Context, url string, bucket blob.Store, progress func(format string, args ...any)) (_ *Report, err error) {
	log, err := pglog.OpenView(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	tx, end, err := records(ctx, url, `SET TRANSACTION SNAPSHOT '`+log.Snapshot()+`'`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	return (&check{ctx: ctx, log: log, db: tx, blobs: bucket}).run(progress)
}

// records opens a snapshot of the SQL data in PostgreSQL, fixed by the first statement. Of several servers it uses the primary, like the
// timelines: a standby has another snapshot.
func records(ctx context.Context, url, firstStatement string) (tx *sql.Tx, end func() error, err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, nil, fmt.Errorf("SQL data in PostgreSQL: %w", err) // the error does not contain the password
	}
	fence := pglink.New(&config.Config)
	fence.ProbeAll(ctx, &config.Config)
	fence.Prepare(&config.Config, true)
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(1) // only one connection was prepared
	if tx, err = db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	end = func() error { return errors.Join(tx.Rollback(), db.Close()) } // nothing was written
	if _, err = tx.ExecContext(ctx, firstStatement); err == nil {
		err = checkMoved(ctx, tx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return tx, end, nil
}

// checkMoved returns an error if a move (internal/tool/move) into the database is incomplete: the missing data would look like violations.
func checkMoved(ctx context.Context, tx *sql.Tx) error {
	var there, open bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'moves')`).Scan(&there)
	if err != nil || !there {
		return err
	}
	if err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM moves WHERE ended IS NULL)`).Scan(&open); err != nil || !open {
		return err
	}
	return errors.New("a move into this database is not complete; run rialto move again, with the same directory and target, and then verify")
}
