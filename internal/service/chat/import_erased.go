package chat

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// eraseImported erases those of some entries whose senders do not exist any more. An import checks senders before it stores entries, and an erasure that
// began between the two may have read the conversation already. It began before its senders ceased to exist, so that one of the two finds each entry. The
// entries of an earlier call that ended before this check are found when the call is repeated.
func (s *Service) eraseImported(ctx context.Context, c id.Conversation, entries []*operationv1.ImportEntry, results []*operationv1.ImportedEntry) error {
	var senders []id.User
	for _, e := range entries {
		if e.Sender != 0 {
			senders = append(senders, id.User(e.Sender))
		}
	}
	slices.Sort(senders)
	senders = slices.Compact(senders)
	if err := s.deps.Relations.Exist(ctx, senders); err == nil || !errs.IsRefusal(err) {
		return err
	}
	for _, u := range senders {
		err := s.deps.Relations.Exist(ctx, []id.User{u})
		if err == nil {
			continue
		}
		if !errs.IsRefusal(err) {
			return err
		}
		if err := s.eraseImportedOf(ctx, u, c, entries, results); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) eraseImportedOf(ctx context.Context, u id.User, c id.Conversation, entries []*operationv1.ImportEntry, results []*operationv1.ImportedEntry) error {
	var refs []timeline.Ref
	for i, e := range entries {
		if id.User(e.Sender) != u {
			continue
		}
		seq := results[i].Seq
		if seq == 0 && isImportKey(e.Key) { // refused, but an earlier call may have stored it
			var err error
			if seq, err = s.seqOfToken(ctx, c, importToken(c, e.Key)); err != nil {
				return err
			}
		}
		if seq != 0 {
			refs = append(refs, timeline.Ref{Key: logKey(c), From: seq, To: seq})
		}
	}
	if len(refs) == 0 {
		return nil
	}
	slices.SortFunc(refs, func(a, b timeline.Ref) int { return int(int64(a.From) - int64(b.From)) })
	stored, err := s.deps.Log.Get(ctx, slices.Compact(refs))
	if err != nil {
		return err
	}
	if _, err := s.eraseAmong(ctx, u, c, stored); err != nil {
		return err
	}
	if err := s.noteErased(ctx, u, c); err != nil {
		return err
	}
	return s.eraseReactions(ctx, u, c)
}
