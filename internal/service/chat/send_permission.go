package chat

import (
	"context"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errBlocked   = errs.New(errs.Denied, "blocked", "you cannot write to this user")
	errMuted     = errs.New(errs.Denied, "muted", "you are muted in this group")
	errMutedAll  = errs.New(errs.Denied, "muted", "only admins and the owner write in this group at the moment")
	errResolved  = errs.New(errs.Denied, "muted", "this ticket is resolved; reopen it, or open a new one")
	errNotWriter = errs.New(errs.Denied, "not_writer", "only the owner and the admins of this channel post in it")
	errOutside   = errs.New(errs.Denied, "organization_forbids", "an organization does not allow the two of you to write to each other; ask its admins")
	errDissolved = errs.New(errs.Denied, "dissolved", "this group was dissolved")

	errTooManyFollowers = errs.New(errs.Denied, "too_many_followers", "this channel has so many followers that only its admins react")
)

// relation says whether the two users of a one-to-one conversation may write to each other.
type relation struct {
	blocked  bool   // one has blocked the other, or who_may_write forbids it
	unknown  error  // the relation webhook has not answered: neither may write for now
	calledMs int64  // when the relation webhook was called; 0: it is not used
	outside  bool   // an organization forbids it
	version  uint64 // of what the organizations say
}

// canSend returns why a user may not write, or nil. It checks membership, dissolution, blocks and policy, and mutes. Of a thread without its
// parent's state it knows no reason.
func (s *state) canSend(u id.User, nowMs int64) error {
	if s.kind == thread {
		return s.canReply(u, nowMs)
	}
	if s.importing && s.role(u) != 0 {
		return errImporting
	}
	m, ok := s.members[u]
	switch {
	case !ok || m.leaveSeq != 0:
		return errNoConversation
	case s.dissolved:
		return errDissolved
	case s.relation.blocked:
		return errBlocked
	case s.relation.outside:
		return errOutside
	case s.relation.unknown != nil:
		return s.relation.unknown
	case m.mutedUntilMs > nowMs:
		return errMuted
	case s.channel && m.role == chatv1.Role_ROLE_MEMBER:
		return errNotWriter
	case s.mutedAllMs > nowMs && s.ticket != 0:
		return errResolved
	case s.mutedAllMs > nowMs && m.role == chatv1.Role_ROLE_MEMBER:
		return errMutedAll
	}
	return nil
}

// explainRejection tells a follower of a channel, who is not in the state, that only others post: such a user sees the channel. Whoever does not
// follow it learns nothing of it.
func (s *Service) explainRejection(ctx context.Context, st *state, u id.User, why error) error {
	if st == nil || !st.channel || !errors.Is(why, errNoConversation) {
		return why
	}
	if st.notices == noticesEverybody {
		return errNotWriter
	}
	var follows bool
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM members WHERE conversation = $1 AND member = $2 AND follower)`, int64(st.id), int64(u)).Scan(&follows)
	if err == nil && follows {
		return errNotWriter
	}
	return why
}

// explainRejections is explainRejection for the drafts of a batch, with one query for each sender.
func (s *Service) explainRejections(st *state, batch []*message.Draft, rejections []error) {
	if st == nil || !st.channel {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	known := map[id.User]error{}
	for i, d := range batch {
		if !errors.Is(rejections[i], errNoConversation) {
			continue
		}
		if _, ok := known[d.Sender]; !ok {
			known[d.Sender] = s.explainRejection(ctx, st, d.Sender, rejections[i])
		}
		rejections[i] = known[d.Sender]
	}
}

// admits is canSend for a draft that was checked with this state. Whether the sender may react in a channel was found in the database.
func (s *state) admits(d *message.Draft, nowMs int64) error {
	if s.importing && (d.ByServer || d.Reacts) {
		return errImporting
	}
	if d.ByServer || d.Reacts && !s.dissolved {
		return nil
	}
	if d.Bridge != nil {
		return s.admitsBridge(d.Bridge.Bot, d.Sender, nowMs)
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
	now, err := s.currentRelation(ctx, st.lowUser, st.highUser)
	if err != nil {
		return nil, err
	}
	n := *st
	n.relation = now
	if s.relationHook != nil && !now.blocked && !now.outside {
		n.relation.calledMs = s.deps.Clock.Now().UnixMilli()
		n.relation.blocked, n.relation.unknown = s.queryRelationWebhook(ctx, st.lowUser, st.highUser)
	}
	return &n, nil
}

// currentRelation returns what blocks, friendships and organizations say about two users.
func (s *Service) currentRelation(ctx context.Context, a, b id.User) (r relation, err error) {
	var friendsOnly, likeFriends bool
	if s.deps.Organizations != nil {
		r.version = s.deps.Organizations.Version(a, b) // before the rows are read
		if r.outside, friendsOnly, likeFriends, err = s.deps.Organizations.RelationOf(ctx, a, b); err != nil {
			return r, err
		}
	}
	if r.blocked, err = s.deps.Relations.Blocked(ctx, a, b); err != nil || r.blocked || r.outside {
		return r, err
	}
	mustBeFriends := s.config.WhoMayWrite == "friends" && !likeFriends
	if friendsOnly || mustBeFriends {
		friends, err := s.deps.Relations.Friends(ctx, a, b)
		if err != nil {
			return r, err
		}
		r.outside, r.blocked = !friends && friendsOnly, !friends && mustBeFriends
	}
	return r, nil
}

// relationExpired reports whether the relation of the two users must be looked up again: the answer of the webhook is too old, or their
// organizations have changed.
func (s *Service) relationExpired(st *state) bool {
	if st != nil && s.deps.Organizations != nil && st.kind == chatv1.ConversationKind_CONVERSATION_KIND_DIRECT && st.lowUser != st.highUser &&
		st.relation.version != s.deps.Organizations.Version(st.lowUser, st.highUser) {
		return true
	}
	if st == nil || st.relation.calledMs == 0 {
		return false
	}
	return st.relation.unknown != nil || s.deps.Clock.Now().UnixMilli()-st.relation.calledMs >= s.config.RelationTTL.Milliseconds()
}

// FriendshipChanged is AccessChanged if only friends may write to each other.
func (s *Service) FriendshipChanged(ctx context.Context, a, b id.User) error {
	friendsOnly := false
	if s.deps.Organizations != nil {
		var err error
		if _, friendsOnly, _, err = s.deps.Organizations.RelationOf(ctx, a, b); err != nil {
			return err
		}
	}
	if s.config.WhoMayWrite != "friends" && !friendsOnly {
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
		if st.importing {
			return nil, nil // nobody can write, and the end of the import makes all nodes check
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_ACCESS}, nil
	})
	return err
}
