package chat

import (
	"maps"
	"slices"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/id"
)

// member of a conversation, present or former.
type member struct {
	role         chatv1.Role
	first        uint64 // the seq of the first join, before join for one who left and came back
	join, leave  uint64 // the last interval; leave 0: a member now
	mutedUntilMs int64
	// left is the conversation as it was when one left; nil for a member. It is shared, and never changed.
	left *chatv1.Conversation
}

// state of a conversation after its control entry at access. It is never changed; apply gives a new one.
type state struct {
	id           id.Conversation
	kind         chatv1.ConversationKind
	title        string
	announcement string
	avatar       uint64
	policy       chatv1.JoinPolicy
	mutedAllMs   int64
	dissolved    bool
	large        uint64  // seq of the entry from which on the log is the only copy; 0: by inbox
	lo, hi       id.User // of a one-to-one conversation
	blocked      bool    // one of the two has blocked the other, or they may not write by policy
	unknown      error   // why nobody knows whether they may write; then they may not, for now
	relatedMs    int64   // when the webhook was asked; 0 where it is not
	access       uint64
	retention    uint32 // days that messages are kept, set for this conversation; 0: none was
	head         uint64 // of the log, when the state was loaded, or later

	members map[id.User]member
	current []id.User // those who are members now, rising; shared with readers
	changed uint64    // the last seq at which current changed
}

func (s *state) clone() *state {
	c := *s
	c.members = maps.Clone(s.members)
	if c.members == nil {
		c.members = map[id.User]member{}
	}
	return &c
}

// settle makes what is derived from members.
func (s *state) settle() {
	s.current = make([]id.User, 0, len(s.members))
	s.changed = 0
	for u, m := range s.members {
		if m.leave == 0 {
			s.current = append(s.current, u)
		}
		s.changed = max(s.changed, m.join, m.leave)
	}
	slices.Sort(s.current)
}

// apply gives the state after a control entry at seq, and the users whose rows it changes.
func (s *state) apply(seq uint64, c *chatv1.Control) (*state, []id.User) {
	n := s.clone()
	n.access = seq
	users := make([]id.User, len(c.Users))
	for i, u := range c.Users {
		users[i] = id.User(u)
	}
	each := func(change func(*member)) {
		for _, u := range users {
			m := n.members[u]
			change(&m)
			n.members[u] = m
		}
	}
	join := func(m *member) {
		if m.join == 0 || m.leave != 0 {
			first := m.first
			if first == 0 {
				first = seq
			}
			*m = member{role: chatv1.Role_ROLE_MEMBER, first: first, join: seq}
		}
	}
	switch c.Action {
	case chatv1.Control_ACTION_CREATED:
		n.title, n.policy = c.Text, c.JoinPolicy
		each(join)
		if n.kind == chatv1.ConversationKind_CONVERSATION_KIND_GROUP {
			n.members[id.User(c.Actor)] = member{role: chatv1.Role_ROLE_OWNER, first: seq, join: seq}
			users = append(users, id.User(c.Actor))
		}
	case chatv1.Control_ACTION_JOINED:
		each(join)
	case chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED:
		each(func(m *member) { m.leave, m.role = seq, chatv1.Role_ROLE_MEMBER })
	case chatv1.Control_ACTION_ROLE:
		each(func(m *member) { m.role = c.Role })
	case chatv1.Control_ACTION_TRANSFERRED:
		for u, m := range n.members {
			if m.role == chatv1.Role_ROLE_OWNER {
				m.role = chatv1.Role_ROLE_ADMIN
				n.members[u] = m
				users = append(users, u)
			}
		}
		m := n.members[users[0]]
		m.role, m.mutedUntilMs = chatv1.Role_ROLE_OWNER, 0 // nobody could let an owner write again
		n.members[users[0]] = m
	case chatv1.Control_ACTION_RENAMED:
		n.title = c.Text
	case chatv1.Control_ACTION_ANNOUNCED:
		n.announcement = c.Text
	case chatv1.Control_ACTION_MUTED:
		if len(users) == 0 {
			n.mutedAllMs = c.UntilMs
		}
		each(func(m *member) { m.mutedUntilMs = c.UntilMs })
	case chatv1.Control_ACTION_DISSOLVED:
		n.dissolved = true
	case chatv1.Control_ACTION_JOIN_POLICY:
		n.policy = c.JoinPolicy
	case chatv1.Control_ACTION_AVATAR:
		n.avatar = c.Upload
	case chatv1.Control_ACTION_LARGE:
		n.large = seq
	case chatv1.Control_ACTION_SMALL:
		n.large = 0
	case chatv1.Control_ACTION_RETENTION:
		n.retention = c.RetentionDays
	}
	n.settle()
	if c.Action == chatv1.Control_ACTION_LEFT || c.Action == chatv1.Control_ACTION_REMOVED {
		now := n.shown()
		each(func(m *member) { m.left = now })
	}
	return n, users
}

// shown is what all members see alike, and those who leave keep.
func (s *state) shown() *chatv1.Conversation {
	return &chatv1.Conversation{Id: uint64(s.id), Kind: s.kind, Title: s.title, Announcement: s.announcement, Avatar: s.avatar, JoinPolicy: s.policy,
		MemberCount: uint32(len(s.current)), Large: s.large != 0, Dissolved: s.dissolved, RetentionDays: s.retention}
}

// audience of an entry: the members whose interval holds seq. It is not whole where the interval of one who came back later
// may have held seq: then the log knows.
func (s *state) audience(seq uint64) (users []id.User, whole bool) {
	if seq > s.changed {
		return s.current, true
	}
	for u, m := range s.members {
		if m.join <= seq && (m.leave == 0 || seq <= m.leave) {
			users = append(users, u)
		} else if m.first <= seq && seq < m.join {
			return nil, false
		}
	}
	slices.Sort(users)
	return users, true
}

// may gives the range of seqs that a user may read.
func (s *state) may(u id.User) (from, to uint64, ok bool) {
	m, ok := s.members[u]
	if !ok {
		return 0, 0, false
	}
	to = m.leave
	if to == 0 {
		to = 1<<64 - 1
	}
	return m.join, to, true
}

func (s *state) role(u id.User) chatv1.Role {
	if m, ok := s.members[u]; ok && m.leave == 0 {
		return m.role
	}
	return chatv1.Role_ROLE_UNSPECIFIED
}

func (s *state) peer(u id.User) id.User {
	if u == s.lo {
		return s.hi
	}
	return s.lo
}
