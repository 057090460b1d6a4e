package coldtier

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// sweptAtOnce bounds the rows of one query.
const sweptAtOnce = 100

// sweep deletes the files that no reader uses: those that were never committed, or that were replaced, or whose entries have expired.
func (t *Tier) sweep(ctx context.Context) error {
	for {
		files, err := t.unusedFiles(ctx)
		if err != nil || len(files) == 0 {
			return err
		}
		for _, file := range files {
			switch err := t.drop(ctx, file); {
			case errors.Is(err, errSuperseded):
				continue // its slow writer has committed it since, or another node has swept it
			case err != nil:
				return err
			}
			if err := t.deps.Files.Delete(ctx, file); err != nil {
				return err
			}
			if err := t.reached("after-delete"); err != nil {
				return err
			}
			if err := t.forget(ctx, file); err != nil {
				return err
			}
			t.stats.Swept.Add(1)
		}
	}
}

func (t *Tier) unusedFiles(ctx context.Context) ([]string, error) {
	rows, err := t.deps.DB.Read().QueryContext(ctx, `SELECT file FROM cold_segments WHERE state <> 1 AND changed_ms < $1 ORDER BY changed_ms LIMIT $2`,
		t.deps.Clock.Now().Add(-t.config.SweepAfter).UnixMilli(), sweptAtOnce)
	return sqldb.Column[string](rows, err)
}

// drop makes sure that a slow writer cannot commit an unused file any more. It fails with errSuperseded if the file is in use by now.
func (t *Tier) drop(ctx context.Context, file string) error {
	return t.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		return changeOne(tx.ExecContext(ctx, `UPDATE cold_segments SET state = 2 WHERE file = $1 AND state <> 1`, file))
	})
}

// forget deletes the row of a file that was deleted.
func (t *Tier) forget(ctx context.Context, file string) error {
	return t.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM cold_segments WHERE file = $1 AND state = 2`, file)
		return err
	})
}

// staleSegment is a segment with contents that must leave it.
type staleSegment struct {
	SegmentRow
	conversation uint64
	staleMs      int64
}

// rewriteStale rewrites the segments that have had expired or recalled contents for Config.RewriteAfter. One that fails does not stop the others.
func (t *Tier) rewriteStale(ctx context.Context) error {
	var at staleSegment
	for {
		list, err := t.staleSegments(ctx, at)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, s := range list {
			at = s // one that fails is tried again in the next round
			switch err := t.rewrite(ctx, s); {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil && !errors.Is(err, errSuperseded):
				t.stats.Failed.Add(1)
				t.deps.Logger.Error("a segment of old messages could not be rewritten without what has expired or was recalled", "conversation", s.conversation, "file", s.File, "error", err)
			}
			if err := backoff.Sleep(ctx, t.config.Pause); err != nil {
				return err
			}
		}
	}
}

// staleSegments returns some of the segments that are due, those after one in their order.
func (t *Tier) staleSegments(ctx context.Context, after staleSegment) (list []staleSegment, err error) {
	rows, err := t.deps.DB.Read().QueryContext(ctx, `SELECT file, conversation, first_seq, last_seq, size, checksum, stale_ms FROM cold_segments
		WHERE state = 1 AND stale_ms > 0 AND stale_ms < $1 AND (stale_ms, file) > ($2, $3) ORDER BY stale_ms, file LIMIT $4`,
		t.deps.Clock.Now().Add(-t.config.RewriteAfter).UnixMilli(), after.staleMs, after.File, sweptAtOnce)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var s staleSegment
		if err := rows.Scan(&s.File, &s.conversation, &s.First, &s.Last, &s.Size, &s.Checksum, &s.staleMs); err != nil {
			return err
		}
		list = append(list, s)
		return nil
	})
	return list, err
}

// rewrite replaces a segment by one without what has expired or was recalled.
func (t *Tier) rewrite(ctx context.Context, old staleSegment) error {
	key := timeline.Key{Kind: timeline.Conversation, ID: old.conversation}
	s, known, err := spanOf(ctx, t.deps.DB.Read(), old.conversation)
	if err != nil {
		return err
	}
	if !known || s.first > old.Last { // it expired meanwhile
		return errSuperseded
	}
	entries, err := t.entries(ctx, t.reader(), key, old.SegmentRow, max(old.First, s.first), old.Last, false)
	if err != nil {
		return err
	}
	if err := t.withoutRecalled(ctx, key, entries); err != nil {
		return err
	}
	n, err := t.write(ctx, key, entries)
	if err != nil {
		return err
	}
	if err := t.reached("before-rewritten"); err != nil {
		return err
	}
	if err := t.commitRewritten(ctx, n, old); err != nil {
		return err
	}
	t.stats.Rewritten.Add(1)
	return nil
}

// Recalled makes the content of a message that was recalled leave the cold tier: its segment will be rewritten. Call it in the transaction
// of the recall. It changes nothing if the message is not in a segment. Readers do not see the content from the recall on.
func (t *Tier) Recalled(ctx context.Context, tx *sql.Tx, key timeline.Key, seq uint64) error {
	for _, statement := range []string{ // each has an index of its own
		`UPDATE cold_segments SET stale_ms = CASE WHEN stale_ms = 0 THEN $3 ELSE stale_ms + 1 END WHERE conversation = $1 AND state = 1 AND first_seq <= $2 AND last_seq >= $2`,
		`UPDATE cold_segments SET stale_ms = $3 WHERE conversation = $1 AND state = 0 AND first_seq <= $2 AND last_seq >= $2`, // it may be used later
	} {
		if _, err := tx.ExecContext(ctx, statement, int64(key.ID), int64(seq), t.nowMs()); err != nil {
			return err
		}
	}
	return nil
}

// Erased is Recalled for all messages from one seq to another, of which some were erased.
func (t *Tier) Erased(ctx context.Context, tx *sql.Tx, key timeline.Key, from, to uint64) error {
	for _, statement := range []string{
		`UPDATE cold_segments SET stale_ms = CASE WHEN stale_ms = 0 THEN $4 ELSE stale_ms + 1 END WHERE conversation = $1 AND state = 1 AND first_seq <= $3 AND last_seq >= $2`,
		`UPDATE cold_segments SET stale_ms = $4 WHERE conversation = $1 AND state = 0 AND first_seq <= $3 AND last_seq >= $2`,
	} {
		if _, err := tx.ExecContext(ctx, statement, int64(key.ID), int64(from), int64(to), t.nowMs()); err != nil {
			return err
		}
	}
	return nil
}

// recalledSince returns a message of a segment that was recalled after the entries were read, 0 if there is none. What is recalled after
// the segment's row was written is marked there.
func (t *Tier) recalledSince(ctx context.Context, key timeline.Key, list []timeline.Entry) (uint64, error) {
	if t.deps.Recalled == nil {
		return 0, nil
	}
	first := list[0].Seq
	recalled, err := t.deps.Recalled(ctx, key, first, list[len(list)-1].Seq)
	if err != nil {
		return 0, err
	}
	for _, seq := range recalled {
		var m message.Entry
		if m.Decode(list[seq-first].Payload) == nil && !m.Control && len(m.Content) > 0 {
			return seq, nil
		}
	}
	return 0, nil
}
