package chat

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/auth"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

const (
	roleMember = chatv1.Role_ROLE_MEMBER
	roleAdmin  = chatv1.Role_ROLE_ADMIN
	roleOwner  = chatv1.Role_ROLE_OWNER
)

// inGroup runs decide for a group where by has at least a role.
func (s *Service) inGroup(ctx context.Context, c id.Conversation, by id.User, least chatv1.Role, decide func(*state) (*chatv1.Control, error)) (uint64, error) {
	return s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		role := st.role(by)
		switch {
		case role == 0:
			return nil, errNoConversation
		case st.kind != group:
			return nil, errs.New(errs.Invalid, "not_a_group", "a one-to-one conversation does not have this")
		case st.dissolved:
			return nil, errDissolved
		case role < least:
			return nil, errNotAllowed
		}
		control, err := decide(st)
		if control != nil {
			control.Actor = uint64(by)
		}
		return control, err
	})
}

func (s *Service) full(st *state, more int) error {
	if len(st.current)+more > s.config.MostMembers {
		return errs.New(errs.Exhausted, "group_full", "the group has its most members")
	}
	return nil
}

// Invite brings users in. Members of an open group may; else admins.
func (s *Service) Invite(ctx context.Context, c id.Conversation, by id.User, list []uint64) (uint64, error) {
	users, err := s.invited(ctx, by, list)
	if err != nil {
		return 0, err
	}
	seq, err := s.inGroup(ctx, c, by, roleMember, func(st *state) (*chatv1.Control, error) {
		if st.policy != chatv1.JoinPolicy_JOIN_POLICY_OPEN && st.role(by) < roleAdmin {
			return nil, errNotAllowed
		}
		fresh := slices.DeleteFunc(slices.Clone(users), func(u id.User) bool { return st.role(u) != 0 }) // in this state: there may be another
		if len(fresh) == 0 {
			return nil, nil
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_JOINED, Users: raw(fresh)}, s.full(st, len(fresh))
	})
	s.resizeAfter(ctx, c, seq)
	return seq, err
}

// resizeAfter a change at seq, 0 for none. The change stands whatever comes of this; the next change tries again.
func (s *Service) resizeAfter(ctx context.Context, c id.Conversation, seq uint64) {
	if seq == 0 {
		return
	}
	if err := s.resize(ctx, c); err != nil {
		s.deps.Logger.Warn("a group keeps its form, though its size passed the bound", "conversation", c, "error", err)
	}
}

// Remove takes users out. Admins remove members, the owner anyone.
func (s *Service) Remove(ctx context.Context, c id.Conversation, by id.User, list []uint64) (uint64, error) {
	if len(list) > inviteMost {
		return 0, errs.New(errs.Invalid, "too_many_users", "take out at most 500 users at once")
	}
	seq, err := s.inGroup(ctx, c, by, roleAdmin, func(st *state) (*chatv1.Control, error) {
		var users []uint64
		for _, u := range list {
			role := st.role(id.User(u))
			if role == 0 || slices.Contains(users, u) {
				continue
			}
			if role >= st.role(by) {
				return nil, errNotAllowed
			}
			users = append(users, u)
		}
		if len(users) == 0 {
			return nil, nil
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_REMOVED, Users: users}, nil
	})
	s.resizeAfter(ctx, c, seq)
	return seq, err
}

// Leave a group. Its owner transfers or dissolves it instead.
func (s *Service) Leave(ctx context.Context, c id.Conversation, u id.User) (uint64, error) {
	seq, err := s.inGroup(ctx, c, u, roleMember, func(st *state) (*chatv1.Control, error) {
		if st.role(u) == roleOwner {
			return nil, errs.New(errs.Denied, "owner_stays", "the owner transfers the group first, or dissolves it")
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_LEFT, Users: []uint64{uint64(u)}}, nil
	})
	s.resizeAfter(ctx, c, seq)
	return seq, err
}

var errLink = errs.New(errs.NotFound, "bad_link", "this link is not valid any more")

