package move

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
)

// toCassandra is the direction from PostgreSQL to Cassandra. Each change of the log is in the transaction that changes the move's row.
type toCassandra struct{ *timelineMove }

// frozenLog is a log in PostgreSQL whose connections are the move's.
type frozenLog struct{ *pglog.Frozen }

func (frozenLog) Close() error { return nil }

func (m *timelineMove) openToCassandra(ctx context.Context) (err error) {
	log := pglog.OpenFrozen(m.pool)
	m.direction, m.source = toCassandra{m}, &source{log: frozenLog{log}}
	if m.source.epoch, m.source.restored, err = log.Epochs(ctx); err != nil {
		err = fmt.Errorf("the timelines in %s: has a server run there? %w", m.target.name(), err)
	}
	return err
}

func (d toCassandra) check(ctx context.Context) error { return checkEmpty(ctx, d.Options) }

func (d toCassandra) begin(ctx context.Context, insert func(tx pgx.Tx) error) error {
	d.Say("freezing the timelines: from now on servers read them, and refuse to write …")
	err := pglog.LockTables(ctx, d.pool, func(tx pgx.Tx) error {
		if err := insert(tx); err != nil {
			return err
		}
		if err := pglog.Freeze(ctx, tx); err != nil {
			return err
		}
		return d.interrupt("freeze")
	})
	if err != nil {
		return err
	}
	return d.interrupt("frozen")
}

// freeze does nothing, because begin has frozen the log.
func (d toCassandra) freeze(context.Context) error { return nil }

func (d toCassandra) openSink(ctx context.Context) (sink, error) {
	if d.options.sink != nil {
		return d.options.sink, nil
	}
	s, err := openCassandra(ctx, d.Options)
	if err != nil {
		return nil, err // a nil interface, and not one that holds a nil *cassandraSink
	}
	return s, nil
}

func (d toCassandra) end(ctx context.Context, finish func(tx pgx.Tx) error) error {
	return pglog.LockTables(ctx, d.pool, func(tx pgx.Tx) error {
		if err := pglog.Retire(ctx, tx); err != nil {
			return err
		}
		return finish(tx)
	})
}

func (d toCassandra) abort(ctx context.Context, remove func(tx pgx.Tx) error) error {
	return pglog.LockTables(ctx, d.pool, func(tx pgx.Tx) error {
		if err := remove(tx); err != nil {
			return err
		}
		return pglog.Unfreeze(ctx, tx)
	})
}
