package pglog

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Records of a partition above a seq.
func (s reader) Records(ctx context.Context, partition uint16, above uint64, limit int) ([]timeline.Record, error) {
	rows, err := s.db.Query(ctx, `SELECT seq, ids, firsts, lasts FROM log_records WHERE partition = $1 AND seq > $2 ORDER BY seq LIMIT $3`, int16(partition), bounded(above), limit)
	if err != nil {
		return nil, failed(ctx, err)
	}
	records, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r timeline.Record, err error) {
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
	return records, failed(ctx, err)
}

// Checkpoint of a partition.
func (s reader) Checkpoint(ctx context.Context, partition uint16) (at uint64, err error) {
	err = s.db.QueryRow(ctx, `SELECT record FROM log_checkpoints WHERE partition = $1`, int16(partition)).Scan(&at)
	return at, failed(ctx, err)
}

// PutCheckpoint says how far a partition was carried, and drops the records to there.
func (l *Log) PutCheckpoint(ctx context.Context, partition uint16, record uint64) error {
	var done pgconn.CommandTag
	err := l.writes(ctx, l.options.Patience, func(c *pgx.Conn) (err error) {
		done, err = c.Exec(ctx, putCheckpoint, int16(partition), l.terms[partition].Load(), bounded(record))
		return err
	})
	if err != nil {
		return failed(ctx, err)
	}
	if done.RowsAffected() == 0 {
		return timeline.ErrTaken
	}
	return nil
}

const putCheckpoint = `
WITH term AS (
	SELECT FROM log_terms WHERE partition = $1 AND term = $2 FOR SHARE
), carried AS (
	DELETE FROM log_records WHERE partition = $1 AND seq <= $3 AND EXISTS (SELECT FROM term)
)
UPDATE log_checkpoints SET record = greatest(record, $3) WHERE partition = $1 AND EXISTS (SELECT FROM term)`

// Take raises the term of a partition. It waits for what is being written in the term before.
func (l *Log) Take(ctx context.Context, partition uint16) error {
	var term int64
	err := l.writes(ctx, l.options.Patience, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `UPDATE log_terms SET term = term + 1 WHERE partition = $1 RETURNING term`, int16(partition)).Scan(&term)
	})
	if err != nil {
		return failed(ctx, err)
	}
	l.terms[partition].Store(term)
	return nil
}
