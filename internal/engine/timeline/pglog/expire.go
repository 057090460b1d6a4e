package pglog

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Expire removes a conversation's entries below a seq, except for kept ones. It locks only the conversation's first seq: appends do not
// wait for it.
func (l *Log) Expire(ctx context.Context, k timeline.Key, head uint64, keep []uint64) error {
	return l.moveFirstSeq(ctx, k, func(tx pgx.Tx, old uint64) (uint64, error) {
		var tail uint64
		err := tx.QueryRow(ctx, `SELECT seq FROM log_tails WHERE id = $1`, rowID(k)).Scan(&tail)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return 0, err
		}
		if head = min(head, tail+1); head <= max(old, 1) {
			return old, nil
		}
		kept := make([]int64, len(keep))
		for i, seq := range keep {
			kept[i] = toBigint(seq)
		}
		_, err = tx.Exec(ctx, `DELETE FROM log_entries WHERE id = $1 AND seq >= $2 AND seq < $3 AND seq <> ALL ($4::BIGINT[])`, rowID(k), old, head, kept)
		return head, err
	})
}

// Trim removes a derived timeline's entries below a seq.
func (l *Log) Trim(ctx context.Context, k timeline.Key, head uint64) error {
	return l.moveFirstSeq(ctx, k, func(tx pgx.Tx, old uint64) (uint64, error) {
		if head <= old {
			return old, nil
		}
		_, err := tx.Exec(ctx, `DELETE FROM log_posts WHERE id = $1 AND seq < $2`, rowID(k), toBigint(head))
		return head, err
	})
}

// moveFirstSeq locks a timeline's first seq while entries below the new one are removed.
func (l *Log) moveFirstSeq(ctx context.Context, k timeline.Key, drop func(tx pgx.Tx, old uint64) (uint64, error)) error {
	err := l.withWriter(ctx, readTimeouts*l.options.Timeout, func(c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			var old uint64
			err := tx.QueryRow(ctx, `INSERT INTO log_heads AS h (kind, id, head) VALUES ($1, $2, 0) ON CONFLICT (kind, id) DO UPDATE SET head = h.head RETURNING head`, int16(k.Kind), rowID(k)).Scan(&old)
			if err != nil {
				return err
			}
			head, err := drop(tx, old)
			if err != nil || head == old {
				return err
			}
			_, err = tx.Exec(ctx, `UPDATE log_heads SET head = $3 WHERE kind = $1 AND id = $2`, int16(k.Kind), rowID(k), toBigint(head))
			return err
		})
	})
	return l.readError(ctx, err)
}
