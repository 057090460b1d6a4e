package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/job"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A user deletes messages for themself: a row for each. Reads leave them out, with their updates; counts and mentions do not include them.

const (
	maxDeleteAtOnce = 100
	// maxDeletedMessages of a user in a conversation. More are deleted by clearing the history.
	maxDeletedMessages = 10_000
)

var errTooManyDeleted = errs.New(errs.Exhausted, "too_many_deleted", "you have deleted 10,000 messages of this conversation one by one; clear its history instead")

// DeleteMessages deletes messages for a user, and notifies the user's devices. It leaves out what is no message that the user may read.
func (s *Service) DeleteMessages(ctx context.Context, u id.User, r *chatv1.DeleteMessagesRequest) (*chatv1.Deletion, error) {
	if len(r.Seqs) == 0 || len(r.Seqs) > maxDeleteAtOnce {
		return nil, errs.New(errs.Invalid, "bad_seqs", "give 1 to 100 seqs")
	}
	c := id.Conversation(r.Conversation)
	within, err := s.readable(ctx, u, c)
	if err != nil {
		return nil, err
	}
	seqs, err := s.countingSeqs(ctx, c, within.among(r.Seqs))
	if err != nil {
		return nil, err
	}
	d := &chatv1.Deletion{Conversation: r.Conversation, Seqs: seqs}
	if err := s.storeDeletion(ctx, u, d, storeDeleted); err != nil {
		return nil, err
	}
	return d, nil
}

// storeDeletion writes a deletion with store, which reports whether it changes anything, and then notifies the user's devices.
func (s *Service) storeDeletion(ctx context.Context, u id.User, d *chatv1.Deletion, store func(context.Context, *sql.Tx, id.User, *chatv1.Deletion) (changed bool, err error)) error {
	changed := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		changed, err = store(ctx, tx, u, d)
		if err != nil || !changed || s.deps.Outbox == nil {
			return err
		}
		raw, err := proto.Marshal(d)
		if err != nil {
			return err
		}
		return s.deps.Outbox.Put(ctx, tx, job.Event{User: u, Body: message.AppendBody(nil, message.FieldDeletion, raw)})
	})
	if err != nil || !changed {
		return err
	}
	s.withoutDeletions.remove(u)
	if s.deps.Outbox != nil {
		s.deps.Outbox.Wake()
	}
	return nil
}

// countingSeqs returns those seqs that have messages which count as unread: not control entries, updates and signals.
func (s *Service) countingSeqs(ctx context.Context, c id.Conversation, seqs []uint64) (counting []uint64, err error) {
	for len(seqs) > 0 {
		refs := make([]timeline.Ref, len(seqs))
		for i, seq := range seqs {
			refs[i] = timeline.Ref{Key: logKey(c), From: seq, To: seq}
		}
		entries, err := s.getEach(ctx, refs)
		for ; errors.Is(err, timeline.ErrTooLarge); entries, err = s.getEach(ctx, refs) { // one entry is never too large
			refs = refs[:(len(refs)+3)/4]
		}
		if err != nil {
			return nil, err
		}
		for i := range entries {
			if e := &entries[i]; e.Seq != 0 && !message.IsControl(e.Payload) && !message.IsUpdate(e.Payload) && !message.IsSignalEntry(e.Payload) && !message.IsLimited(e.Payload) {
				counting = append(counting, e.Seq)
			}
		}
		seqs = seqs[len(refs):]
	}
	return counting, nil
}

// storeDeleted writes rows, and reports whether any is new.
func storeDeleted(ctx context.Context, tx *sql.Tx, u id.User, d *chatv1.Deletion) (changed bool, err error) {
	var n int64
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM deleted_messages WHERE owner = $1 AND conversation = $2`, int64(u), int64(d.Conversation)).Scan(&n); err != nil {
		return false, err
	}
	before := n
	for _, seq := range d.Seqs {
		done, err := tx.ExecContext(ctx, `INSERT INTO deleted_messages (owner, conversation, seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, int64(u), int64(d.Conversation), int64(seq))
		if err != nil {
			return false, err
		}
		added, err := done.RowsAffected()
		if err != nil {
			return false, err
		}
		if n += added; n > maxDeletedMessages {
			return false, errTooManyDeleted
		}
	}
	return n > before, nil
}

