package cassandralog

import (
	"context"
	"errors"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// query is a statement with its context. It uses QUORUM by default.
type query struct {
	*gocql.Query
	ctx context.Context
}

func (l *Log) query(ctx context.Context, statement string, values ...any) query {
	if l.renamed != nil {
		statement = l.renamed.in(statement)
	}
	return query{l.session.Query(statement, values...), ctx}
}

// at sets the consistency of a read: serial reads complete running batches.
func (q query) at(serial bool) query {
	if serial {
		q.Consistency(gocql.Serial)
	}
	return q
}

// repeatable lets the driver retry a statement that was not answered in time, a few times and on other nodes. It must be idempotent.
func (q query) repeatable() query {
	q.Idempotent(true)
	return q
}

// Reads and unconditional writes are repeatable.

func (q query) Exec() error {
	return classify(q.ctx, runIdempotent(q.ctx, q.repeatable().ExecContext))
}

func (q query) Scan(to ...any) error {
	return classify(q.ctx, runIdempotent(q.ctx, func(ctx context.Context) error { return q.repeatable().ScanContext(ctx, to...) }))
}

// rows of an answer. The caller must Close them.
type rows struct {
	*gocql.Iter
	ctx context.Context // of the query
	end context.CancelCauseFunc
}

// Close ends the rows, and returns their error.
func (r rows) Close() error {
	defer r.end(nil)
	return classify(r.ctx, r.Iter.Close())
}

// Iter returns the rows once the first ones have arrived.
func (q query) Iter() rows {
	for tries := 1; ; tries++ {
		ctx, t := withHostAttempt(q.ctx)
		if tries == maxHostAttempts {
			t.answered.Store(true)
		}
		it := q.repeatable().IterContext(ctx)
		t.answered.Store(true)
		if !errors.Is(context.Cause(ctx), errNodeSilent) {
			return rows{it, q.ctx, t.stop}
		}
		_ = it.Close() // it has no resources
	}
}

// CAS runs a conditional statement once, unless it is repeatable.
func (q query) CAS() (applied bool, err error) {
	applied, _, err = q.compare()
	return applied, err
}

// compare is CAS that also returns the stored values if the condition failed.
func (q query) compare() (applied bool, found map[string]any, err error) {
	tries := runOnce
	if q.IsIdempotent() {
		tries = runIdempotent
	}
	err = tries(q.ctx, func(ctx context.Context) (err error) {
		found = map[string]any{}
		applied, err = q.MapScanCASContext(ctx, found)
		return err
	})
	return applied && err == nil, found, classify(q.ctx, err)
}

// scanSeq reads one number, 0 if there is none.
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

// batch of statements for one partition, with its context.
type batch struct {
	*gocql.Batch
	ctx context.Context
}

func (l *Log) batch(ctx context.Context) batch {
	return batch{l.session.Batch(gocql.UnloggedBatch), ctx}
}

func (b batch) Exec() error { return classify(b.ctx, b.ExecContext(b.ctx)) }

// apply reports whether a conditional batch was applied. After an error the outcome is unknown; and if it was not applied, an earlier
// attempt of the driver may have been.
func (b batch) apply() (applied bool, err error) {
	err = runOnce(b.ctx, func(ctx context.Context) error {
		var iter *gocql.Iter
		var err error
		if applied, iter, err = b.MapExecCASContext(ctx, map[string]any{}); iter != nil {
			err = errors.Join(err, iter.Close())
		}
		return err
	})
	return applied && err == nil, classify(b.ctx, err)
}
