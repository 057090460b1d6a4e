package move

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
)

// TimelinesOptions are those of a move of the timelines from PostgreSQL to Cassandra.
type TimelinesOptions struct {
	// Postgres is the address of the nodes' database, which has the timelines.
	Postgres string
	// Cassandra receives them.
	Cassandra cassandralog.Options
	// Setting is what the nodes agree on, in the database, as the place of the timelines after the move.
	Setting string
	// Say is called with the next step; nil discards.
	Say func(format string, args ...any)
	// Batch is the number of rows after which the position is stored; 0 is 20,000.
	Batch int
	// Logger of the engines; nil discards.
	Logger *slog.Logger

	// interrupt is called before and after each commit, and its error ends the move. sink replaces Cassandra. Only tests set them.
	interrupt func(point string) error
	sink      sink
}

// timelineMove moves timelines between engines that several nodes share. Its state is a row in their database:
//
//	no row      servers write the log in PostgreSQL
//	began       the log is frozen: nobody writes it, in whatever process. It is copied and compared, by any number of runs
//	ended       the log is retired: nobody can use it, and nodes have agreed on Cassandra
//
// Each transition is one transaction together with the change of the log.
type timelineMove struct {
	mover
	options TimelinesOptions
	// run is the id of this run. The row has that of the latest one, which each transaction compares: a run that was suspended while the move was ended and another one began changes nothing any more.
	run string
	// pool is for the source and the state. Exports have a connection each while others read, so it has more than parallel.
	pool *pgxpool.Pool
}

// timelinePart begins the names of the parts of such a move in move_parts, which may have those of a directory.
const timelinePart = "to cassandra/"

const createTimelineMove = `
CREATE TABLE IF NOT EXISTS move_parts (name TEXT PRIMARY KEY, place BYTEA, moved BIGINT NOT NULL DEFAULT 0, done BOOLEAN NOT NULL DEFAULT FALSE);
CREATE TABLE IF NOT EXISTS timeline_moves (target TEXT PRIMARY KEY, began TIMESTAMPTZ NOT NULL DEFAULT now(), ended TIMESTAMPTZ);
ALTER TABLE timeline_moves ADD COLUMN IF NOT EXISTS run TEXT NOT NULL DEFAULT ''`

