package coldtier

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// The manifest is in the SQL database. A row of cold_conversations says which seqs of a conversation are in the cold tier: first_seq to
// last_seq, or none if first_seq is greater. Entries below first_seq have expired. A row of cold_segments exists from before its file is
// written until after it was deleted, so no file is forgotten.
var migrations = []string{
	`CREATE TABLE cold_conversations (conversation BIGINT PRIMARY KEY, first_seq BIGINT NOT NULL, last_seq BIGINT NOT NULL)`,
	`CREATE TABLE cold_segments (file TEXT PRIMARY KEY, conversation BIGINT NOT NULL, first_seq BIGINT NOT NULL, last_seq BIGINT NOT NULL, state SMALLINT NOT NULL,
		size BIGINT NOT NULL, checksum {bytes} NOT NULL, changed_ms BIGINT NOT NULL, stale_ms BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX cold_segments_current ON cold_segments (conversation, last_seq) WHERE state = 1`,
	`CREATE INDEX cold_segments_unused ON cold_segments (changed_ms) WHERE state <> 1`,
	`CREATE INDEX cold_segments_stale ON cold_segments (stale_ms) WHERE state = 1 AND stale_ms > 0`,
	`CREATE INDEX cold_segments_new ON cold_segments (conversation) WHERE state = 0`,
}

// States of a segment: 0 while its file is written, 1 once readers use it, 2 when they do not any more. The statements have the numbers.

// span is what the cold tier has of a conversation.
type span struct{ first, last uint64 }

func (s span) empty() bool { return s.first > s.last }

// SegmentRow is the manifest's row of a segment that readers use.
type SegmentRow struct {
	File        string
	First, Last uint64 // seqs
	Size        int64  // of the file, in bytes
	Checksum    []byte // SHA-256 of the file
}

// spanOf returns what the cold tier has of a conversation, and whether it has ever had any of it.
func spanOf(ctx context.Context, db sqldb.Querier, conversation uint64) (s span, ok bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT first_seq, last_seq FROM cold_conversations WHERE conversation = $1`, int64(conversation)).Scan(&s.first, &s.last)
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	return s, err == nil, err
}

// spansAtOnce bounds the conversations in one query.
const spansAtOnce = 256

// spansOf returns the spans of those conversations that have one.
func spansOf(ctx context.Context, db sqldb.Querier, conversations []uint64) (map[uint64]span, error) {
	spans := map[uint64]span{}
	for len(conversations) > 0 {
		some := conversations[:min(len(conversations), spansAtOnce)]
		conversations = conversations[len(some):]
		marks, args := sqldb.Placeholders(1, some, func(c uint64) int64 { return int64(c) })
		rows, err := db.QueryContext(ctx, `SELECT conversation, first_seq, last_seq FROM cold_conversations WHERE conversation IN (`+marks+`)`, args...)
		if err != nil {
			return nil, err
		}
		if err := scanSpans(rows, spans); err != nil {
			return nil, err
		}
	}
	return spans, nil
}

func scanSpans(rows *sql.Rows, spans map[uint64]span) error {
	defer rows.Close()
	for rows.Next() {
		var c int64
		var s span
		if err := rows.Scan(&c, &s.first, &s.last); err != nil {
			return err
		}
		spans[uint64(c)] = s
	}
	return rows.Err()
}

// segmentFrom returns the segment that has the first entry at or after a seq.
func segmentFrom(ctx context.Context, db sqldb.Querier, conversation, seq uint64) (s SegmentRow, ok bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT file, first_seq, last_seq, size, checksum FROM cold_segments
		WHERE conversation = $1 AND state = 1 AND last_seq >= $2 ORDER BY last_seq LIMIT 1`, int64(conversation), int64(seq)).Scan(&s.File, &s.First, &s.Last, &s.Size, &s.Checksum)
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	return s, err == nil, err
}

// mayHaveSegments reports whether the cold tier has ever had anything.
func mayHaveSegments(ctx context.Context, db sqldb.Querier) (some bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM cold_conversations)`).Scan(&some)
	return some, err
}

// newSegment is a segment to be written.
type newSegment struct {
	SegmentRow
	conversation uint64
}

// begin records a segment before its file is written. From then on the file is deleted unless the segment is committed.
func (t *Tier) begin(ctx context.Context, s newSegment) error {
	return t.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO cold_segments (file, conversation, first_seq, last_seq, state, size, checksum, changed_ms) VALUES ($1, $2, $3, $4, 0, $5, $6, $7)`,
			s.File, int64(s.conversation), int64(s.First), int64(s.Last), s.Size, s.Checksum, t.nowMs())
		return err
	})
}

// use makes readers use a segment whose file is durable. It fails with errSuperseded if the segment was dropped meanwhile.
func (t *Tier) use(ctx context.Context, tx *sql.Tx, s newSegment) error {
	return changeOne(tx.ExecContext(ctx, `UPDATE cold_segments SET state = 1, changed_ms = $2 WHERE file = $1 AND state = 0`, s.File, t.nowMs()))
}

