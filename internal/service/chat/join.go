package chat

import (
	"context"
	"database/sql"
	"errors"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errBadLink     = errs.New(errs.NotFound, "bad_link", "no group or channel that you may join has this code, link or id; check it, or ask for a new link")
	errLinkExpired = errs.New(errs.NotFound, "link_expired", "this link has expired; ask for a new one")
	errLinkRevoked = errs.New(errs.NotFound, "link_revoked", "this link was revoked, or replaced by a newer one; ask for that")
	errBanned      = errs.New(errs.Denied, "banned", "you are banned from this group")
	errRemoved     = errs.New(errs.Denied, "removed", "you were removed from this group; its admins can invite you again")
)

// conversationByLink returns the group of a join link.
func (s *Service) conversationByLink(ctx context.Context, token string) (c id.Conversation, err error) {
	if token == "" || !isStorableText(token) {
		return 0, errBadLink
	}
	var untilMs int64
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id, link_until_ms FROM conversations WHERE link = $1`, token).Scan(&c, &untilMs)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, s.whyNoLink(ctx, token)
	case err == nil && untilMs != 0 && untilMs <= s.deps.Clock.Now().UnixMilli():
		return 0, errLinkExpired
	}
	return c, err
}

// whyNoLink returns the error for a token that leads nowhere. Of each group the latest link that was revoked is known. Whoever has a link of so many random characters had it from a member, and may know that it was one.
func (s *Service) whyNoLink(ctx context.Context, token string) error {
	var revoked bool
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM conversations WHERE revoked_link = $1)`, token).Scan(&revoked)
	switch {
	case err != nil:
		return err
	case revoked:
		return errLinkRevoked
	}
	return errBadLink
}

// conversationAt returns the group to which a link leads: by its token, by the handle of a channel, or by the id.
func (s *Service) conversationAt(ctx context.Context, c id.Conversation, token, handle string) (id.Conversation, error) {
	switch {
	case token != "":
		return s.conversationByLink(ctx, token)
	case handle != "":
		return s.conversationByHandle(ctx, handle)
	case c == 0:
		return 0, errBadLink
	}
	return c, nil
}

// Join adds a user to an open group or by a link. In a group with approval it requests to join.
func (s *Service) Join(ctx context.Context, u id.User, r *chatv1.JoinRequest) (joined bool, c id.Conversation, err error) {
	if c, err = s.conversationAt(ctx, id.Conversation(r.Conversation), r.Token, r.Handle); err != nil {
		return false, 0, err
	}
	if utf8.RuneCountInString(r.Message) > 500 || !message.IsParagraph(r.Message) {
		return false, 0, errs.New(errs.Invalid, "bad_message", "a request's message has at most 500 characters, no control characters but line breaks and tabs, no text-direction characters, and not more than six marks on one letter")
	}
	if err := s.checkLargeGroupLimit(ctx, c, []id.User{u}); err != nil {
		return false, 0, err
	}
	st, err := s.linearizableState(ctx, c)
	if err == nil && st.kind == thread {
		err = s.followThread(ctx, st, u)
		return err == nil, c, err
	}
	if err != nil || st.followable(u) {
		if err == nil {
			err = s.joinChannel(ctx, st, u, r.Token != "")
		}
		return err == nil, c, err
	}
	var requested *state
	seq, err := s.change(ctx, c, func(st *state) (control *chatv1.Control, err error) {
		var mustRequest bool
		if control, mustRequest, err = joinControl(st, u, r.Token != ""); control != nil {
			if err = s.checkCapacity(st, 1); err == nil {
				err = s.checkMembers(ctx, c, []id.User{u})
			}
		}
		if requested = nil; mustRequest {
			requested = st
		}
		return control, err
	})
	if err != nil || requested == nil {
		s.resizeGroupAfter(ctx, c, seq)
		return err == nil, c, err
	}
	if _, err = s.AnswerInvitation(ctx, c, u, true); !errors.Is(err, errNoInvitation) { // both have agreed
		return err == nil, c, err
	}
	return false, c, s.requestToJoin(ctx, requested, u, r.Message)
}

