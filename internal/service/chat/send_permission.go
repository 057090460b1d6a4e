package chat

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errBlocked   = errs.New(errs.Denied, "blocked", "you cannot write to this user")
	errMuted     = errs.New(errs.Denied, "muted", "you are muted in this group")
	errDissolved = errs.New(errs.Denied, "dissolved", "this group was dissolved")

	errTooManyFollowers = errs.New(errs.Denied, "too_many_followers", "this channel has so many followers that only its admins react")
)

// relation says whether the two users of a one-to-one conversation may write to each other.
type relation struct {
	blocked  bool  // one has blocked the other, or who_may_write forbids it
	unknown  error // the relation webhook has not answered: neither may write for now
	calledMs int64 // when the relation webhook was called; 0: it is not used
}

// canSend returns why a user may not write, or nil. It checks membership, dissolution, blocks and policy, and mutes. Of a thread without its
// parent's state it knows no reason.
func (s *state) canSend(u id.User, nowMs int64) error {
	if s.kind == thread {
		return s.canReply(u, nowMs)
	}
	m, ok := s.members[u]
	switch {
	case !ok || m.leaveSeq != 0:
		return errNoConversation
	case s.dissolved:
		return errDissolved
	case s.relation.blocked:
		return errBlocked
	case s.relation.unknown != nil:
		return s.relation.unknown
	case m.mutedUntilMs > nowMs, (s.channel || s.mutedAllMs > nowMs) && m.role == chatv1.Role_ROLE_MEMBER:
		return errMuted
	}
	return nil
}

// admits is canSend for a draft that was checked with this state. Whether the sender may react in a channel was found in the database.
func (s *state) admits(d *message.Draft, nowMs int64) error {
	if d.Reacts && !s.dissolved {
		return nil
	}
	return s.canSend(d.Sender, nowMs)
}

// canReact returns why a user may not react in a channel, or nil. Those may who read it, also if they may not write. A reaction is an entry,
// which all followers get: in a channel with very many, only those react who write.
func (s *Service) canReact(ctx context.Context, st *state, u id.User) error {
	now := s.deps.Clock.Now().UnixMilli()
	if st.role(u) >= roleAdmin || st.dissolved {
		return st.canSend(u, now)
	}
	m, ok, err := s.memberOf(ctx, st, u)
	switch {
	case err != nil:
		return err
	case !ok || m.leaveSeq != 0:
		return errNoConversation
	case m.mutedUntilMs > now, st.notices != 0:
		return errMuted
	}
	info, err := s.channelInfo(ctx, st)
	if err == nil && int(info.Followers) > s.config.MaxMembers {
		err = errTooManyFollowers
	}
	return err
}

// rejectsAny reports whether the sender of one of these drafts may not write, or a thread must have more followers first.
func (s *state) rejectsAny(drafts []*message.Draft, nowMs int64) bool {
	return slices.ContainsFunc(drafts, func(d *message.Draft) bool { return s.canSend(d.Sender, nowMs) != nil || s.mayAddFollowers(d) })
}

// withCurrentRelation looks up whether the two users of a one-to-one conversation may write to each other.
func (s *Service) withCurrentRelation(ctx context.Context, st *state) (*state, error) {
	if st.kind != chatv1.ConversationKind_CONVERSATION_KIND_DIRECT || st.lowUser == st.highUser {
		return st, nil // everybody may write to oneself
	}
	blocked, err := s.deps.Relations.Blocked(ctx, st.lowUser, st.highUser)
	if err != nil {
		return nil, err
	}
	if !blocked && s.config.WhoMayWrite == "friends" {
		friends, err := s.deps.Relations.Friends(ctx, st.lowUser, st.highUser)
		if err != nil {
			return nil, err
		}
		blocked = !friends
	}
	n := *st
	n.relation = relation{blocked: blocked}
	if s.relationHook != nil && !blocked {
		n.relation.calledMs = s.deps.Clock.Now().UnixMilli()
		n.relation.blocked, n.relation.unknown = s.queryRelationWebhook(ctx, st.lowUser, st.highUser)
	}
	return &n, nil
}

// relationExpired reports whether the relation webhook must be called again.
func (s *Service) relationExpired(st *state) bool {
	if st == nil || st.relation.calledMs == 0 {
		return false
	}
	return st.relation.unknown != nil || s.deps.Clock.Now().UnixMilli()-st.relation.calledMs >= s.config.RelationTTL.Milliseconds()
}

// FriendshipChanged is AccessChanged if only friends may write to each other.
func (s *Service) FriendshipChanged(ctx context.Context, a, b id.User) error {
	if s.config.WhoMayWrite != "friends" {
		return nil
	}
	return s.AccessChanged(ctx, a, b)
}

// AccessChanged makes all nodes check again whether two users may write to each other. It appends a control entry. From then on, the log
// rejects appends of nodes with the old relation as stale.
func (s *Service) AccessChanged(ctx context.Context, a, b id.User) error {
	c, err := s.findDirect(ctx, a, b)
	if err != nil || c == 0 {
		return err
	}
	_, err = s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		if st.access == 0 {
			// The conversation is being opened, or its opening failed half-way. This completes it, and the caller that opens it checks again.
			return directCreatedControl(a, b), nil
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_ACCESS}, nil
	})
	return err
}
