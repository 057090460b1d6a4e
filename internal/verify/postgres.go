package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/rialto-im/rialto/internal/sqldb/pglink"
	"github.com/rialto-im/rialto/internal/timeline/pglog"
)

// RunPostgres checks a database as it is now: timelines and records are read at one and the same moment.
func RunPostgres(ctx context.Context, url string, progress func(format string, args ...any)) (_ *Report, err error) {
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
	return (&check{ctx: ctx, log: log, db: tx}).run(progress)
}

// records opens those of a PostgreSQL as they are at one moment, which a statement fixes. Of several servers it is the primary, as for the
// timelines: a standby has another moment.
func records(ctx context.Context, url, moment string) (tx *sql.Tx, end func() error, err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, nil, fmt.Errorf("records in PostgreSQL: %w", err) // it leaves the password out
	}
	fence := pglink.New(&config.Config)
	fence.Survey(ctx, &config.Config)
	fence.Ready(&config.Config, true)
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(1) // what was made ready is one connection
	if tx, err = db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	end = func() error { return errors.Join(tx.Rollback(), db.Close()) } // nothing was written
	if _, err = tx.ExecContext(ctx, moment); err == nil {
		err = moved(ctx, tx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return tx, end, nil
}

// moved says that a move (internal/move) into the database is not complete: half of it would look broken.
func moved(ctx context.Context, tx *sql.Tx) error {
	var there, open bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'moves')`).Scan(&there)
	if err != nil || !there {
		return err
	}
	if err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM moves WHERE ended IS NULL)`).Scan(&open); err != nil || !open {
		return err
	}
	return errors.New("a move into this database is not complete; run rialto move again, with the same directory and target, and verify then")
}
