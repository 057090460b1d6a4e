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
)

// TimelinesOptions are those of a move of the timelines from PostgreSQL to Cassandra, or back.
type TimelinesOptions struct {
	// Postgres is the address of the nodes' database, which has the timelines, or receives them.
	Postgres string
	// Cassandra receives them, or has them.
	Cassandra cassandralog.Options
	// Back: from Cassandra to PostgreSQL.
	Back bool
	// Setting is what the nodes agree on, in the database, as the place of the timelines while they are in Cassandra.
	Setting string
	// Say is called with the next step; nil discards.
	Say func(format string, args ...any)
	// Batch is the number of rows after which the position is stored; 0 is 20,000.
	Batch int
	// Logger of the engines; nil discards.
	Logger *slog.Logger

	// interrupt is called before and after each commit, and its error ends the move. sink replaces Cassandra as the target, freezer as the source. Only tests
	// set them.
	interrupt func(point string) error
	sink      sink
	freezer   freezer
}

// InPostgreSQL is what the nodes agree on as the place of the timelines while they are in their database.
const InPostgreSQL = "PostgreSQL"

// timelineMove moves timelines between engines that several nodes share. Its state is a row in their database:
//
//	no row      servers write the log where they agree that it is
//	began       the log is frozen: no process writes it. It is copied and compared, by any number of runs
//	aborting    the copy is being discarded
//	ended       the log is retired: nobody can use it, and nodes have agreed on the target
type timelineMove struct {
	mover
	options   TimelinesOptions
	direction direction
	// from and to are the places of the timelines before and after the move. prefix begins the names of its parts in move_parts, which may have those of a directory.
	from, to, prefix string
	// run is the id of this run. The row has the id of the latest run, and each transaction compares the two. So a run that was suspended while the move ended and another one began changes nothing any more.
	run string
	// pool is for the state, and for timelines in PostgreSQL. It has more than parallel connections, because each export holds one while others read.
	pool *pgxpool.Pool
}

// direction has what depends on the source engine.
type direction interface {
	// check returns why a move cannot begin.
	check(ctx context.Context) error
	// begin is the transaction with which a move begins; insert adds its row.
	begin(ctx context.Context, insert func(tx pgx.Tx) error) error
	// freeze makes sure that the log is frozen, in each run.
	freeze(ctx context.Context) error
	// openSink opens the target.
	openSink(ctx context.Context) (sink, error)
	// end is the transaction that makes the target the place of the timelines; finish changes the move's row, and the target. The epoch of streams stays, because
	// nothing was lost: devices continue where they are.
	end(ctx context.Context, finish func(tx pgx.Tx) error) error
	// abort restores the log; remove deletes the move's row and its positions.
	abort(ctx context.Context, remove func(tx pgx.Tx) error) error
}

const createTimelineMove = `
CREATE TABLE IF NOT EXISTS move_parts (name TEXT PRIMARY KEY, place BYTEA, moved BIGINT NOT NULL DEFAULT 0, done BOOLEAN NOT NULL DEFAULT FALSE);
CREATE TABLE IF NOT EXISTS timeline_moves (target TEXT PRIMARY KEY, began TIMESTAMPTZ NOT NULL DEFAULT now(), ended TIMESTAMPTZ);
ALTER TABLE timeline_moves ADD COLUMN IF NOT EXISTS run TEXT NOT NULL DEFAULT '';
ALTER TABLE timeline_moves ADD COLUMN IF NOT EXISTS aborting BOOLEAN NOT NULL DEFAULT FALSE`

// RunTimelines moves the timelines of running servers. From its beginning until the servers run with the target, or
// until AbortTimelines, they serve reads and refuse writes. A run that was interrupted is continued by the next one. The report lists the
// differences; if there are any, or after an error, the timelines are where they were, and frozen. An error at the end of a move back may leave them without reads as well, until
// the next run or AbortTimelines; it says so.
func RunTimelines(ctx context.Context, o TimelinesOptions) (_ *Report, err error) {
	m, err := openTimelineMove(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	if m.target.sink, err = m.direction.openSink(ctx); err != nil {
		return nil, err
	}
	m.Say("counting rows to move …")
	parts, err := m.timelineParts(ctx, m.prefix)
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
	m.Say("switching to the copy …")
	return m.report, m.direction.end(ctx, func(tx pgx.Tx) error {
		if err := m.checkRun(ctx, tx); err != nil {
			return err
		}
		if err := m.target.sink.end(ctx, tx, m.source.epoch, m.source.restored); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE timeline_moves SET ended = now() WHERE run = $1`, m.run); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO cluster_settings (name, value) VALUES ('timelines', $1) ON CONFLICT (name) DO UPDATE SET value = $1`, m.to); err != nil {
			return err
		}
		return m.interrupt("switch")
	})
}

