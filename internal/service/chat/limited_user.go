package chat

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// Moderators may limit a user (docs/decisions/0147-limits.md). Then only the user sees what the user writes
//
//   - in a one-to-one conversation with somebody who is no friend and has not written in it,
//   - in a group that the user joined or created after the limit began, and in its threads,
//   - in a channel.
//
// Such an entry is marked permanently (message.Entry.Limited). Fan-out delivers it only to its sender. Reads of other users leave it out, as if they had deleted it, and it does not count
// as unread. Later updates of it by the sender, such as an edit, are limited as well.

// limit decides whether a draft is visible only to its sender. An update of an earlier message is limited if that message is (resolveRef).
func (s *Service) limit(st *state, d *message.Draft) (err error) {
	if d.Updates != 0 || d.ByServer {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	d.Limited, err = s.isLimited(ctx, st, d.Sender, d.LimitedSinceMs)
	if err != nil && ctx.Err() != nil {
		return busy(err)
	}
	return err
}

// isLimitedNow reports whether only the user sees what a user writes in a conversation.
func (s *Service) isLimitedNow(ctx context.Context, st *state, u id.User) (bool, error) {
	if s.deps.LimitedSince == nil {
		return false, nil
	}
	since := s.deps.LimitedSince(u)
	if since == 0 {
		return false, nil
	}
	return s.isLimited(ctx, st, u, since)
}

// isLimited reports whether only the user sees what a user who is limited since a time writes in a conversation.
func (s *Service) isLimited(ctx context.Context, st *state, u id.User, sinceMs int64) (bool, error) {
	if st.kind == thread && st.parent != nil {
		st = st.parent
	}
	switch {
	case st.ticket != 0: // agents answer everybody
		return false, nil
	case st.channel:
		return true, nil
	case st.kind != direct:
		joinedMs, _, err := s.entryTimeAt(ctx, st.id, st.members[u].joinSeq)
		return joinedMs > sinceMs, err
	case st.lowUser == st.highUser:
		return false, nil
	}
	peer := st.peer(u)
	if friends, err := s.deps.Relations.Friends(ctx, u, peer); err != nil || friends {
		return false, err
	}
	wrote, err := s.hasWritten(ctx, st.id, peer)
	return !wrote, err
}

// hasWritten reports whether a user wrote a message of a conversation, which may have expired.
func (s *Service) hasWritten(ctx context.Context, c id.Conversation, u id.User) (bool, error) {
	seq, _, err := s.deps.Log.LatestByAuthor(ctx, logKey(c), uint64(u))
	return seq > 0, err
}

// markLimited marks the entries that a user does not see because they are for their senders only.
func markLimited(u id.User, list []*message.Stored) {
	for _, m := range list {
		if !m.Entry.IsFor(u) {
			m.Deleted = true
		}
	}
}
