package cassandralog

import (
	"context"
	"errors"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// query is one statement with its context; at QUORUM, where nothing else is said.
type query struct {
	*gocql.Query
	ctx context.Context
}

func (l *Log) query(ctx context.Context, statement string, values ...any) query {
	return query{l.session.Query(statement, values...), ctx}
}

// at sets how a read is made: serial ones complete what is under way.
func (q query) at(serial bool) query {
	if serial {
		q.Consistency(gocql.Serial)
	}
	return q
}

// repeatable has the driver try again, a few times and on other nodes, what was not answered in time: it does the same twice as once.
func (q query) repeatable() query {
	q.Idempotent(true)
	return q
}

// Reads, and writes without a condition, are repeatable.

func (q query) Exec() error { return again(q.ctx, q.repeatable().ExecContext) }

func (q query) Scan(to ...any) error {
	return again(q.ctx, func(ctx context.Context) error { return q.repeatable().ScanContext(ctx, to...) })
}

// rows of an answer. Who has them must Close them.
type rows struct {
	*gocql.Iter
	end context.CancelCauseFunc
}

// Close ends them, and tells what went wrong.
func (r rows) Close() error {
	defer r.end(nil)
	return r.Iter.Close()
}

// Iter gives rows, once the first of them have come.
func (q query) Iter() rows {
	for tries := 1; ; tries++ {
		ctx, t := trying(q.ctx)
		if tries == silentTries {
			t.answered.Store(true)
		}
		it := q.repeatable().IterContext(ctx)
		t.answered.Store(true)
		if !errors.Is(context.Cause(ctx), errSilent) {
			return rows{it, t.stop}
		}
		_ = it.Close() // it has nothing
	}
}

// CAS is tried once, unless it was said to be repeatable.
func (q query) CAS() (applied bool, err error) {
	applied, _, err = q.compare()
	return applied, err
}

// compare is CAS that gives what was found instead.
func (q query) compare() (applied bool, found map[string]any, err error) {
	tries := once
	if q.IsIdempotent() {
		tries = again
	}
	err = tries(q.ctx, func(ctx context.Context) (err error) {
		found = map[string]any{}
		applied, err = q.MapScanCASContext(ctx, found)
		return err
	})
	return applied && err == nil, found, err
}

// scanSeq reads one number, 0 where there is none.
func (q query) scanSeq() (uint64, error) {
	var n int64
	err := q.Scan(&n)
	return uint64(n), notFoundIsNone(err)
}

func notFoundIsNone(err error) error {
	if errors.Is(err, gocql.ErrNotFound) {
		return nil
	}
	return err
}

// batch is a batch of statements for one partition, with its context.
type batch struct {
	*gocql.Batch
	ctx context.Context
}

func (l *Log) batch(ctx context.Context) batch {
	return batch{l.session.Batch(gocql.UnloggedBatch), ctx}
}

func (b batch) Exec() error { return b.ExecContext(b.ctx) }

// apply tells whether a conditional batch was applied. After an error nobody knows; and where it was not, an earlier try of the
// driver's may have been.
func (b batch) apply() (applied bool, err error) {
	err = once(b.ctx, func(ctx context.Context) error {
		var iter *gocql.Iter
		var err error
		if applied, iter, err = b.MapExecCASContext(ctx, map[string]any{}); iter != nil {
			err = errors.Join(err, iter.Close())
		}
		return err
	})
	return applied && err == nil, err
}