// AbortTimelines ends an incomplete move: servers write the log in its old place again, as if nothing had happened. Rows that were
// copied to Cassandra stay there.
func AbortTimelines(ctx context.Context, o TimelinesOptions) (err error) {
	m, err := openTimelineMove(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	s, err := m.state(ctx)
	switch {
	case err != nil:
		return err
	case s.target == "" || s.ended != nil && s.target == m.from:
		return errors.New("no move of the timelines has begun")
	case s.ended != nil:
		return errMoved(s)
	case s.target != m.to:
		return m.errOther(s)
	}
	if err := m.takeOver(ctx); err != nil {
		return err
	}
	return m.direction.abort(ctx, func(tx pgx.Tx) error {
		if err := m.checkRun(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM timeline_moves WHERE ended IS NULL`); err != nil {
			return err
		}
		return m.forgetParts(ctx, tx)
	})
}

// forgetParts deletes the positions of a move in this direction.
func (m *timelineMove) forgetParts(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `DELETE FROM move_parts WHERE name LIKE $1 || '%'`, m.prefix)
	return err
}

func errMoved(s timelineState) error {
	return fmt.Errorf("the timelines were moved to %s on %s", s.target, s.ended.UTC().Format(time.RFC3339))
}

func (m *timelineMove) errOther(s timelineState) error {
	return fmt.Errorf("a move to %s has begun, not to %s: continue it with the same target, or end it with --abort", s.target, m.to)
}

func openTimelineMove(ctx context.Context, o TimelinesOptions) (_ *timelineMove, err error) {
	m := &timelineMove{options: o, from: InPostgreSQL, to: o.Setting, prefix: "to cassandra/",
		mover: mover{report: &Report{}, Options: Options{Postgres: o.Postgres, Say: o.Say, Batch: o.Batch, Logger: o.Logger, interrupt: o.interrupt}}}
	if o.Back {
		m.from, m.to, m.prefix = o.Setting, InPostgreSQL, "from cassandra/"
	} else if o.sink == nil {
		m.Cassandra = &o.Cassandra
	}
	m.defaults()
	m.run = rand.Text()
	m.target = &target{options: m.Options, description: "the database with the timelines", guard: m.checkRun}
	if o.Back {
		m.target.description = "the nodes' database"
	}
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
	if o.Back {
		return m, m.openToPostgres(ctx)
	}
	return m, m.openToCassandra(ctx)
}

var errOtherRun = errors.New("this run was suspended, and another one has ended the move or continued it meanwhile")

// takeOver makes this run the latest one of a move that an earlier run has begun. It waits for transactions of the earlier run, and makes its later ones fail.
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

// checkRun fails in a transaction of an earlier run. No later run begins before the transaction ends.
func (m *timelineMove) checkRun(ctx context.Context, tx pgx.Tx) error {
	err := tx.QueryRow(ctx, `SELECT FROM timeline_moves WHERE run = $1 AND ended IS NULL FOR SHARE`, m.run).Scan()
	if errors.Is(err, pgx.ErrNoRows) {
		return errOtherRun
	}
	return err
}

func (m *timelineMove) close() (err error) {
	if m.source != nil {
		err = m.source.close()
	}
	if m.pool != nil {
		m.pool.Close()
	}
	return errors.Join(err, m.target.close())
}

// timelineState is the row of the latest move; target is "" if there is none.
type timelineState struct {
	target   string
	ended    *time.Time
	aborting bool
}

func (m *timelineMove) state(ctx context.Context) (s timelineState, err error) {
	var there bool
	if err := m.pool.QueryRow(ctx, `SELECT to_regclass('timeline_moves') IS NOT NULL`).Scan(&there); err != nil || !there {
		return s, err
	}
	// The column aborting may not exist yet.
	err = m.pool.QueryRow(ctx, `SELECT target, ended, coalesce((to_jsonb(m) ->> 'aborting')::BOOLEAN, false) FROM timeline_moves m`).Scan(&s.target, &s.ended, &s.aborting)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return s, err
}

// begin begins the move, or continues that of an earlier run.
func (m *timelineMove) begin(ctx context.Context) error {
	s, err := m.state(ctx)
	switch {
	case err != nil:
		return err
	case s.ended != nil && s.target != m.from:
		return errMoved(s)
	case s.aborting:
		return errors.New("the last run was ending the move: run it again with --abort")
	case s.ended == nil && s.target != "" && s.target != m.to:
		return m.errOther(s)
	case s.ended == nil && s.target != "":
		if err := m.takeOver(ctx); err != nil {
			return err
		}
		return m.direction.freeze(ctx)
	}
	if err := m.direction.check(ctx); err != nil {
		return err
	}
	err = m.direction.begin(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, createTimelineMove); err != nil {
			return err
		}
		if err := m.forgetParts(ctx, tx); err != nil { // of a move that ended, before one back
			return err
		}
		_, err := tx.Exec(ctx, `WITH last AS (DELETE FROM timeline_moves WHERE ended IS NOT NULL) INSERT INTO timeline_moves (target, run) VALUES ($1, $2)`, m.to, m.run)
		return err
	})
	if err != nil {
		return err
	}
	return m.direction.freeze(ctx)
}
