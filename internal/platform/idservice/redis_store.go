package idservice

import (
	"context"
	"database/sql"
)

const createRedisBounds = `CREATE TABLE id_redis (tag TEXT PRIMARY KEY, incarnation TEXT NOT NULL, bound BIGINT NOT NULL)`

// enterRedis makes an incarnation of the Redis server the one whose bound can be raised, and returns the bound.
func (c counters) enterRedis(ctx context.Context, tag, incarnation string) (bound uint64, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		if _, err := liveTag(ctx, tx, tag, SchemeRedis); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO id_redis (tag, incarnation, bound) VALUES ($1, $2, 0) ON CONFLICT (tag) DO UPDATE SET incarnation = $2`, tag, incarnation)
		if err != nil {
			return err
		}
		var stored int64
		err = tx.QueryRowContext(ctx, `SELECT bound FROM id_redis WHERE tag = $1`, tag).Scan(&stored)
		bound = uint64(stored)
		return err
	})
	return bound, err
}

// raiseRedisBound raises the bound of a tag, and reports whether the incarnation is still the one that counts it.
func (c counters) raiseRedisBound(ctx context.Context, tag, incarnation string, upTo uint64) (current bool, err error) {
	err = c.db.Write(ctx, func(tx *sql.Tx) error {
		if _, err := liveTag(ctx, tx, tag, SchemeRedis); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `UPDATE id_redis SET bound = CASE WHEN bound < $1 THEN $1 ELSE bound END WHERE tag = $2 AND incarnation = $3`, int64(upTo), tag, incarnation)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		current = n == 1
		return err
	})
	return current, err
}
