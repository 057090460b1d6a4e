package chat

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// CheckMembers is called before users are added to a group or removed from it, which it may refuse.
type CheckMembers func(ctx context.Context, c id.Conversation, added []id.User) error

func (s *Service) checkMembers(ctx context.Context, c id.Conversation, added []id.User) error {
	if s.deps.CheckMembers == nil {
		return nil
	}
	return s.deps.CheckMembers(ctx, c, added)
}

// AlignMembers adds and removes members of a group until it has those that decide returns, at most maxUsersPerCall with each control entry, so
// that thousands of users are a few lines in the group. decide gets a copy of the members at present, ascending. The owner stays, banned users do
// not join, and nobody is asked for consent. It returns when the changes are durable; after an error, a repetition makes the rest.
func (s *Service) AlignMembers(ctx context.Context, c id.Conversation, decide func(current []id.User) (want []id.User)) error {
	for {
		seq, err := s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
			if err := st.checkAlignable(); err != nil {
				return nil, err
			}
			return alignControl(st, decide(slices.Clone(st.activeMembers))), nil
		})
		if err != nil || seq == 0 {
			return err
		}
		s.resizeGroupAfter(ctx, c, seq)
	}
}

// ReplaceOwner makes a user the owner of a group if its present owner must leave, which leaves reports. The user joins first if necessary, and the
// former owner remains as an admin. After an error, a repetition makes the rest.
func (s *Service) ReplaceOwner(ctx context.Context, c id.Conversation, successor id.User, leaves func(owner id.User) (bool, error)) error {
	if err := s.checkOwner(ctx, successor); err != nil {
		return err
	}
	for {
		seq, err := s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
			if err := st.checkAlignable(); err != nil {
				return nil, err
			}
			owner := st.owner()
			if owner == 0 || owner == successor {
				return nil, nil
			}
			if must, err := leaves(owner); err != nil || !must {
				return nil, err
			}
			control := &chatv1.Control{Action: chatv1.Control_ACTION_TRANSFERRED, Actor: uint64(owner), Users: []uint64{uint64(successor)}}
			switch {
			case st.banned(successor):
				control.Action = chatv1.Control_ACTION_UNBANNED
			case st.role(successor) == 0:
				control.Action = chatv1.Control_ACTION_JOINED
			}
			return control, nil
		})
		if err != nil || seq == 0 {
			return err
		}
		s.resizeGroupAfter(ctx, c, seq)
	}
}

// DissolvedAmong returns which of some groups were dissolved. There may be at most maxIDsPerQuery groups.
func (s *Service) DissolvedAmong(ctx context.Context, groups []id.Conversation) ([]id.Conversation, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	marks, args := sqldb.Placeholders(1, groups, func(c id.Conversation) int64 { return int64(c) })
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT id FROM conversations WHERE dissolved AND id IN (`+marks+`)`, args...)
	return sqldb.Column[id.Conversation](rows, err)
}

// checkAlignable fails unless a service may change the members of a conversation.
func (s *state) checkAlignable() error {
	switch {
	case s.kind != group || s.channel:
		return errNotGroup
	case s.dissolved:
		return errDissolved
	}
	return nil
}

// owner of a group; 0 if it has none.
func (s *state) owner() id.User {
	for _, u := range s.activeMembers {
		if s.role(u) == roleOwner {
			return u
		}
	}
	return 0
}

// alignControl returns the next control entry towards the wanted members, nil at the end. Removals come first: they make room.
func alignControl(st *state, want []id.User) *chatv1.Control {
	wanted := make(map[id.User]bool, len(want))
	for _, u := range want {
		wanted[u] = true
	}
	owner := st.owner()
	var removed, added []id.User
	for _, u := range st.activeMembers {
		if u != owner && !wanted[u] {
			removed = append(removed, u)
		}
	}
	if len(removed) > 0 {
		return &chatv1.Control{Action: chatv1.Control_ACTION_REMOVED, Actor: uint64(owner), Users: userNumbers(removed[:min(len(removed), maxUsersPerCall)])}
	}
	for u := range wanted {
		if st.role(u) == 0 && !st.banned(u) {
			added = append(added, u)
		}
	}
	if len(added) == 0 {
		return nil
	}
	slices.Sort(added)
	return &chatv1.Control{Action: chatv1.Control_ACTION_JOINED, Actor: uint64(owner), Users: userNumbers(added[:min(len(added), maxUsersPerCall)])}
}
