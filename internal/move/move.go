// Package move brings what a node kept in its data directory (records in SQLite, timelines in Pebble, files on disk) into the
// engines that nodes share: records into PostgreSQL, timelines there or into Cassandra, files into S3 where that is wanted.
//
// The source is held, so that no server runs on it, and only read; when all is over it gets a mark that keeps a server from
// going on with it. The target is empty at first, or has the half of an earlier move of the same source: every batch is one
// transaction with the place that it reached, so a move that was killed goes on from there. Rows are copied as they are, whatever
// rooms they are of; positions, numbers and tokens stay. At the end all of it is read from both sides and compared.
//
// Options say where from and to; Run does it, once at a time for a target.
package move

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rialto-im/rialto/internal/blob/s3blob"
	"github.com/rialto-im/rialto/internal/timeline/cassandralog"
)

// Options of a move.
type Options struct {
	// Data is the directory to move. Nobody may have it open.
	Data string
	// Postgres is the address of the database, as postgres://user@host/name.
	Postgres string
	// Cassandra takes the timelines; nil: PostgreSQL does.
	Cassandra *cassandralog.Options
	// S3 takes the files; nil: they stay on the disk.
	S3 *s3blob.Config
	// VerifyOnly compares a move that was completed with its source, and moves nothing.
	VerifyOnly bool
	// Say is told how far it is; nil: nobody.
	Say func(format string, args ...any)
	// Every so long it is; 0 is 5 s.
	Every time.Duration
	// Batch is how many rows go in one transaction; 0 is 20,000.
	Batch int
	// Logger of the engines; nil discards.
	Logger *slog.Logger

	// interrupt is asked before and after each batch is committed; its error ends the move there. Tests have one.
	interrupt func(point string) error
}

func (o *Options) defaults() {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	if o.Every == 0 {
		o.Every = 5 * time.Second
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

// lanes are the batches that are under way at once.
const lanes = 4

// mover is a move under way.
type mover struct {
	Options
	source *source
	target *target
	count  *progress
	report *Report
}

// Run moves what is not moved yet, and compares. What differs is in the report; the error is for what could not be done.
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
			return nil, errors.New("the move is not complete; run it again without --verify-only, and it goes on")
		}
		return m.report, m.compare(ctx)
	}
	if m.target.state.done {
		return nil, fmt.Errorf("this directory was moved to this target on %s; --verify-only compares the two again, which is of use until a server has run on the target", m.target.state.ended)
	}
	if err := m.all(ctx); err != nil {
		return nil, err
	}
	if err := m.compare(ctx); err != nil || len(m.report.Differences) > 0 {
		return m.report, err
	}
	return m.report, m.end(ctx)
}

// all moves tables, timelines and files.
func (m *mover) all(ctx context.Context) error {
	parts, err := m.parts(ctx)
	if err != nil {
		return err
	}
	m.count = newProgress(m.Say, m.Every)
	for _, p := range parts {
		m.count.total += p.total
		m.count.before += p.state.rows
	}
	m.count.done.Store(m.count.before)
	stop := m.count.run()
	err = m.work(ctx, parts)
	stop()
	m.report.Rows, m.report.Took = m.count.done.Load()-m.count.before, m.count.took()
	if err != nil {
		return err
	}
	return m.target.finishTables(ctx, m.source)
}

// work does stage after stage, in each some parts at once.
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
		err := eachOf(ctx, lanes, todo, func(ctx context.Context, p *part) error {
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

// end marks the source, then the target. Between the two neither can be served, and a move that is run again ends what is left.
func (m *mover) end(ctx context.Context) error {
	if err := putMark(m.Data, m.target.name()); err != nil {
		return err
	}
	return m.target.end(ctx, m.source.epoch)
}