// Join an open group or by a link; or ask to, by approval.
func (s *Service) Join(ctx context.Context, u id.User, r *chatv1.JoinRequest) (joined bool, c id.Conversation, err error) {
	c = id.Conversation(r.Conversation)
	if !storable(r.Token) {
		return false, 0, errLink
	}
	if r.Token != "" {
		err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM conversations WHERE link = $1`, r.Token).Scan(&c)
		if errors.Is(err, sql.ErrNoRows) {
			return false, 0, errLink
		}
		if err != nil {
			return false, 0, err
		}
	}
	if utf8.RuneCountInString(r.Message) > 500 || !storable(r.Message) {
		return false, 0, errs.New(errs.Invalid, "bad_message", "a request's message has at most 500 characters")
	}
	var asked *state
	seq, err := s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		asked = nil
		switch {
		case st.kind != group || st.access == 0:
			return nil, errNoConversation
		case st.dissolved:
			return nil, errDissolved
		case st.role(u) != 0:
			return nil, nil
		case r.Token != "" || st.policy == chatv1.JoinPolicy_JOIN_POLICY_OPEN:
			return &chatv1.Control{Action: chatv1.Control_ACTION_JOINED, Actor: uint64(u), Users: []uint64{uint64(u)}}, s.full(st, 1)
		case st.policy == chatv1.JoinPolicy_JOIN_POLICY_APPROVAL:
			asked = st
			return nil, nil
		}
		return nil, errNoConversation
	})
	if err != nil || asked == nil {
		s.resizeAfter(ctx, c, seq)
		return err == nil, c, err
	}
	return false, c, s.ask(ctx, asked, u, r.Message)
}

func (s *Service) admin(ctx context.Context, c id.Conversation, by id.User) error {
	st, err := s.current(ctx, c)
	if err != nil {
		return err
	}
	if role := st.role(by); role == 0 {
		return errNoConversation
	} else if role < roleAdmin {
		return errNotAllowed
	}
	return nil
}

// CreateJoinLink gives a new link, and ends the old one.
func (s *Service) CreateJoinLink(ctx context.Context, c id.Conversation, by id.User) (string, error) {
	if err := s.admin(ctx, c, by); err != nil {
		return "", err
	}
	link := auth.NewSecret("")
	return link, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE conversations SET link = $1 WHERE id = $2 AND kind = $3`, link, int64(c), group)
		return err
	})
}

// SetRole makes a member an admin, or an admin a member. The owner may.
func (s *Service) SetRole(ctx context.Context, c id.Conversation, by, u id.User, role chatv1.Role) (uint64, error) {
	if role != roleMember && role != roleAdmin {
		return 0, errs.New(errs.Invalid, "bad_role", "a role is member or admin; Transfer makes another owner")
	}
	return s.inGroup(ctx, c, by, roleOwner, func(st *state) (*chatv1.Control, error) {
		switch st.role(u) {
		case 0:
			return nil, errs.New(errs.NotFound, "no_member", "this user is not in the group")
		case role:
			return nil, nil
		case roleOwner:
			return nil, errNotAllowed
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_ROLE, Users: []uint64{uint64(u)}, Role: role}, nil
	})
}

// Transfer gives the group to another member.
func (s *Service) Transfer(ctx context.Context, c id.Conversation, by, u id.User) (uint64, error) {
	return s.inGroup(ctx, c, by, roleOwner, func(st *state) (*chatv1.Control, error) {
		if st.role(u) == 0 {
			return nil, errs.New(errs.NotFound, "no_member", "this user is not in the group")
		}
		if u == by {
			return nil, nil
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_TRANSFERRED, Users: []uint64{uint64(u)}}, nil
	})
}

