package messagetransaction

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// A transaction that was rolled back is kept with its contents, and one that failed with those that were refused. How many a key has of them, and their bytes,
// is a row of transaction_kept, which changes with them: so nothing has to count them.

// tally is a change of what a key has of transactions with contents after their end.
type tally struct{ count, bytes int64 }

// addKept adds to what a key has. A transaction of the database changes rows of transactions before it does that, and keys in their order.
func addKept(ctx context.Context, tx *sql.Tx, key string, by tally) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO transaction_kept (key_name, kept, bytes) VALUES ($1, $2, $3)
		ON CONFLICT (key_name) DO UPDATE SET kept = transaction_kept.kept + excluded.kept, bytes = transaction_kept.bytes + excluded.bytes`, key, by.count, by.bytes)
	return err
}

// remove deletes transactions with their messages.
func remove(ctx context.Context, tx *sql.Tx, ids []int64) error {
	removed := map[string]tally{}
	for _, n := range ids {
		if _, err := tx.ExecContext(ctx, `DELETE FROM prepared_messages WHERE owner = $1`, n); err != nil {
			return err
		}
		t, err := scan(tx.QueryRowContext(ctx, `DELETE FROM message_transactions WHERE id = $1 RETURNING `+columns, n).Scan)
		switch {
		case errors.Is(err, errNotFound):
			continue
		case err != nil:
			return err
		case t.state == rolledBack || t.state == failed && t.bytes > 0:
			r := removed[t.key]
			removed[t.key] = tally{r.count - 1, r.bytes - t.bytes}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(removed)) {
		if err := addKept(ctx, tx, key, removed[key]); err != nil {
			return err
		}
	}
	return nil
}

// trimKept bounds the transactions of each key that have contents after their end. Beyond, the oldest that were rolled back are deleted, and of those that failed
// the contents: their rows say that some messages were sent, so that a repeated call does not send them again.
func (s *Service) trimKept(ctx context.Context) error {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT key_name FROM transaction_kept WHERE kept > $1 OR bytes > $2`, s.sizes.kept, s.sizes.keptBytes)
	keys, err := sqldb.Column[string](rows, err)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := s.deps.DB.WriteInBatches(ctx, batch, func(tx *sql.Tx) (int64, error) { return s.trimKey(ctx, tx, key) }); err != nil {
			return err
		}
	}
	return nil
}

// oldestKept is the oldest transactions of a key that have contents after their end. The condition is that of the index, with the numbers of ROLLED_BACK and FAILED.
const oldestKept = `SELECT ` + columns + ` FROM message_transactions WHERE (state = 5 OR state = 4 AND bytes > 0) AND key_name = $1 ORDER BY id LIMIT $2`

// trimKey trims the oldest transactions of a key, at most batch, as long as the key has too many. It returns how many it trimmed.
func (s *Service) trimKey(ctx context.Context, tx *sql.Tx, key string) (trimmed int64, err error) {
	var kept, used int64
	err = tx.QueryRowContext(ctx, `SELECT kept, bytes FROM transaction_kept WHERE key_name = $1`, key).Scan(&kept, &used)
	if err != nil {
		return 0, err
	}
	oldest, err := collect(tx.QueryContext(ctx, oldestKept, key, batch))
	if err != nil {
		return 0, err
	}
	var by tally
	for _, t := range oldest {
		if kept+by.count <= s.sizes.kept && used+by.bytes <= s.sizes.keptBytes {
			break
		}
		was, err := trim(ctx, tx, t)
		if err != nil {
			return 0, err
		}
		if was {
			by.count--
			by.bytes -= t.bytes
		}
	}
	return -by.count, addKept(ctx, tx, key, by)
}

// trim deletes a transaction that was rolled back, or the contents of one that failed. It reports whether the transaction was still so: an operator may retry it
// at the same time.
func trim(ctx context.Context, tx *sql.Tx, t *transaction) (was bool, err error) {
	if t.state == failed {
		was, err = changed(ctx, tx, `UPDATE message_transactions SET bytes = 0 WHERE id = $1 AND state = $2 AND bytes = $3`, int64(t.id), int64(failed), t.bytes)
		if err == nil && was {
			_, err = tx.ExecContext(ctx, `UPDATE prepared_messages SET content = $2 WHERE owner = $1`, int64(t.id), []byte{})
		}
		return was, err
	}
	was, err = changed(ctx, tx, `DELETE FROM message_transactions WHERE id = $1 AND state = $2`, int64(t.id), int64(rolledBack))
	if err == nil && was {
		_, err = tx.ExecContext(ctx, `DELETE FROM prepared_messages WHERE owner = $1`, int64(t.id))
	}
	return was, err
}
