package verify

import (
	"context"
	"database/sql"
	"errors"

	_ "github.com/jackc/pgx/v5/stdlib" // the records' driver
	"github.com/rialto-im/rialto/internal/timeline/pglog"
)

// RunPostgres checks a database as it is now: timelines and records are read at one and the same moment.
func RunPostgres(ctx context.Context, url string, progress func(format string, args ...any)) (_ *Report, err error) {
	log, err := pglog.OpenView(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	if _, err := tx.ExecContext(ctx, `SET TRANSACTION SNAPSHOT '`+log.Snapshot()+`'`); err != nil {
		return nil, err
	}
	return (&check{ctx: ctx, log: log, db: tx}).run(progress)
}