// joinControl returns the control entry by which a user joins. It is nil if the user is a member already, or must request to join. A
// removed user rejoins only by an invitation or an accepted request; a banned user cannot rejoin.
func joinControl(st *state, u id.User, byLink bool) (control *chatv1.Control, mustRequest bool, err error) {
	open, approval := st.policy == chatv1.JoinPolicy_JOIN_POLICY_OPEN, st.policy == chatv1.JoinPolicy_JOIN_POLICY_APPROVAL
	switch {
	case st.kind != group || st.access == 0 || st.notices != 0:
		return nil, false, errNoConversation
	case st.dissolved:
		return nil, false, errDissolved
	case st.role(u) != 0:
		return nil, false, nil
	case st.banned(u):
		return nil, false, errBanned
	case approval && (!byLink || st.members[u].removed):
		return nil, true, nil
	case !byLink && !open:
		return nil, false, errNoConversation
	case st.members[u].removed:
		return nil, false, errRemoved
	}
	return &chatv1.Control{Action: chatv1.Control_ACTION_JOINED, Actor: uint64(u), Users: []uint64{uint64(u)}}, false, nil
}

// requireAdmin returns the state of a group, or fails if by is not an admin of it.
func (s *Service) requireAdmin(ctx context.Context, c id.Conversation, by id.User) (*state, error) {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return nil, err
	}
	switch role := st.role(by); {
	case role == 0:
		return nil, errNoConversation
	case st.kind != group:
		return nil, errNotGroup
	case role < roleAdmin:
		return nil, errNotAllowed
	}
	return st, nil
}

// CreateJoinLink returns a new link, which is valid until a time or, with 0, until it is revoked. It revokes the previous link.
func (s *Service) CreateJoinLink(ctx context.Context, c id.Conversation, by id.User, untilMs int64) (string, error) {
	st, err := s.requireAdmin(ctx, c, by)
	if err != nil {
		return "", err
	}
	if st.dissolved {
		return "", errDissolved
	}
	if untilMs != 0 && untilMs <= s.deps.Clock.Now().UnixMilli() {
		return "", errs.New(errs.Invalid, "bad_until", "give a time in the future at which the link expires, in milliseconds since 1970, or 0 for a link without expiry")
	}
	link := auth.NewSecret("")
	return link, s.setLink(ctx, c, sql.NullString{String: link, Valid: true}, untilMs)
}

// RevokeJoinLink revokes the group's link.
func (s *Service) RevokeJoinLink(ctx context.Context, c id.Conversation, by id.User) error {
	if _, err := s.requireAdmin(ctx, c, by); err != nil {
		return err
	}
	return s.setLink(ctx, c, sql.NullString{}, 0)
}

func (s *Service) setLink(ctx context.Context, c id.Conversation, link sql.NullString, untilMs int64) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE conversations SET revoked_link = coalesce(link, revoked_link), link = $1, link_until_ms = $2 WHERE id = $3 AND kind = $4`, link, untilMs, int64(c), group)
		return err
	})
}

// PreviewJoinLink returns the group that a link leads to. Whoever may not know that a group exists gets the same answer as for a wrong link.
func (s *Service) PreviewJoinLink(ctx context.Context, u id.User, r *chatv1.PreviewJoinLinkRequest) (*chatv1.PreviewJoinLinkResponse, error) {
	c, err := s.conversationAt(ctx, id.Conversation(r.Conversation), r.Token, r.Handle)
	if err != nil {
		return nil, err
	}
	st, err := s.linearizableState(ctx, c)
	if errors.Is(err, errNoConversation) {
		return nil, errBadLink
	}
	if err != nil {
		return nil, err
	}
	// The preview by id is for users who may join or request to join, as joinControl decides.
	hidden := r.Token == "" && (st.kind != group || st.access == 0 || st.policy != chatv1.JoinPolicy_JOIN_POLICY_OPEN && st.policy != chatv1.JoinPolicy_JOIN_POLICY_APPROVAL && st.role(u) == 0)
	switch {
	case hidden, st.dissolved && r.Token == "":
		return nil, errBadLink
	case st.dissolved:
		return nil, errDissolved
	case st.banned(u):
		return nil, errBanned
	}
	info, err := s.channelInfo(ctx, st)
	if err != nil {
		return nil, err
	}
	m, ok, err := s.memberOf(ctx, st, u)
	return &chatv1.PreviewJoinLinkResponse{Conversation: uint64(c), Title: st.title, MemberCount: st.memberCount(info), Member: ok && m.leaveSeq == 0,
		Announcement: st.announcement, Channel: st.channel, Handle: info.Handle}, err
}
