package chat

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A user clears the history of a conversation for themself: one watermark, through_seq, below which that user reads nothing any more. It
// acts like the seq of a join. So lists, counts, syncs and histories have one rule for what was before a join, has expired, or was cleared.
//
// A conversation that is deleted is cleared, and off the list until a message is counted after through_counted. The refresh of the list
// finds that message, and calls Restore.

// ClearHistory deletes a conversation's history for a user, and notifies the user's devices. It returns all that is deleted so far.
func (s *Service) ClearHistory(ctx context.Context, u id.User, r *chatv1.ClearHistoryRequest) (*chatv1.Deletion, error) {
	c := id.Conversation(r.Conversation)
	within, err := s.readable(ctx, u, c)
	if err != nil {
		return nil, err
	}
	last := min(within.to, within.tail.Seq)
	through := last
	if r.ThroughSeq != 0 {
		through = min(last, r.ThroughSeq)
	}
	d := &chatv1.Deletion{Conversation: r.Conversation, ThroughSeq: max(through, within.from-1)}
	if d.ThroughSeq = min(d.ThroughSeq, last); d.ThroughSeq == within.tail.Seq {
		d.ThroughCounted = within.tail.Counted
	} else if d.ThroughCounted, err = s.countedAt(ctx, c, d.ThroughSeq); err != nil {
		return nil, err
	}
	d.Deleted = r.Delete && (d.ThroughSeq == last || d.ThroughCounted == within.tail.Counted)
	if err := s.storeDeletion(ctx, u, d, storeCleared); err != nil {
		return nil, err
	}
	return d, s.restoreLate(ctx, u, d, within.to)
}

// restoreLate puts a deleted conversation back on the list if a message came during the call, up to the last seq that the user may read. A
// refresh that read the message before the deletion was stored does not find it again.
func (s *Service) restoreLate(ctx context.Context, u id.User, d *chatv1.Deletion, to uint64) error {
	if !d.Deleted {
		return nil
	}
	c := id.Conversation(d.Conversation)
	tail, err := s.deps.Log.Tail(ctx, logKey(c))
	if err != nil || tail.Seq > to || tail.Counted <= d.ThroughCounted { // beyond to, the user has left
		return err
	}
	if err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return s.Restore(ctx, tx, u, c, tail.Counted) }); err != nil {
		return err
	}
	d.Deleted = false
	return nil
}

// storeCleared writes the row of a deletion, and reports whether it changed. d becomes what the row has then: a watermark never goes back.
func storeCleared(ctx context.Context, tx *sql.Tx, u id.User, d *chatv1.Deletion) (changed bool, err error) {
	var was chatv1.Deletion
	err = tx.QueryRowContext(ctx, `SELECT through_seq, through_counted, deleted FROM cleared WHERE owner = $1 AND conversation = $2`, int64(u), int64(d.Conversation)).
		Scan(&was.ThroughSeq, &was.ThroughCounted, &was.Deleted)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	switch {
	case was.ThroughSeq > d.ThroughSeq:
		d.ThroughSeq, d.ThroughCounted, d.Deleted = was.ThroughSeq, was.ThroughCounted, was.Deleted
		return false, nil
	case was.ThroughSeq == d.ThroughSeq && err == nil:
		d.Deleted = d.Deleted || was.Deleted
		if d.Deleted == was.Deleted {
			return false, nil
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO cleared (owner, conversation, through_seq, through_counted, deleted) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (owner, conversation) DO UPDATE SET through_seq = $3, through_counted = $4, deleted = $5`,
		int64(u), int64(d.Conversation), int64(d.ThroughSeq), int64(d.ThroughCounted), d.Deleted)
	if err == nil { // the watermark covers them; markDeleted compares it with the targets of later updates
		_, err = tx.ExecContext(ctx, `DELETE FROM deleted_messages WHERE owner = $1 AND conversation = $2 AND seq <= $3`, int64(u), int64(d.Conversation), int64(d.ThroughSeq))
	}
	return true, err
}

// countedAt returns the running number at a seq, 0 if the entry has expired.
func (s *Service) countedAt(ctx context.Context, c id.Conversation, seq uint64) (uint64, error) {
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logKey(c), From: seq, To: seq}})
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	return entries[0].Counted, nil
}

// Restore puts a deleted conversation back on a user's list, if messages came since, in a transaction of the caller. counted is the
// running number of the newest.
func (s *Service) Restore(ctx context.Context, tx *sql.Tx, u id.User, c id.Conversation, counted uint64) error {
	_, err := tx.ExecContext(ctx, `UPDATE cleared SET deleted = FALSE WHERE owner = $1 AND conversation = $2 AND deleted AND through_counted < $3`, int64(u), int64(c), int64(counted))
	return err
}
