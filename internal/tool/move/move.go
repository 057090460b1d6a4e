// Package move migrates a data directory (records in SQLite, timelines in Pebble, files on disk) to engines that several nodes can share:
// records to PostgreSQL, timelines to PostgreSQL or Cassandra, and optionally files to S3.
//
// The move locks the source, so that no server starts on it, and only reads it. At the end it writes a marker file into the source, which
// prevents servers from using it. The target must be empty, or contain an incomplete move of the same source. Each batch is one
// transaction that also stores the position reached, so an interrupted move resumes there. Rows of all services are copied unchanged,
// including sequence numbers and tokens. At the end the move reads both sides completely and compares them.
//
// Only one Run at a time can use a target.
package move

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/rialto-im/rialto/internal/engine/blob/s3blob"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog"
)

// Options of a move.
type Options struct {
	// Data is the directory to move. No other process may have it open.
	Data string
	// Postgres is the address of the database, such as postgres://user@host/name.
	Postgres string
	// Cassandra receives the timelines. If it is nil, PostgreSQL does.
	Cassandra *cassandralog.Options
	// S3 receives the files. If it is nil, they stay on the disk.
	S3 *s3blob.Config
	// VerifyOnly compares a completed move with its source, and moves nothing.
	VerifyOnly bool
	// Say is called with the next step; nil discards. The printer of the context (package progress) shows the progress of the step.
	Say func(format string, args ...any)
	// Batch is the number of rows in one transaction; 0 is 20,000.
	Batch int
	// Logger of the engines; nil discards.
	Logger *slog.Logger

	// interrupt is called before and after each commit, and its error ends the move. Only tests set it.
	interrupt func(point string) error
}

func (o *Options) defaults() {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	if o.Batch == 0 {
		o.Batch = 20_000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.interrupt == nil {
		o.interrupt = func(string) error { return nil }
	}
}

// parallel is the number of batches that are copied or compared at the same time.
const parallel = 4

// mover is a running move.
type mover struct {
	Options
	source *source
	target *target
	count  *rows
	report *Report
	// countersAhead: the source's highest counter of a device may be that of an entry that was never stored.
	countersAhead bool
}

// Run moves what is not moved yet, and compares both sides. The report lists the differences; an error means that the move could not finish.
func Run(ctx context.Context, o Options) (_ *Report, err error) {
	o.defaults()
	m := &mover{Options: o, report: &Report{}}
	if m.source, err = openSource(ctx, o.Data, o.Logger); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.source.close()) }()
	if m.target, err = openTarget(ctx, o, m.source); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.target.close()) }()
	if o.VerifyOnly {
		if !m.target.state.done {
			return nil, errors.New("the move is not complete; run it again without --verify-only to resume it")
		}
		return m.report, m.compare(ctx)
	}
	if m.target.state.done {
		return nil, fmt.Errorf("this directory was moved to this target on %s; --verify-only compares them again, as long as no server has run on the target", m.target.state.ended)
	}
	if err := m.moveAll(ctx); err != nil {
		return nil, err
	}
	if err := m.compare(ctx); err != nil || len(m.report.Differences) > 0 {
		return m.report, err
	}
	return m.report, m.end(ctx)
}

// moveAll moves tables, timelines and files.
func (m *mover) moveAll(ctx context.Context) error {
	parts, err := m.parts(ctx)
	if err != nil {
		return err
	}
	if err := m.moveParts(ctx, parts); err != nil {
		return err
	}
	return m.target.finishTables(ctx, m.source)
}

// moveParts moves parts, and reports the progress.
func (m *mover) moveParts(ctx context.Context, parts []*part) error {
	m.count = &rows{}
	for _, p := range parts {
		m.count.total += p.total
		m.count.before += p.state.rows
	}
	m.count.done.Store(m.count.before)
	stop := m.count.run(ctx)
	err := m.work(ctx, parts)
	stop()
	m.report.Rows, m.report.Took = m.count.done.Load()-m.count.before, m.count.took()
	return err
}

// work runs the stages in order, and the parts of a stage in parallel.
func (m *mover) work(ctx context.Context, parts []*part) error {
	last := 0
	for _, p := range parts {
		last = max(last, p.stage)
	}
	for stage := range last + 1 {
		var todo []*part
		for _, p := range parts {
			if p.stage == stage && !p.state.done {
				todo = append(todo, p)
			}
		}
		err := forEach(ctx, parallel, todo, func(ctx context.Context, p *part) error {
			if err := p.run(ctx, p); err != nil {
				return fmt.Errorf("moving %s: %w", p.name, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// end marks the source as moved, then the target as complete. In between neither can be served; running the move again completes it.
func (m *mover) end(ctx context.Context) error {
	if err := writeMarker(m.Data, m.target.name()); err != nil {
		return err
	}
	return m.target.end(ctx, m.source.epoch, m.source.restored)
}
