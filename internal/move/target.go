package move

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rialto-im/rialto/internal/failpoint"
	"github.com/rialto-im/rialto/internal/sqldb/pglink"
)

// The move's own tables. moves says what is moved here; its row stays, and is open until all was compared. move_parts has how far
// each part is.
const makeState = `
CREATE TABLE moves (source TEXT PRIMARY KEY, epoch BIGINT NOT NULL, timelines TEXT NOT NULL, files TEXT NOT NULL,
	began TIMESTAMPTZ NOT NULL DEFAULT now(), ended TIMESTAMPTZ);
CREATE TABLE move_parts (name TEXT PRIMARY KEY, place BYTEA, moved BIGINT NOT NULL DEFAULT 0, done BOOLEAN NOT NULL DEFAULT FALSE)`

// target is where all goes.
type target struct {
	options Options
	config  *pgxpool.Config
	pool    *pgxpool.Pool
	lock    *pgx.Conn // holds the target for one move at a time
	state   moveState
	sink    sink
	files   files
}

// moveState is the row of this move.
type moveState struct {
	done  bool
	ended string
}

// partState is how far a part is.
type partState struct {
	place []byte
	rows  uint64
	done  bool
}

func openTarget(ctx context.Context, o Options, s *source) (_ *target, err error) {
	t := &target{options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if t.config, err = pgxpool.ParseConfig(o.Postgres); err != nil {
		return nil, fmt.Errorf("the target: %w", err) // it leaves the password out
	}
	// A batch that a crash of the database loses takes its place with it, and is moved again.
	for name, value := range map[string]string{"synchronous_commit": "off", "statement_timeout": "0", "default_transaction_isolation": "read committed"} {
		t.config.ConnConfig.RuntimeParams[name] = value
	}
	if t.config.ConnConfig.ValidateConnect == nil { // the address may name a standby first
		t.config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	pglink.Keep(&t.config.ConnConfig.Config) // a move that has gone without a word keeps the next one away for no longer
	t.config.MaxConns = lanes + 2
	if t.pool, err = pgxpool.NewWithConfig(ctx, t.config); err != nil {
		return nil, err
	}
	if err := t.hold(ctx); err != nil {
		return nil, fmt.Errorf("the target, %s: %w", t.name(), err)
	}
	if t.files, err = openFiles(ctx, o); err != nil {
		return nil, err
	}
	if err := t.begin(ctx, s); err != nil {
		return nil, fmt.Errorf("the target, %s: %w", t.name(), err)
	}
	t.sink, err = openSink(ctx, o)
	return t, err
}

// name of the target, without a password.
func (t *target) name() string {
	c := t.config.ConnConfig
	return fmt.Sprintf("the database %s at %s:%d", c.Database, c.Host, c.Port)
}

// hold keeps other moves away until the connection ends.
func (t *target) hold(ctx context.Context) (err error) {
	if t.lock, err = pgx.ConnectConfig(ctx, t.config.ConnConfig); err != nil {
		return err
	}
	// One that was killed a moment ago may not have gone yet.
	_, err = t.lock.Exec(ctx, `SET lock_timeout = '10s'; SELECT pg_advisory_lock(hashtext('rialto move ' || current_schema()))`)
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == "55P03" {
		return errors.New("another move into it is under way")
	}
	return err
}

// begin takes an empty target, or goes on with one.
func (t *target) begin(ctx context.Context, s *source) error {
	timelines, files := sinkName(t.options), t.files.name()
	return pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename = 'moves' DESC, tablename`)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if len(names) > 0 && names[0] == "moves" {
			return t.goOn(ctx, tx, s, timelines, files)
		}
		if len(names) > 0 {
			return fmt.Errorf("it is not empty: it has the tables %s; give a database, or a schema (search_path), that nobody has used", strings.Join(names[:min(len(names), 5)], ", "))
		}
		if err := checkEmpty(ctx, t.options); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, makeState); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO moves (source, epoch, timelines, files) VALUES ($1, $2, $3, $4)`, s.id, int64(s.epoch), timelines, files); err != nil {
			return err
		}
		for _, table := range s.tables {
			if _, err := tx.Exec(ctx, inPostgres(table.statement)); err != nil {
				return fmt.Errorf("making the table %s: %w", table.name, err)
			}
		}
		return nil
	})
}

