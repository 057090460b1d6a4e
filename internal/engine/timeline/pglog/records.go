package pglog

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// FanoutRecords of a partition above a seq.
func (s reader) FanoutRecords(ctx context.Context, partition uint16, above uint64, limit int) ([]timeline.FanoutRecord, error) {
	rows, err := s.db.Query(ctx, `SELECT seq, ids, firsts, lasts FROM log_records WHERE partition = $1 AND seq > $2 ORDER BY seq LIMIT $3`, int16(partition), toBigint(above), limit)
	if err != nil {
		return nil, s.readError(ctx, err)
	}
	records, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r timeline.FanoutRecord, err error) {
		var ids, firsts, lasts []uint64
		if err := row.Scan(&r.Seq, &ids, &firsts, &lasts); err != nil {
			return r, err
		}
		r.Refs = make([]timeline.Ref, len(ids))
		for i := range ids {
			r.Refs[i] = timeline.Ref{Key: timeline.Key{Kind: timeline.Conversation, ID: ids[i]}, From: firsts[i], To: lasts[i]}
		}
		return r, nil
	})
	return records, s.readError(ctx, err)
}

// Checkpoint of a partition.
func (s reader) Checkpoint(ctx context.Context, partition uint16) (at uint64, err error) {
	err = s.db.QueryRow(ctx, `SELECT record FROM log_checkpoints WHERE partition = $1`, int16(partition)).Scan(&at)
	return at, s.readError(ctx, err)
}

// PutCheckpoint stores the last processed record of a partition and deletes the records up to it.
func (l *Log) PutCheckpoint(ctx context.Context, partition uint16, record uint64) error {
	term := l.terms[partition].Load()
	if term == 0 {
		return timeline.ErrFenced
	}
	var done pgconn.CommandTag
	err := l.withWriter(ctx, l.options.Timeout, func(c *pgx.Conn) (err error) {
		done, err = c.Exec(ctx, putCheckpoint, int16(partition), term, toBigint(record))
		return err
	})
	if err != nil {
		return l.readError(ctx, err)
	}
	if done.RowsAffected() == 0 {
		return timeline.ErrFenced
	}
	return nil
}

const putCheckpoint = `
WITH term AS (
	SELECT FROM log_terms WHERE partition = $1 AND term = $2 FOR SHARE
), delivered AS (
	DELETE FROM log_records WHERE partition = $1 AND seq <= $3 AND EXISTS (SELECT FROM term)
)
UPDATE log_checkpoints SET record = greatest(record, $3) WHERE partition = $1 AND EXISTS (SELECT FROM term)`

// Acquire sets the term of a partition. It waits for running writes of earlier terms.
func (l *Log) Acquire(ctx context.Context, partition uint16, term uint64) error {
	var stored uint64
	var acquired bool
	err := l.withWriter(ctx, l.options.Timeout, func(c *pgx.Conn) error {
		done, err := c.Exec(ctx, acquirePartition, int16(partition), toBigint(term), l.holder)
		if acquired = err == nil && done.RowsAffected() == 1; acquired || err != nil {
			return err
		}
		return c.QueryRow(ctx, `SELECT term FROM log_terms WHERE partition = $1`, int16(partition)).Scan(&stored)
	})
	if err != nil {
		return l.readError(ctx, err)
	}
	if !acquired {
		return &timeline.FencedError{Term: stored}
	}
	l.terms[partition].Store(int64(term))
	return nil
}

// acquirePartition writes the row again even if it is already this log's: the first write may not have reached the standby.
const acquirePartition = `UPDATE log_terms SET term = $2, holder = $3 WHERE partition = $1 AND (term < $2 OR term = $2 AND holder = $3)`