// errSuperseded: another node, or the retention, changed what is in the cold tier.
var errSuperseded = errors.New("the conversation's cold entries were changed meanwhile")

// changeOne fails with errSuperseded unless a statement changed one row.
func changeOne(done sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return errSuperseded
}

// commitPacked adds a segment behind what the cold tier has of a conversation. old is what it had when the entries were read; if a pack on
// another node or the retention came first, nothing changes. recalled is a message in it that was recalled meanwhile, or 0.
func (t *Tier) commitPacked(ctx context.Context, key timeline.Key, s newSegment, old span, recalled uint64) error {
	return t.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if recalled != 0 {
			if err := t.Recalled(ctx, tx, key, recalled); err != nil { // once for the whole segment
				return err
			}
		}
		if err := changeOne(tx.ExecContext(ctx, `UPDATE cold_conversations SET first_seq = CASE WHEN first_seq > last_seq THEN $2 ELSE first_seq END, last_seq = $3
			WHERE conversation = $1 AND first_seq = $4 AND last_seq = $5`, int64(s.conversation), int64(s.First), int64(s.Last), int64(old.first), int64(old.last))); err != nil {
			return err
		}
		return t.use(ctx, tx, s)
	})
}

// commitRewritten replaces a segment by one that lacks what has expired or was recalled. The row of the conversation is locked first, as in
// all transactions.
func (t *Tier) commitRewritten(ctx context.Context, s newSegment, old staleSegment) error {
	return t.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := changeOne(tx.ExecContext(ctx, `UPDATE cold_conversations SET last_seq = last_seq WHERE conversation = $1`, int64(s.conversation))); err != nil {
			return err
		}
		if err := changeOne(tx.ExecContext(ctx, `UPDATE cold_segments SET state = 2, changed_ms = $2, stale_ms = 0 WHERE file = $1 AND state = 1 AND stale_ms = $3`, old.File, t.nowMs(), old.staleMs)); err != nil {
			return err
		}
		return t.use(ctx, tx, s)
	})
}

// expireManifest removes the entries below a seq from what readers see, if the manifest has the conversation. With introduce it has it from then
// on, so that a pack that has read the entries before does not succeed.
func (t *Tier) expireManifest(ctx context.Context, conversation, first uint64, introduce bool) error {
	return t.deps.DB.WriteOnFullDisk(ctx, func(tx *sql.Tx) error {
		if introduce {
			_, err := tx.ExecContext(ctx, `INSERT INTO cold_conversations (conversation, first_seq, last_seq) VALUES ($1, $2, $3) ON CONFLICT (conversation) DO NOTHING`, int64(conversation), int64(first), int64(first-1))
			if err != nil {
				return err
			}
		}
		switch err := changeOne(tx.ExecContext(ctx, `UPDATE cold_conversations SET first_seq = CASE WHEN first_seq < $2 THEN $2 ELSE first_seq END WHERE conversation = $1`, int64(conversation), int64(first))); {
		case errors.Is(err, errSuperseded):
			return nil
		case err != nil:
			return err
		}
		now := t.nowMs()
		if _, err := tx.ExecContext(ctx, `UPDATE cold_segments SET state = 2, changed_ms = $3 WHERE conversation = $1 AND state = 1 AND last_seq < $2`, int64(conversation), int64(first), now); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE cold_segments SET stale_ms = CASE WHEN stale_ms = 0 THEN $3 ELSE stale_ms + 1 END
			WHERE conversation = $1 AND state = 1 AND last_seq >= $2 AND first_seq < $2`, int64(conversation), int64(first), now)
		return err
	})
}

// expire makes readers not see the entries below a seq any more. Unlike a read, it does not rely on an earlier answer that the cold tier is
// empty: a pack may be about to commit what expires.
func (t *Tier) expire(ctx context.Context, key timeline.Key, first uint64) error {
	if !t.inUse.Load() && t.config.After == 0 {
		if some, err := mayHaveSegments(ctx, t.deps.DB.Read()); err != nil || !some {
			return err
		}
	}
	tail, err := t.deps.Hot.Tail(ctx, key)
	if first = min(first, tail.Seq+1); err != nil || first <= max(tail.FirstSeq, 1) && !t.inUse.Load() {
		return err
	}
	introduce := first > 1 && t.mayBePacked(tail)
	if err := t.expireManifest(ctx, key.ID, first, introduce); err != nil {
		return err
	}
	if introduce {
		t.markUsed()
	}
	return nil
}

// mayBePacked reports whether a conversation is, or will soon be, long enough for a segment. Shorter ones have no row, and cost no query.
func (t *Tier) mayBePacked(tail timeline.Tail) bool { return tail.Seq >= uint64(t.config.MinEntries/2) }
