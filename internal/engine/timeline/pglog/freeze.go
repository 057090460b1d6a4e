package pglog

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Freeze, Unfreeze and Retire change what servers may do with a log in the caller's transaction, which begins with LockTables. The
// database enforces it, so it holds for all processes of any release, also for those that are suspended meanwhile. log_meta and
// log_writers stay as they are: by them a committer finds out whether its last batch was stored.

// lockTables waits for all writers, and lets none begin. An append locks log_partitions before the other tables, so one that waits
// holds no lock that this statement needs.
const lockTables = `LOCK TABLE log_partitions, log_terms, log_tails, log_heads, log_inboxes, log_posts, log_entries, log_tokens, log_sums, log_authors, log_records, log_checkpoints
	IN EXCLUSIVE MODE`

const freezeTables = `
CREATE FUNCTION log_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'the timelines are being moved to another store' USING ERRCODE = 'RLMVE';
END $$;
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_partitions FOR EACH STATEMENT EXECUTE FUNCTION log_frozen();
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_terms FOR EACH STATEMENT EXECUTE FUNCTION log_frozen();
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_tails FOR EACH STATEMENT EXECUTE FUNCTION log_frozen();
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_heads FOR EACH STATEMENT EXECUTE FUNCTION log_frozen();
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_inboxes FOR EACH STATEMENT EXECUTE FUNCTION log_frozen();
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_posts FOR EACH STATEMENT EXECUTE FUNCTION log_frozen();
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_entries FOR EACH STATEMENT EXECUTE FUNCTION log_frozen();
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_tokens FOR EACH STATEMENT EXECUTE FUNCTION log_frozen();
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_sums FOR EACH STATEMENT EXECUTE FUNCTION log_frozen();
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_authors FOR EACH STATEMENT EXECUTE FUNCTION log_frozen();
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_records FOR EACH STATEMENT EXECUTE FUNCTION log_frozen();
CREATE TRIGGER log_frozen BEFORE INSERT OR UPDATE OR DELETE ON log_checkpoints FOR EACH STATEMENT EXECUTE FUNCTION log_frozen()`

const retireTables = `
ALTER TABLE log_partitions RENAME TO moved_log_partitions;
ALTER TABLE log_terms RENAME TO moved_log_terms;
ALTER TABLE log_tails RENAME TO moved_log_tails;
ALTER TABLE log_heads RENAME TO moved_log_heads;
ALTER TABLE log_inboxes RENAME TO moved_log_inboxes;
ALTER TABLE log_posts RENAME TO moved_log_posts;
ALTER TABLE log_entries RENAME TO moved_log_entries;
ALTER TABLE log_tokens RENAME TO moved_log_tokens;
ALTER TABLE log_sums RENAME TO moved_log_sums;
ALTER TABLE log_authors RENAME TO moved_log_authors;
ALTER TABLE log_records RENAME TO moved_log_records;
ALTER TABLE log_checkpoints RENAME TO moved_log_checkpoints`

// lockTries is the number of attempts to lock the tables. Each waits for 2 s at most, because writers wait behind it.
const lockTries = 20

// Error codes of attempts that are repeated.
const (
	lockTimedOut = "55P03"
	deadlock     = "40P01"
)

// LockTables is Change during which nobody writes the log. Writers conflict always, and readers, such as a backup, where do renames tables or
// drops triggers.
func LockTables(ctx context.Context, pool *pgxpool.Pool, do func(tx pgx.Tx) error) error {
	return Change(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockTables); err != nil {
			return err
		}
		return do(tx)
	})
}

// Change calls do in a transaction and commits it durably. It fails if others hold conflicting locks for more than 40 s.
func Change(ctx context.Context, pool *pgxpool.Pool, do func(tx pgx.Tx) error) error {
	for tries := 1; ; tries++ {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '2s'; SET LOCAL synchronous_commit = on`); err != nil {
				return err
			}
			return do(tx)
		})
		if c := code(err); c != lockTimedOut && c != deadlock {
			return err
		}
		if tries == lockTries {
			return fmt.Errorf("locking the timelines: %w", err)
		}
	}
}

// Freeze makes all writes of the log fail with timeline.ErrMoving, until Unfreeze. Reads go on.
func Freeze(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, freezeTables)
	return err
}

// Unfreeze ends Freeze.
func Unfreeze(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `DROP FUNCTION log_frozen() CASCADE`)
	return err
}

// Retire makes all calls of the log fail with timeline.ErrMoving, for ever. It fails if the log is not frozen.
func Retire(ctx context.Context, tx pgx.Tx) error {
	var is bool
	err := tx.QueryRow(ctx, `SELECT count(*) = 12 FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
		WHERE t.tgname = 'log_frozen' AND t.tgenabled = 'O' AND c.relnamespace = current_schema()::regnamespace`).Scan(&is)
	if err == nil && !is {
		err = errors.New("servers could write the timelines meanwhile, because triggers were removed")
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, retireTables)
	return err
}