func (t *target) goOn(ctx context.Context, tx pgx.Tx, s *source, timelines, files string) error {
	var source, timelinesWere, filesWere string
	var epoch int64
	var ended *time.Time
	if err := tx.QueryRow(ctx, `SELECT source, epoch, timelines, files, ended FROM moves`).Scan(&source, &epoch, &timelinesWere, &filesWere, &ended); err != nil {
		return err
	}
	const empty = "; to begin anew, empty the target"
	switch {
	case source != s.id:
		return errors.New("it has another directory's move" + empty)
	case timelinesWere != timelines || filesWere != files:
		return fmt.Errorf("the move began with timelines in %s and files in %s, and would go on with %s and %s; give what it began with%s", timelinesWere, filesWere, timelines, files, empty)
	case ended != nil:
		t.state = moveState{done: true, ended: ended.UTC().Format(time.RFC3339)}
	case epoch != int64(s.epoch):
		return errors.New("a server has run on the directory since the move began, so what was moved is out of date" + empty)
	}
	return nil
}

func (t *target) close() (err error) {
	if t.sink != nil {
		err = t.sink.close()
	}
	if t.lock != nil {
		err = errors.Join(err, t.lock.Close(context.WithoutCancel(context.Background())))
	}
	if t.pool != nil {
		t.pool.Close()
	}
	return err
}

// part gives how far a part is; it begins it where it has not begun.
func (t *target) part(ctx context.Context, name string) (s partState, err error) {
	if _, err := t.pool.Exec(ctx, `INSERT INTO move_parts (name) VALUES ($1) ON CONFLICT DO NOTHING`, name); err != nil {
		return s, err
	}
	var moved int64
	err = t.pool.QueryRow(ctx, `SELECT place, moved, done FROM move_parts WHERE name = $1`, name).Scan(&s.place, &moved, &s.done)
	s.rows = uint64(moved)
	return s, err
}

// store does a batch, and moves its part on by so many rows to a place, in one transaction. do may be nil.
func (t *target) store(ctx context.Context, name string, s *partState, next partState, do func(tx pgx.Tx) error) error {
	next.place = bytes.Clone(next.place)
	err := pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		if do != nil {
			if err := do(tx); err != nil {
				return err
			}
		}
		done, err := tx.Exec(ctx, `UPDATE move_parts SET place = $2, moved = $3, done = $4 WHERE name = $1 AND moved = $5 AND NOT done`, name, next.place, int64(next.rows), next.done, int64(s.rows))
		if err == nil && done.RowsAffected() != 1 {
			err = errors.New("another move has gone on from here")
		}
		failpoint.Hit("move/before-commit")
		return errors.Join(err, t.options.interrupt("before"))
	})
	if err != nil {
		return err
	}
	*s = next
	failpoint.Hit("move/after-commit")
	return t.options.interrupt("after")
}

// finishTables makes what is cheaper made at the end.
func (t *target) finishTables(ctx context.Context, s *source) error {
	for _, table := range s.tables {
		for _, index := range table.indexes {
			if _, err := t.pool.Exec(ctx, inPostgres(index)); err != nil {
				return fmt.Errorf("an index of %s: %w", table.name, err)
			}
		}
		if name, ok := table.numbered(); ok {
			c, q := pgx.Identifier{name}.Sanitize(), pgx.Identifier{table.name}.Sanitize()
			if _, err := t.pool.Exec(ctx, `SELECT setval(pg_get_serial_sequence($1, $2), greatest((SELECT max(`+c+`) FROM `+q+`), 1))`, q, name); err != nil {
				return fmt.Errorf("the numbers of %s: %w", table.name, err)
			}
		}
	}
	_, err := t.pool.Exec(ctx, `ANALYZE`)
	return err
}

// end completes the move.
func (t *target) end(ctx context.Context, epoch uint32) error {
	return pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL synchronous_commit = on`); err != nil { // what was committed before is durable with it
			return err
		}
		if err := t.sink.end(ctx, tx, epoch+1); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE moves SET ended = now()`)
		failpoint.Hit("move/before-end")
		return errors.Join(err, t.options.interrupt("end"))
	})
}
