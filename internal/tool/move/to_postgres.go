package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
)

// freezer is a log outside of the nodes' database that can be frozen: no server writes it then.
type freezer interface {
	sourceLog
	Epochs(ctx context.Context) (epoch, restored uint32, err error)
	// CanFreeze returns why the log cannot be frozen now.
	CanFreeze(ctx context.Context) error
	// Freeze and Unfreeze may be repeated. After Freeze and the time wait, the log has everything that was ever acknowledged.
	Freeze(ctx context.Context) (wait time.Duration, err error)
	Unfreeze(ctx context.Context) error
	// Retire makes reads of servers fail as well, until Unfreeze. It may be repeated. It fails if the log is not frozen.
	Retire(ctx context.Context) error
}

// toPostgres is the direction from Cassandra to PostgreSQL. The log is not frozen in the transaction with the move's row. Therefore that row changes first, before the
// log is frozen, and again before it is unfrozen. From the first change until the last one, nodes agree on a place that no node is configured for, so that none starts.
type toPostgres struct {
	*timelineMove
	log freezer
}

func (m *timelineMove) openToPostgres(ctx context.Context) (err error) {
	log := m.options.freezer
	if log == nil {
		o := m.options.Cassandra
		o.Logger, o.Listener = m.Logger, nil
		frozen, err := cassandralog.OpenFrozen(ctx, o)
		if err != nil {
			return err
		}
		log = frozen
	}
	m.direction, m.source, m.countersAhead = toPostgres{m, log}, &source{log: log}, true
	m.source.epoch, m.source.restored, err = log.Epochs(ctx)
	return err
}

// placeWhileMoving is the place that nodes agree on until the move ends.
func (d toPostgres) placeWhileMoving() string {
	return fmt.Sprintf("a move from %s to PostgreSQL that is not complete", d.from)
}

func (d toPostgres) check(ctx context.Context) error {
	var place string
	err := d.pool.QueryRow(ctx, `SELECT value FROM cluster_settings WHERE name = 'timelines'`).Scan(&place)
	if err != nil {
		return fmt.Errorf("the place of the timelines: has a server run with %s? %w", d.target.name(), err)
	}
	if place != d.from {
		return fmt.Errorf("the nodes have their timelines in %s, not in %s", place, d.from)
	}
	return d.log.CanFreeze(ctx)
}

func (d toPostgres) begin(ctx context.Context, insert func(tx pgx.Tx) error) error {
	d.Say("from now on no node starts …")
	err := pglog.Change(ctx, d.pool, func(tx pgx.Tx) error {
		if err := insert(tx); err != nil {
			return err
		}
		if err := d.agree(ctx, tx, d.placeWhileMoving()); err != nil {
			return err
		}
		if err := pglog.Recreate(ctx, tx); err != nil {
			return err
		}
		return d.interrupt("begin")
	})
	if err != nil {
		return err
	}
	return d.interrupt("began")
}

// agree changes the place that nodes agree on.
func (d toPostgres) agree(ctx context.Context, tx pgx.Tx, place string) error {
	_, err := tx.Exec(ctx, `UPDATE cluster_settings SET value = $1 WHERE name = 'timelines'`, place)
	return err
}

// whileLatest changes the log if no later run has begun, and none begins meanwhile.
func (d toPostgres) whileLatest(ctx context.Context, change func(context.Context) error) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if err := d.checkRun(ctx, tx); err != nil {
			return err
		}
		return change(ctx)
	})
}

// freeze freezes the log while no other run can end the move.
func (d toPostgres) freeze(ctx context.Context) error {
	d.Say("freezing the timelines in Cassandra: from now on servers read them, and refuse to write …")
	var wait time.Duration
	err := d.whileLatest(ctx, func(ctx context.Context) (err error) {
		wait, err = d.log.Freeze(ctx)
		return err
	})
	if err != nil {
		return err
	}
	d.Say("waiting %v for writes that had begun …", wait)
	if err := backoff.Sleep(ctx, wait); err != nil {
		return err
	}
	return d.interrupt("frozen")
}

func (d toPostgres) openSink(context.Context) (sink, error) {
	return &postgresSink{options: d.Options}, nil
}

// end retires the log first, while no other run can end the move: a node that has not noticed the switch would answer with old tails.
func (d toPostgres) end(ctx context.Context, finish func(tx pgx.Tx) error) error {
	err := d.whileLatest(ctx, d.log.Retire)
	if err == nil {
		err = d.interrupt("retired")
	}
	if err == nil {
		err = pglog.Change(ctx, d.pool, finish)
	}
	if err == nil || errors.Is(err, errOtherRun) {
		return err
	}
	return fmt.Errorf("the switch is not complete, and nodes may be unable to read timelines until you run this again, or end the move with --abort: %w", err)
}

// abort first invalidates the copy, in a transaction: servers may write the log as soon as it is no longer frozen, and a run that continued with the copy would miss these writes. It unfreezes the
// log only while no other run can end the move: a later move may have frozen it again, or retired it.
func (d toPostgres) abort(ctx context.Context, remove func(tx pgx.Tx) error) error {
	err := pglog.Change(ctx, d.pool, func(tx pgx.Tx) error {
		if err := d.checkRun(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE timeline_moves SET aborting = true WHERE run = $1`, d.run); err != nil {
			return err
		}
		if err := d.forgetParts(ctx, tx); err != nil {
			return err
		}
		return pglog.Discard(ctx, tx)
	})
	if err == nil {
		err = d.interrupt("discarded")
	}
	if err == nil {
		err = d.whileLatest(ctx, d.log.Unfreeze)
	}
	if err == nil {
		err = d.interrupt("unfrozen")
	}
	if err != nil {
		return err
	}
	return pglog.Change(ctx, d.pool, func(tx pgx.Tx) error {
		if err := remove(tx); err != nil {
			return err
		}
		return d.agree(ctx, tx, d.from)
	})
}