// RunTimelines moves the timelines of running servers from PostgreSQL to Cassandra. From its beginning until the servers run with Cassandra, or
// until AbortTimelines, they serve reads and refuse writes. A run that was interrupted is continued by the next one. The report lists the
// differences; if there are any, or after an error, the timelines are still in PostgreSQL, and frozen.
func RunTimelines(ctx context.Context, o TimelinesOptions) (_ *Report, err error) {
	m, err := openTimelineMove(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	if err := m.openSink(ctx); err != nil {
		return nil, err
	}
	m.Say("counting rows to move …")
	parts, err := m.timelineParts(ctx, timelinePart)
	if err == nil {
		err = m.readStates(ctx, parts)
	}
	if err == nil {
		err = m.moveParts(ctx, parts)
	}
	if err != nil {
		return nil, err
	}
	if m.Cassandra != nil && m.source.restored > 0 {
		m.report.note("a backup was restored here once (epoch %d), which Cassandra does not record: devices that have not connected since keep entries that were lost with it", m.source.restored)
	}
	began := time.Now()
	err = m.compareTimelines(ctx)
	m.report.Compared = time.Since(began)
	if err != nil || len(m.report.Differences) > 0 {
		return m.report, err
	}
	return m.report, m.end(ctx)
}

// AbortTimelines ends a move that is not complete: servers write the log in PostgreSQL again, as if nothing had happened. What was
// copied stays in the target.
func AbortTimelines(ctx context.Context, o TimelinesOptions) (err error) {
	m, err := openTimelineMove(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	target, ended, err := m.state(ctx)
	switch {
	case err != nil:
		return err
	case target == "":
		return errors.New("no move of the timelines has begun")
	case ended != nil:
		return errMoved(target, *ended)
	}
	if err := m.takeOver(ctx); err != nil {
		return err
	}
	return pglog.LockTables(ctx, m.pool, func(tx pgx.Tx) error {
		if err := m.checkRun(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM timeline_moves WHERE ended IS NULL`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM move_parts WHERE name LIKE $1 || '%'`, timelinePart); err != nil {
			return err
		}
		return pglog.Unfreeze(ctx, tx)
	})
}

func errMoved(target string, ended time.Time) error {
	return fmt.Errorf("the timelines were moved to %s on %s", target, ended.UTC().Format(time.RFC3339))
}

func openTimelineMove(ctx context.Context, o TimelinesOptions) (_ *timelineMove, err error) {
	m := &timelineMove{options: o, mover: mover{report: &Report{}, Options: Options{Postgres: o.Postgres, Say: o.Say, Batch: o.Batch, Logger: o.Logger, interrupt: o.interrupt}}}
	if o.sink == nil {
		m.Cassandra = &o.Cassandra
	}
	m.defaults()
	m.run = rand.Text()
	m.target = &target{options: m.Options, called: "the database with the timelines", guard: m.checkRun}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	if err := m.target.connect(ctx); err != nil {
		return nil, err
	}
	if m.pool, err = pgxpool.NewWithConfig(ctx, m.target.config); err != nil {
		return nil, err
	}
	log := pglog.OpenFrozen(m.pool)
	m.source = &source{log: frozenLog{log}}
	if m.source.epoch, m.source.restored, err = log.Epochs(ctx); err != nil {
		return nil, fmt.Errorf("the timelines in %s: has a server run there? %w", m.target.name(), err)
	}
	return m, nil
}

var errOtherRun = errors.New("this run was suspended, and another one has ended the move or continued it meanwhile")

// takeOver makes this run that of a move that an earlier one has begun. It waits for transactions of the earlier one, and ends its further ones.
func (m *timelineMove) takeOver(ctx context.Context) error {
	if _, err := m.pool.Exec(ctx, createTimelineMove); err != nil {
		return err
	}
	done, err := m.pool.Exec(ctx, `UPDATE timeline_moves SET run = $1 WHERE ended IS NULL`, m.run)
	if err == nil && done.RowsAffected() != 1 {
		err = errOtherRun
	}
	return err
}

// checkRun fails in a transaction of an earlier run. Until the transaction ends, no later run begins.
func (m *timelineMove) checkRun(ctx context.Context, tx pgx.Tx) error {
	err := tx.QueryRow(ctx, `SELECT FROM timeline_moves WHERE run = $1 AND ended IS NULL FOR SHARE`, m.run).Scan()
	if errors.Is(err, pgx.ErrNoRows) {
		return errOtherRun
	}
	return err
}

// frozenLog is a log in PostgreSQL whose connections are the move's.
type frozenLog struct{ *pglog.Frozen }

func (frozenLog) Close() error { return nil }

func (m *timelineMove) close() error {
	if m.pool != nil {
		m.pool.Close()
	}
	return m.target.close()
}

// state returns the target of the move, "" if there is none, and when it ended, nil if it has not.
func (m *timelineMove) state(ctx context.Context) (target string, ended *time.Time, err error) {
	var there bool
	if err := m.pool.QueryRow(ctx, `SELECT to_regclass('timeline_moves') IS NOT NULL`).Scan(&there); err != nil || !there {
		return "", nil, err
	}
	err = m.pool.QueryRow(ctx, `SELECT target, ended FROM timeline_moves`).Scan(&target, &ended)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil, nil
	}
	return target, ended, err
}

// begin freezes the log, unless an earlier run has.
func (m *timelineMove) begin(ctx context.Context) error {
	target, ended, err := m.state(ctx)
	switch {
	case err != nil:
		return err
	case ended != nil:
		return errMoved(target, *ended)
	case target != "" && target != m.options.Setting:
		return fmt.Errorf("a move to %s has begun, not to %s: continue it with the same target, or end it with --abort", target, m.options.Setting)
	case target != "":
		return m.takeOver(ctx)
	}
	if err := checkEmpty(ctx, m.Options); err != nil {
		return err
	}
	m.Say("freezing the timelines: from now on servers read them, and refuse to write …")
	err = pglog.LockTables(ctx, m.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, createTimelineMove); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO timeline_moves (target, run) VALUES ($1, $2)`, m.options.Setting, m.run); err != nil {
			return err
		}
		if err := pglog.Freeze(ctx, tx); err != nil {
			return err
		}
		return m.interrupt("freeze")
	})
	if err != nil {
		return err
	}
	return m.interrupt("frozen")
}

func (m *timelineMove) openSink(ctx context.Context) (err error) {
	if m.target.sink = m.options.sink; m.target.sink == nil {
		m.target.sink, err = openCassandra(ctx, m.Options)
	}
	return err
}

// end makes the target the place of the timelines. The epoch stays, because nothing was lost: devices continue where they are.
func (m *timelineMove) end(ctx context.Context) error {
	m.Say("switching to the copy …")
	return pglog.LockTables(ctx, m.pool, func(tx pgx.Tx) error {
		if err := m.checkRun(ctx, tx); err != nil {
			return err
		}
		if err := m.target.sink.end(ctx, tx, m.source.epoch, m.source.restored); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE timeline_moves SET ended = now() WHERE run = $1`, m.run); err != nil {
			return err
		}
		if err := pglog.Retire(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO cluster_settings (name, value) VALUES ('timelines', $1) ON CONFLICT (name) DO UPDATE SET value = $1`, m.options.Setting); err != nil {
			return err
		}
		return m.interrupt("switch")
	})
}
