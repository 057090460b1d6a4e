package chat

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var errJoinPolicy = errs.New(errs.Invalid, "bad_join_policy", "a join policy is invite, open or approval")

// UpdateGroup changes the given settings, each with its own entry, and returns the seq of the last. A handle has none.
func (s *Service) UpdateGroup(ctx context.Context, c id.Conversation, by id.User, r *chatv1.UpdateGroupRequest) (last uint64, err error) {
	if r.JoinPolicy != nil || r.Handle != nil {
		if st, err := s.linearizableState(ctx, c); err == nil && st.notices != 0 && st.role(by) != 0 {
			return 0, errNotices
		}
	}
	word, err := s.checkTitle(r.GetTitle(), r.GetAnnouncement())
	if err != nil {
		return 0, err
	}
	var controls []*chatv1.Control
	if r.Title != nil {
		title, err := parseTitle(*r.Title)
		if err != nil {
			return 0, err
		}
		controls = append(controls, &chatv1.Control{Action: chatv1.Control_ACTION_RENAMED, Text: title})
	}
	if r.Announcement != nil {
		if utf8.RuneCountInString(*r.Announcement) > 2000 || *r.Announcement != "" && (validateText([]byte(*r.Announcement)) != nil || !message.IsParagraph(*r.Announcement)) {
			return 0, errs.New(errs.Invalid, "bad_announcement", "an announcement has at most 2,000 characters, no control characters but line breaks and tabs, no text-direction characters, and not more than six marks on one letter")
		}
		controls = append(controls, &chatv1.Control{Action: chatv1.Control_ACTION_ANNOUNCED, Text: *r.Announcement})
	}
	if r.Avatar != nil {
		if *r.Avatar != 0 && s.deps.CheckPicture != nil { // before anything is changed
			if err := s.deps.CheckPicture(ctx, by, id.Upload(*r.Avatar)); err != nil {
				return 0, err
			}
		}
		controls = append(controls, &chatv1.Control{Action: chatv1.Control_ACTION_AVATAR, Upload: *r.Avatar})
	}
	if r.JoinPolicy != nil {
		if *r.JoinPolicy < 1 || *r.JoinPolicy > 3 {
			return 0, errJoinPolicy
		}
		controls = append(controls, &chatv1.Control{Action: chatv1.Control_ACTION_JOIN_POLICY, JoinPolicy: *r.JoinPolicy})
	}
	if r.Handle != nil { // first: another channel may have it
		handle, err := parseChannelHandle(*r.Handle)
		if err != nil {
			return 0, err
		}
		if err := s.setHandle(ctx, c, by, handle); err != nil {
			return 0, err
		}
	}
	for _, control := range controls {
		if last, err = s.changeGroup(ctx, c, by, roleAdmin, func(st *state) (*chatv1.Control, error) {
			if st.channel && control.JoinPolicy == chatv1.JoinPolicy_JOIN_POLICY_APPROVAL {
				return nil, errChannelMembers
			}
			return control, s.keepPicture(ctx, by, control)
		}); err != nil {
			return 0, err
		}
	}
	s.flagTitle(c, r.GetTitle(), word)
	return last, nil
}

// keepPicture keeps the upload that an allowed change makes the group's picture.
func (s *Service) keepPicture(ctx context.Context, by id.User, control *chatv1.Control) error {
	if control.Action != chatv1.Control_ACTION_AVATAR || control.Upload == 0 || s.deps.KeepPicture == nil {
		return nil
	}
	return s.deps.KeepPicture(ctx, by, id.Upload(control.Upload))
}

// Picture returns a group's picture to a member, 0 for none.
func (s *Service) Picture(ctx context.Context, by id.User, c id.Conversation) (id.Upload, error) {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return 0, err
	}
	if m, ok, err := s.memberOf(ctx, st, by); err != nil || !ok || m.leaveSeq != 0 {
		return 0, errors.Join(err, errNoConversation)
	}
	return id.Upload(st.avatar), nil
}

// Dissolve ends a group: nobody can write any more, and members can read what was sent before.
func (s *Service) Dissolve(ctx context.Context, c id.Conversation, by id.User) (uint64, error) {
	return s.changeGroup(ctx, c, by, roleOwner, func(*state) (*chatv1.Control, error) {
		return &chatv1.Control{Action: chatv1.Control_ACTION_DISSOLVED}, nil
	})
}