// MuteMembers keeps members, or all but admins, from writing until a time; 0 lets them write again.
func (s *Service) MuteMembers(ctx context.Context, c id.Conversation, by id.User, r *chatv1.MuteMembersRequest) (uint64, error) {
	if len(r.Users) > inviteMost || r.UntilMs < 0 {
		return 0, errs.New(errs.Invalid, "bad_mute", "mute at most 500 users at once, until a time in milliseconds since 1970")
	}
	return s.inGroup(ctx, c, by, roleAdmin, func(st *state) (*chatv1.Control, error) {
		for _, u := range r.Users {
			if role := st.role(id.User(u)); role == 0 {
				return nil, errs.New(errs.NotFound, "no_member", "one of these users is not in the group")
			} else if role >= st.role(by) {
				return nil, errNotAllowed
			}
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_MUTED, Users: r.Users, UntilMs: r.UntilMs}, nil
	})
}

var errJoinPolicy = errs.New(errs.Invalid, "bad_join_policy", "a join policy is invite, open or approval")

// UpdateGroup sets what is given, each as an entry of its own; it gives the seq of the last.
func (s *Service) UpdateGroup(ctx context.Context, c id.Conversation, by id.User, r *chatv1.UpdateGroupRequest) (last uint64, err error) {
	var controls []*chatv1.Control
	if r.Title != nil {
		title, err := parseTitle(*r.Title)
		if err != nil {
			return 0, err
		}
		controls = append(controls, &chatv1.Control{Action: chatv1.Control_ACTION_RENAMED, Text: title})
	}
	if r.Announcement != nil {
		if utf8.RuneCountInString(*r.Announcement) > 2000 || *r.Announcement != "" && checkText([]byte(*r.Announcement)) != nil {
			return 0, errs.New(errs.Invalid, "bad_announcement", "an announcement has at most 2,000 characters")
		}
		controls = append(controls, &chatv1.Control{Action: chatv1.Control_ACTION_ANNOUNCED, Text: *r.Announcement})
	}
	if r.Avatar != nil {
		controls = append(controls, &chatv1.Control{Action: chatv1.Control_ACTION_AVATAR, Upload: *r.Avatar})
	}
	if r.JoinPolicy != nil {
		if *r.JoinPolicy < 1 || *r.JoinPolicy > 3 {
			return 0, errJoinPolicy
		}
		controls = append(controls, &chatv1.Control{Action: chatv1.Control_ACTION_JOIN_POLICY, JoinPolicy: *r.JoinPolicy})
	}
	for _, control := range controls {
		if last, err = s.inGroup(ctx, c, by, roleAdmin, func(*state) (*chatv1.Control, error) { return control, nil }); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// Dissolve ends the group: nobody writes any more, all may read what there is.
func (s *Service) Dissolve(ctx context.Context, c id.Conversation, by id.User) (uint64, error) {
	return s.inGroup(ctx, c, by, roleOwner, func(*state) (*chatv1.Control, error) {
		return &chatv1.Control{Action: chatv1.Control_ACTION_DISSOLVED}, nil
	})
}

// ListMembers in pages, by user id.
func (s *Service) ListMembers(ctx context.Context, c id.Conversation, by id.User, limit uint32, page string) (*chatv1.ListMembersResponse, error) {
	st, err := s.current(ctx, c)
	if err != nil {
		return nil, err
	}
	if st.role(by) == 0 {
		return nil, errNoConversation
	}
	from, err := pageStart(page)
	if err != nil {
		return nil, err
	}
	i, _ := slices.BinarySearch(st.current, id.User(from))
	out := &chatv1.ListMembersResponse{}
	for _, u := range st.current[i:] {
		if len(out.Members) == pageSize(limit) {
			out.Next = u.String()
			break
		}
		m := st.members[u]
		out.Members = append(out.Members, &chatv1.Member{User: uint64(u), Role: m.role, JoinSeq: m.join, MutedUntilMs: m.mutedUntilMs})
	}
	return out, nil
}

func pageStart(page string) (uint64, error) {
	if page == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(page, 10, 63)
	if err != nil {
		return 0, errs.New(errs.Invalid, "bad_page", "this page token is not one of ours")
	}
	return n, nil
}

// pageSize clamps a limit to 1 to 200; 0 is 50.
func pageSize(limit uint32) int {
	if limit == 0 {
		return 50
	}
	return int(min(limit, 200))
}
