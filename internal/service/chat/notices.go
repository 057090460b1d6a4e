package chat

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// System notices are a channel that users follow without joining it (docs/decisions/0084-system-notices.md). The app's server makes it, with an
// API key; its owner alone writes to it. Followers may mute it, and cannot leave it.
//
// Everybody follows the notices for everybody. A follower's row is written when the user first connects, syncs or lists conversations, so that a
// notice costs the same for ten users and for a million; users who do so at the same time share a transaction (follow_notices.go). Followers of a segment are added and removed by the channel's owner.

const (
	noticesEverybody = chatv1.Notices_NOTICES_EVERYBODY
	noticesSegment   = chatv1.Notices_NOTICES_SEGMENT
)

var (
	errNotices      = errs.New(errs.Denied, "notices", "these are system notices: users can mute them, but neither join, leave nor write to them, and everybody's cannot be taken from anyone")
	errNoticesKey   = errs.New(errs.Denied, "no_key", "channels of system notices are created with an API key and the header Rialto-User, which names the owner")
	errBadNotices   = errs.New(errs.Invalid, "bad_notices", "notices are a channel (set channel) with the join policy invite and a key, so that a retry is harmless, for everybody or for a segment")
	errNoticesExist = errs.New(errs.Conflict, "notices_exist", "there is a channel of notices for everybody already; write to it, or make one for a segment")
)

// tailAtRegistration returns what the notices had when a user registered. It is zero if the user is older than they are.
func (s *Service) tailAtRegistration(ctx context.Context, c id.Conversation, u id.User) (before timeline.Tail, err error) {
	if s.deps.RegisteredMs == nil {
		return before, nil
	}
	ms, err := s.deps.RegisteredMs(ctx, u)
	if err != nil || ms == 0 {
		return before, err
	}
	if before.Seq, err = s.lastSeqBefore(ctx, c, 1, ms); err != nil || before.Seq == 0 {
		return before, err
	}
	before.Counted, err = s.countedAt(ctx, c, before.Seq)
	return before, err
}

// addToSegment makes users follow the notices of a segment. What was said before is not unread for them. For those who are not in it there is
// no such conversation.
func (s *Service) addToSegment(ctx context.Context, st *state, by id.User, list []uint64) error {
	m, ok, err := s.memberOf(ctx, st, by)
	switch {
	case err != nil:
		return err
	case !ok || m.leaveSeq != 0:
		return errNoConversation
	case st.role(by) != roleOwner:
		return errNotAllowed
	case st.notices != noticesSegment:
		return errNotices
	case st.dissolved:
		return errDissolved
	}
	users, err := uniqueUsers(list)
	if err != nil {
		return err
	}
	if err := s.deps.Relations.Exist(ctx, users); err != nil {
		return err
	}
	if err := s.checkLargeGroupLimit(ctx, st.id, users); err != nil {
		return err
	}
	for _, u := range users {
		if st.role(u) != 0 {
			continue
		}
		if err := s.addFollowerRow(ctx, st, u); err != nil {
			return err
		}
	}
	return nil
}
