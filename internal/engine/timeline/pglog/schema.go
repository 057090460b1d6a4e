package pglog

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// migrations create and update the tables, once each, in order. A released migration never changes. docs/formats/postgres.md
// describes the tables and their sharding.
var migrations = [...]string{`
CREATE TABLE log_entries (
	id BIGINT NOT NULL, seq BIGINT NOT NULL, counted BIGINT NOT NULL, payload BYTEA NOT NULL,
	PRIMARY KEY (id, seq));
CREATE TABLE log_tokens (
	sender BIGINT NOT NULL, device BIGINT NOT NULL, counter BIGINT NOT NULL, id BIGINT NOT NULL, seq BIGINT NOT NULL, shard SMALLINT NOT NULL,
	PRIMARY KEY (sender, device, counter, id));
CREATE TABLE log_sums (
	id BIGINT NOT NULL, seq BIGINT NOT NULL, sum UUID NOT NULL,
	PRIMARY KEY (id, sum));
CREATE TABLE log_tails (
	id BIGINT PRIMARY KEY, seq BIGINT NOT NULL, counted BIGINT NOT NULL, access BIGINT NOT NULL, shard SMALLINT NOT NULL) WITH (fillfactor = 60);
CREATE INDEX ON log_tails (shard, id);
CREATE TABLE log_authors (
	id BIGINT NOT NULL, author BIGINT NOT NULL, seq BIGINT NOT NULL, counted BIGINT NOT NULL,
	PRIMARY KEY (id, author)) WITH (fillfactor = 60);
CREATE TABLE log_heads (
	kind SMALLINT NOT NULL, id BIGINT NOT NULL, head BIGINT NOT NULL,
	PRIMARY KEY (kind, id)) WITH (fillfactor = 80);
CREATE TABLE log_partitions (
	partition SMALLINT PRIMARY KEY, record BIGINT NOT NULL) WITH (fillfactor = 10);
CREATE TABLE log_records (
	partition SMALLINT NOT NULL, seq BIGINT NOT NULL, ids BIGINT[] NOT NULL, firsts BIGINT[] NOT NULL, lasts BIGINT[] NOT NULL,
	PRIMARY KEY (partition, seq)) WITH (toast_tuple_target = 8160);
ALTER TABLE log_records ALTER ids SET STORAGE EXTERNAL, ALTER firsts SET STORAGE EXTERNAL, ALTER lasts SET STORAGE EXTERNAL;
CREATE TABLE log_checkpoints (
	partition SMALLINT PRIMARY KEY, record BIGINT NOT NULL) WITH (fillfactor = 10);
CREATE TABLE log_terms (
	partition SMALLINT PRIMARY KEY, term BIGINT NOT NULL) WITH (fillfactor = 10);
CREATE TABLE log_writers (
	writer BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, batch BIGINT NOT NULL, used TIMESTAMPTZ NOT NULL, seqs BIGINT[] NOT NULL, records BIGINT[] NOT NULL, ended BOOLEAN NOT NULL DEFAULT false)
	WITH (fillfactor = 10, toast_tuple_target = 8160);
ALTER TABLE log_writers ALTER seqs SET STORAGE EXTERNAL;
CREATE TABLE log_inboxes (
	id BIGINT PRIMARY KEY, prev BIGINT NOT NULL, seq BIGINT NOT NULL, shard SMALLINT NOT NULL) WITH (fillfactor = 60);
CREATE INDEX ON log_inboxes (shard, id);
CREATE TABLE log_posts (
	id BIGINT NOT NULL, seq BIGINT NOT NULL, prev BIGINT NOT NULL, payload BYTEA NOT NULL,
	PRIMARY KEY (id, seq));
INSERT INTO log_partitions SELECT p, 0 FROM generate_series(0, 15) p;
INSERT INTO log_checkpoints SELECT p, 0 FROM generate_series(0, 15) p;
INSERT INTO log_terms SELECT p, 1 FROM generate_series(0, 15) p;
`, `
INSERT INTO log_partitions SELECT p, 0 FROM generate_series(16, 63) p;
INSERT INTO log_checkpoints SELECT p, 0 FROM generate_series(16, 63) p;
INSERT INTO log_terms SELECT p, 1 FROM generate_series(16, 63) p;
`, `
ALTER TABLE log_terms ADD COLUMN holder BIGINT NOT NULL DEFAULT 0;
UPDATE log_terms SET term = 0 WHERE term = 1;
`}

// migrate runs the missing migrations, and returns the epoch and the one that was begun when data was lost. One node at a time does this.
func migrate(ctx context.Context, c interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}) (epoch, restored uint32, err error) {
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('rialto timelines ' || current_schema()));
			CREATE TABLE IF NOT EXISTS log_meta (one BOOLEAN PRIMARY KEY DEFAULT true CHECK (one), version BIGINT NOT NULL, epoch BIGINT NOT NULL);
			ALTER TABLE log_meta ADD COLUMN IF NOT EXISTS restored BIGINT NOT NULL DEFAULT 0;
			INSERT INTO log_meta (version, epoch) VALUES (0, 1) ON CONFLICT DO NOTHING`)
		if err != nil {
			return err
		}
		var version int
		if err := tx.QueryRow(ctx, `SELECT version, epoch, restored FROM log_meta`).Scan(&version, &epoch, &restored); err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("the tables were made by a newer rialto (version %d of timelines, this one knows %d); use that version", version, len(migrations))
		}
		for _, step := range migrations[version:] {
			if _, err := tx.Exec(ctx, step); err != nil {
				return err
			}
		}
		// A writer that was idle for that long has no running batch.
		_, err = tx.Exec(ctx, `DELETE FROM log_writers WHERE used < now() - interval '7 days'`)
		if err != nil || version == len(migrations) {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE log_meta SET version = $1`, len(migrations))
		return err
	})
	return epoch, restored, err
}
