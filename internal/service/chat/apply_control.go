package chat

import (
	"maps"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// apply returns the state after a control entry at seq, and the users whose member rows it changes.
func (s *state) apply(seq uint64, c *chatv1.Control) (*state, []id.User) {
	n := s.clone()
	n.access = seq
	n.controls++
	users := make([]id.User, len(c.Users))
	for i, u := range c.Users {
		users[i] = id.User(u)
	}
	switch c.Action {
	case chatv1.Control_ACTION_BANNED, chatv1.Control_ACTION_UNBANNED:
		n.applyBans(users, c.Action == chatv1.Control_ACTION_BANNED)
		return n, nil // a ban does not change member rows
	case chatv1.Control_ACTION_CREATED, chatv1.Control_ACTION_JOINED, chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED:
		users = n.applyMembership(seq, c, users)
	case chatv1.Control_ACTION_ROLE, chatv1.Control_ACTION_TRANSFERRED, chatv1.Control_ACTION_MUTED:
		users = n.applyRights(c, users)
	default:
		n.applySettings(seq, c)
	}
	n.deriveMembers()
	if c.Action == chatv1.Control_ACTION_LEFT || c.Action == chatv1.Control_ACTION_REMOVED {
		now := n.snapshot()
		n.changeMembers(users, func(m *member) { m.snapshotAtLeave = now })
	}
	return n, users
}

func (s *state) changeMembers(users []id.User, change func(*member)) {
	for _, u := range users {
		m := s.members[u]
		change(&m)
		s.members[u] = m
	}
}

// applyMembership applies an entry by which users join or leave, and returns all users that it changes.
func (s *state) applyMembership(seq uint64, c *chatv1.Control, users []id.User) []id.User {
	switch c.Action {
	case chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED:
		s.changeMembers(users, func(m *member) {
			m.leaveSeq, m.role, m.removed = seq, chatv1.Role_ROLE_MEMBER, c.Action == chatv1.Control_ACTION_REMOVED
		})
		return users
	case chatv1.Control_ACTION_CREATED:
		s.title, s.policy, s.importing = c.Text, c.JoinPolicy, c.Importing
	}
	s.changeMembers(users, func(m *member) {
		if m.joinSeq == 0 || m.leaveSeq != 0 {
			first := m.firstJoinSeq
			if first == 0 {
				first = seq
			}
			*m = member{role: chatv1.Role_ROLE_MEMBER, firstJoinSeq: first, joinSeq: seq, mutedUntilMs: m.mutedUntilMs}
		}
	})
	if c.Action == chatv1.Control_ACTION_CREATED && s.kind == group && s.ticket == 0 {
		s.members[id.User(c.Actor)] = member{role: chatv1.Role_ROLE_OWNER, firstJoinSeq: seq, joinSeq: seq}
		users = append(users, id.User(c.Actor))
	}
	return users
}

// applyRights applies an entry that changes roles or mutes, and returns all users that it changes.
func (s *state) applyRights(c *chatv1.Control, users []id.User) []id.User {
	switch c.Action {
	case chatv1.Control_ACTION_ROLE:
		s.changeMembers(users, func(m *member) { m.role = c.Role })
	case chatv1.Control_ACTION_TRANSFERRED:
		for u, m := range s.members {
			if m.role == chatv1.Role_ROLE_OWNER {
				m.role = chatv1.Role_ROLE_ADMIN
				s.members[u] = m
				users = append(users, u)
			}
		}
		m := s.members[users[0]]
		m.role, m.mutedUntilMs = chatv1.Role_ROLE_OWNER, 0 // nobody could unmute an owner
		s.members[users[0]] = m
	case chatv1.Control_ACTION_MUTED:
		if len(users) == 0 {
			s.mutedAllMs = c.UntilMs
		}
		s.changeMembers(users, func(m *member) { m.mutedUntilMs = c.UntilMs })
	}
	return users
}

// applySettings applies an entry that changes the conversation as a whole.
func (s *state) applySettings(seq uint64, c *chatv1.Control) {
	switch c.Action {
	case chatv1.Control_ACTION_RENAMED:
		s.title = c.Text
	case chatv1.Control_ACTION_ANNOUNCED:
		s.announcement = c.Text
	case chatv1.Control_ACTION_DISSOLVED:
		s.dissolved = true
	case chatv1.Control_ACTION_JOIN_POLICY:
		s.policy = c.JoinPolicy
	case chatv1.Control_ACTION_AVATAR:
		s.avatar = c.Upload
	case chatv1.Control_ACTION_LARGE:
		s.large = seq
	case chatv1.Control_ACTION_SMALL:
		s.large = 0
	case chatv1.Control_ACTION_RETENTION:
		s.retention = retentionOf(c)
	case chatv1.Control_ACTION_TICKET:
		s.applyTicket(c)
	case chatv1.Control_ACTION_ACCESS: // it ends an import, or another node takes it over
		s.importing = s.importing && c.Importing
	}
}

func (s *state) applyBans(users []id.User, ban bool) {
	s.bans = maps.Clone(s.bans)
	if s.bans == nil {
		s.bans = map[id.User]struct{}{}
	}
	for _, u := range users {
		if delete(s.bans, u); ban {
			s.bans[u] = struct{}{}
		}
	}
}
