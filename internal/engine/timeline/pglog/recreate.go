package pglog

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// dropRetired removes what Retire has left, for a new log in its place. log_meta stays: it has the epoch.
const dropRetired = `
DROP TABLE IF EXISTS moved_log_partitions, moved_log_terms, moved_log_tails, moved_log_heads, moved_log_inboxes, moved_log_posts, moved_log_entries,
	moved_log_tokens, moved_log_sums, moved_log_authors, moved_log_records, moved_log_checkpoints, log_writers;
DROP FUNCTION IF EXISTS log_frozen() CASCADE`

const dropTables = `DROP TABLE IF EXISTS log_partitions, log_terms, log_tails, log_heads, log_inboxes, log_posts, log_entries, log_tokens, log_sums, log_authors, log_records, log_checkpoints, log_writers`

// Recreate creates an empty log in the caller's transaction, as the target of a move. It replaces a log that was retired, and fails if there is another one.
func Recreate(ctx context.Context, tx pgx.Tx) error {
	var is bool
	if err := tx.QueryRow(ctx, `SELECT to_regclass('log_entries') IS NOT NULL`).Scan(&is); err != nil {
		return err
	}
	if is {
		return errors.New("the database has timelines already, in tables whose names begin with log_; if no node has used them since a move, remove them: DROP TABLE log_entries, log_posts, …")
	}
	if _, err := tx.Exec(ctx, dropRetired); err != nil {
		return err
	}
	if err := forgetVersion(ctx, tx); err != nil {
		return err
	}
	_, _, err := migrate(ctx, tx)
	return err
}

// Discard removes a log that Recreate has created, in the caller's transaction. It may be repeated.
func Discard(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, dropTables); err != nil {
		return err
	}
	return forgetVersion(ctx, tx)
}

// forgetVersion lets migrate create all tables.
func forgetVersion(ctx context.Context, tx pgx.Tx) error {
	var is bool
	err := tx.QueryRow(ctx, `SELECT to_regclass('log_meta') IS NOT NULL`).Scan(&is)
	if err != nil || !is {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE log_meta SET version = 0`)
	return err
}