// markDeleted marks the entries that are for their senders only, and those that show a message which a user deleted: the message itself, and its updates; also updates of a message
// which the user cleared. It needs one query, and one more for updates.
func (s *Service) markDeleted(ctx context.Context, u id.User, list []*message.Stored) error {
	if u == 0 || len(list) == 0 {
		return nil
	}
	defer markLimited(u, list)
	if none, err := s.deletedNothing(ctx, u); err != nil || none {
		return err
	}
	keys := make([]messageKey, 0, len(list))
	for _, m := range list {
		if !m.Entry.Control {
			keys = append(keys, subject(m))
		}
	}
	deleted := map[messageKey]bool{}
	for some := range conditions(keys, 2) {
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT conversation, seq FROM deleted_messages WHERE owner = $1 AND `+some.where, append([]any{int64(u)}, some.args...)...)
		if err != nil {
			return err
		}
		if err := eachPair(rows, func(c, seq uint64) { deleted[messageKey{id.Conversation(c), seq}] = true }); err != nil {
			return err
		}
	}
	cleared, err := s.clearedTargets(ctx, u, list)
	if err != nil {
		return err
	}
	for _, m := range list {
		m.Deleted = !m.Entry.Control && (deleted[subject(m)] || m.Entry.Updates != 0 && m.Entry.Updates <= cleared[m.Conversation])
	}
	return nil
}

// clearedTargets returns up to which seq a user cleared the conversations of the updates in a list.
func (s *Service) clearedTargets(ctx context.Context, u id.User, list []*message.Stored) (map[id.Conversation]uint64, error) {
	var updated []id.Conversation
	for _, m := range list {
		if m.Entry.Updates != 0 {
			updated = append(updated, m.Conversation)
		}
	}
	slices.Sort(updated)
	return s.ClearedThrough(ctx, u, slices.Compact(updated))
}

// DeletedMessages returns the seqs from one to another of the messages that a user deleted.
func (s *Service) DeletedMessages(ctx context.Context, u id.User, c id.Conversation, from, to uint64) ([]uint64, error) {
	return s.querySeqs(ctx, `SELECT seq FROM deleted_messages WHERE owner = $1 AND conversation = $2 AND seq >= $3 AND seq <= $4 ORDER BY seq`,
		int64(u), int64(c), int64(min(from, 1<<63-1)), int64(min(to, 1<<63-1)))
}

// addDeleted adds to counts how many messages of each span a user deleted. Recalled ones are counted by countRecalled.
func (s *Service) addDeleted(ctx context.Context, u id.User, spans []Span, counts []uint64) error {
	if none, err := s.deletedNothing(ctx, u); err != nil || none {
		return err
	}
	index := make(map[id.Conversation]int, len(spans))
	for i, span := range spans {
		index[span.Conversation] = i
	}
	for some := range slices.Chunk(spans, maxMessagesPerQuery/2) {
		args := []any{int64(u)}
		var where []string
		for _, span := range some {
			at := len(args) + 1
			where = append(where, fmt.Sprintf("d.conversation = $%d AND d.seq > $%d AND d.seq <= $%d", at, at+1, at+2))
			args = append(args, int64(span.Conversation), int64(span.After), int64(min(span.Last, 1<<63-1)))
		}
		inSpans := strings.Join(where, " OR ")
		var found bool // usually there are none, and updates are not looked up
		if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deleted_messages d WHERE d.owner = $1 AND (`+inSpans+`))`, args...).Scan(&found); err != nil {
			return err
		}
		if !found {
			continue
		}
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT d.conversation, count(*) FROM deleted_messages d LEFT JOIN message_updates p ON p.conversation = d.conversation AND p.seq = d.seq
			WHERE d.owner = $1 AND (`+inSpans+`) AND coalesce(p.recall_seq, 0) = 0 GROUP BY d.conversation`, args...)
		if err != nil {
			return err
		}
		if err := eachPair(rows, func(c, n uint64) { counts[index[id.Conversation(c)]] += n }); err != nil {
			return err
		}
	}
	return nil
}
