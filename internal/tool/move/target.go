package move

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
)

// The move's own tables. The row in moves describes the move and stays; ended is NULL until the comparison is complete. move_parts has the
// position of each part.
const createMoveTables = `
CREATE TABLE moves (source TEXT PRIMARY KEY, epoch BIGINT NOT NULL, timelines TEXT NOT NULL, files TEXT NOT NULL,
	began TIMESTAMPTZ NOT NULL DEFAULT now(), ended TIMESTAMPTZ);
CREATE TABLE move_parts (name TEXT PRIMARY KEY, place BYTEA, moved BIGINT NOT NULL DEFAULT 0, done BOOLEAN NOT NULL DEFAULT FALSE)`

// target is the destination of the move.
type target struct {
	options Options
	// description is how errors name the database; "": the target.
	description string
	// guard is called first in each transaction that stores a part, which it may refuse. May be nil.
	guard  func(ctx context.Context, tx pgx.Tx) error
	config *pgxpool.Config
	pool   *pgxpool.Pool
	lock   *pgx.Conn // its advisory lock allows one move at a time
	state  moveState
	sink   sink
	files  files
}

// moveState is the state of the move.
type moveState struct {
	done  bool
	ended string
}

// partState is the progress of a part.
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
	if err := t.connect(ctx); err != nil {
		return nil, err
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

// connect connects to the database, and locks out other moves.
func (t *target) connect(ctx context.Context) (err error) {
	if t.config, err = pgxpool.ParseConfig(t.options.Postgres); err != nil {
		return fmt.Errorf("%s: %w", cmp.Or(t.description, "the target"), err) // the error does not contain the password
	}
	// If a crash of the database loses a batch, it also loses the stored position, so the batch is moved again.
	for name, value := range map[string]string{"synchronous_commit": "off", "statement_timeout": "0", "default_transaction_isolation": "read committed"} {
		t.config.ConnConfig.RuntimeParams[name] = value
	}
	if t.config.ConnConfig.ValidateConnect == nil { // the address may name a standby first
		t.config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	pglink.EnableKeepalive(&t.config.ConnConfig.Config) // releases the lock of a move whose machine is gone
	t.config.MaxConns = parallel + 2
	if t.pool, err = pgxpool.NewWithConfig(ctx, t.config); err != nil {
		return err
	}
	if err := t.acquireLock(ctx); err != nil {
		return fmt.Errorf("%s, %s: %w", cmp.Or(t.description, "the target"), t.name(), err)
	}
	return nil
}

// name returns the target's name, without the password.
func (t *target) name() string {
	c := t.config.ConnConfig
	return fmt.Sprintf("the database %s at %s:%d", c.Database, c.Host, c.Port)
}

// acquireLock excludes other moves until the connection ends.
func (t *target) acquireLock(ctx context.Context) (err error) {
	if t.lock, err = pgx.ConnectConfig(ctx, t.config.ConnConfig); err != nil {
		return err
	}
	// The connection of a move that was just killed may still hold the lock.
	_, err = t.lock.Exec(ctx, `SET lock_timeout = '10s'; SELECT pg_advisory_lock(hashtext('rialto move ' || current_schema()))`)
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == "55P03" {
		return errors.New("another move with it is running")
	}
	return err
}

// begin prepares an empty target, or resumes an incomplete move.
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
			return t.resume(ctx, tx, s, timelines, files)
		}
		if len(names) > 0 {
			return fmt.Errorf("it is not empty: it has the tables %s; give an empty database or schema (search_path)", strings.Join(names[:min(len(names), 5)], ", "))
		}
		if err := checkEmpty(ctx, t.options); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, createMoveTables); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO moves (source, epoch, timelines, files) VALUES ($1, $2, $3, $4)`, s.id, int64(s.epoch), timelines, files); err != nil {
			return err
		}
		for _, table := range s.tables {
			if _, err := tx.Exec(ctx, inPostgres(table.statement)); err != nil {
				return fmt.Errorf("creating table %s: %w", table.name, err)
			}
		}
		return nil
	})
}

func (t *target) resume(ctx context.Context, tx pgx.Tx, s *source, timelines, files string) error {
	var source, timelinesWere, filesWere string
	var epoch int64
	var ended *time.Time
	if err := tx.QueryRow(ctx, `SELECT source, epoch, timelines, files, ended FROM moves`).Scan(&source, &epoch, &timelinesWere, &filesWere, &ended); err != nil {
		return err
	}
	const empty = "; to start again, empty the target"
	switch {
	case source != s.id:
		return errors.New("it contains the move of another directory" + empty)
	case timelinesWere != timelines || filesWere != files:
		return fmt.Errorf("the move began with timelines in %s and files in %s, but is now to use %s and %s; give the same targets as before%s", timelinesWere, filesWere, timelines, files, empty)
	case ended != nil:
		t.state = moveState{done: true, ended: ended.UTC().Format(time.RFC3339)}
	case epoch != int64(s.epoch):
		return errors.New("a server has run on the directory since the move began, so the moved data is out of date" + empty)
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

// part returns the progress of a part, and creates its row if it is missing.
func (t *target) part(ctx context.Context, name string) (s partState, err error) {
	if _, err := t.pool.Exec(ctx, `INSERT INTO move_parts (name) VALUES ($1) ON CONFLICT DO NOTHING`, name); err != nil {
		return s, err
	}
	var moved int64
	err = t.pool.QueryRow(ctx, `SELECT place, moved, done FROM move_parts WHERE name = $1`, name).Scan(&s.place, &moved, &s.done)
	s.rows = uint64(moved)
	return s, err
}

// store executes do and stores the next state of its part in one transaction. do may be nil.
func (t *target) store(ctx context.Context, name string, s *partState, next partState, do func(tx pgx.Tx) error) error {
	next.place = bytes.Clone(next.place)
	err := pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		if t.guard != nil {
			if err := t.guard(ctx, tx); err != nil {
				return err
			}
		}
		if do != nil {
			if err := do(tx); err != nil {
				return err
			}
		}
		done, err := tx.Exec(ctx, `UPDATE move_parts SET place = $2, moved = $3, done = $4 WHERE name = $1 AND moved = $5 AND NOT done`, name, next.place, int64(next.rows), next.done, int64(s.rows))
		if err == nil && done.RowsAffected() != 1 {
			err = errors.New("another move has changed this part")
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

// finishTables creates indexes and sets sequences, which is cheaper after the rows are copied.
func (t *target) finishTables(ctx context.Context, s *source) error {
	for _, table := range s.tables {
		for _, index := range table.indexes {
			if _, err := t.pool.Exec(ctx, inPostgres(index)); err != nil {
				return fmt.Errorf("creating an index of %s: %w", table.name, err)
			}
		}
		if name, ok := table.identityColumn(); ok {
			last, err := s.lastNumber(ctx, table)
			if err != nil {
				return err
			}
			c, q := pgx.Identifier{name}.Sanitize(), pgx.Identifier{table.name}.Sanitize()
			if _, err := t.pool.Exec(ctx, `SELECT setval(pg_get_serial_sequence($1, $2), greatest((SELECT max(`+c+`) FROM `+q+`), $3, 1))`, q, name, last); err != nil {
				return fmt.Errorf("setting the sequence of %s: %w", table.name, err)
			}
		}
	}
	_, err := t.pool.Exec(ctx, `ANALYZE`)
	return err
}

// end completes the move.
func (t *target) end(ctx context.Context, epoch, restored uint32) error {
	return pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL synchronous_commit = on`); err != nil { // makes all earlier commits durable too
			return err
		}
		if err := t.sink.end(ctx, tx, epoch+1, restored); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE moves SET ended = now()`)
		failpoint.Hit("move/before-end")
		return errors.Join(err, t.options.interrupt("end"))
	})
}
