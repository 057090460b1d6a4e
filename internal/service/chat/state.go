package chat

import (
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// member of a conversation, present or former.
type member struct {
	role         chatv1.Role
	firstJoinSeq uint64 // the first join; lower than joinSeq after a return
	joinSeq      uint64 // the start of the last interval
	leaveSeq     uint64 // the end of the last interval; 0: a member now
	mutedUntilMs int64  // survives leaving and returning
	removed      bool   // by another user, and not invited since: the user can join neither by a link nor an open group
	// snapshotAtLeave is the conversation when the user left; nil for a member. It is shared and never changed.
	snapshotAtLeave *chatv1.Conversation
}

// state of a conversation after its control entry at access. It is never changed; apply returns a new one.
type state struct {
	id           id.Conversation
	kind         chatv1.ConversationKind
	title        string
	announcement string
	avatar       uint64
	policy       chatv1.JoinPolicy
	mutedAllMs   int64
	dissolved    bool
	importing    bool           // its history is being imported, see import.go
	channel      bool           // followers are rows only, see channel.go
	notices      chatv1.Notices // of a channel, see notices.go
	ticket       uint64         // of a ticket's conversation, the version that the log has, see ticket.go; 0: it is none
	large        uint64         // the seq after which the log is the only copy; 0: inboxes have the entries
	lowUser      id.User        // of a one-to-one conversation, the lower id
	highUser     id.User        // of a one-to-one conversation, the higher id
	relation     relation       // of a one-to-one conversation
	access       uint64         // the access version
	controls     uint64         // how many control entries the log has up to access
	retention    uint32         // seconds that messages are kept, set for this conversation; 0: not set
	firstSeq     uint64         // of the log, when the state was loaded or later

	parentID id.Conversation // of a thread, the conversation of its root
	rootSeq  uint64          // of a thread, the seq of its root in the parent
	parent   *state          // of a thread, in the copies that withParent makes

	members           map[id.User]member
	bans              map[id.User]struct{} // replaced, never changed
	allMembers        []id.User            // present and former members, ascending
	activeMembers     []id.User            // the members now, ascending; shared with readers
	admins            []uint64             // and the owner, among activeMembers, at most maxRoleUsers; replaced, never changed
	lastMembershipSeq uint64               // the last seq at which activeMembers changed
}

func (s *state) clone() *state {
	c := *s
	c.members = maps.Clone(s.members)
	if c.members == nil {
		c.members = map[id.User]member{}
	}
	return &c
}

// deriveMembers sets the fields that follow from members.
func (s *state) deriveMembers() {
	s.allMembers = make([]id.User, 0, len(s.members))
	s.lastMembershipSeq = 0
	active := 0
	for u, m := range s.members {
		s.allMembers = append(s.allMembers, u)
		if m.leaveSeq == 0 {
			active++
		}
		s.lastMembershipSeq = max(s.lastMembershipSeq, m.joinSeq, m.leaveSeq)
	}
	slices.Sort(s.allMembers)
	s.activeMembers = s.allMembers
	if active < len(s.allMembers) {
		s.activeMembers = make([]id.User, 0, active)
		for _, u := range s.allMembers {
			if s.members[u].leaveSeq == 0 {
				s.activeMembers = append(s.activeMembers, u)
			}
		}
	}
	s.admins = nil
	for _, u := range s.activeMembers {
		if s.members[u].role >= roleAdmin && len(s.admins) < maxRoleUsers {
			s.admins = append(s.admins, uint64(u))
		}
	}
}

// snapshot is the part that is the same for all members. A user who leaves keeps it.
func (s *state) snapshot() *chatv1.Conversation {
	return &chatv1.Conversation{Id: uint64(s.id), Kind: s.kind, Title: s.title, Announcement: s.announcement, Avatar: s.avatar, JoinPolicy: s.policy,
		MemberCount: uint32(len(s.activeMembers)), Large: s.large != 0, Dissolved: s.dissolved, RetentionSeconds: s.retention, Channel: s.channel, Notices: s.notices, Ticket: s.ticket != 0}
}

// audience returns the members whose interval contains seq. It is incomplete if a user left and rejoined after seq: an earlier interval
// may contain seq, and only the log has it.
func (s *state) audience(seq uint64) (users []id.User, complete bool) {
	if seq > s.lastMembershipSeq {
		return s.activeMembers, true
	}
	for u, m := range s.members {
		if m.joinSeq <= seq && (m.leaveSeq == 0 || seq <= m.leaveSeq) {
			users = append(users, u)
		} else if m.firstJoinSeq <= seq && seq < m.joinSeq {
			return nil, false
		}
	}
	slices.Sort(users)
	return users, true
}

// audiencePage is audience for at most limit present and former members after a user. unclear has the users for whom only the log has the
// membership at seq. next is the start of the following page, 0 at the end.
func (s *state) audiencePage(seq uint64, after id.User, limit int) (users, unclear []id.User, next id.User) {
	list := s.allMembers
	if seq > s.lastMembershipSeq {
		list = s.activeMembers
	}
	first, found := slices.BinarySearch(list, after)
	if found {
		first++
	}
	list = list[first:]
	if len(list) > limit {
		list, next = list[:limit], list[limit-1]
	}
	for _, u := range list {
		switch m := s.members[u]; {
		case m.joinSeq <= seq && (m.leaveSeq == 0 || seq <= m.leaveSeq):
			users = append(users, u)
		case m.firstJoinSeq <= seq && seq < m.joinSeq:
			unclear = append(unclear, u)
		}
	}
	return users, unclear, next
}

// readable returns the seqs of the last membership.
func (m *member) readable() (from, to uint64) {
	if m.leaveSeq == 0 {
		return m.joinSeq, 1<<64 - 1
	}
	return m.joinSeq, m.leaveSeq
}

func (s *state) role(u id.User) chatv1.Role {
	if m, ok := s.members[u]; ok && m.leaveSeq == 0 {
		return m.role
	}
	return chatv1.Role_ROLE_UNSPECIFIED
}

func (s *state) banned(u id.User) bool {
	_, yes := s.bans[u]
	return yes
}

func (s *state) peer(u id.User) id.User {
	if u == s.lowUser {
		return s.highUser
	}
	return s.lowUser
}
