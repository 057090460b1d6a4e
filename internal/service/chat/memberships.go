package chat

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// A user's list of conversations is read through indexes of the members table: present memberships by last activity (active_ms), former
// ones likewise, and large groups. No query reads all of a user's rows for a page.
//
// active_ms is a projection: the time of the newest recorded entry. A change of members records its own entry; package inbox records
// messages, see RecordActivity. It never decreases.

// Rows of a user's list of conversations.
type (
	Membership = message.Membership
	Activity   = message.Activity
	Cursor     = message.Cursor
)

// Threads are among them while the user may read their roots, and have the retention of their parents.
const membershipColumns = `SELECT m.conversation, CASE WHEN c.channel OR c.ticket > 0 THEN 1 ELSE m.join_seq END, m.leave_seq, c.large > 0, m.active_ms, coalesce(p.retention, c.retention), m.follower, c.followers, coalesce(c.handle, ''), m.thread,
	coalesce(d.through_seq, 0), coalesce(d.through_counted, 0), coalesce(d.deleted, FALSE)
	FROM members m JOIN conversations c ON c.id = m.conversation LEFT JOIN conversations p ON m.thread AND p.id = c.parent LEFT JOIN cleared d ON d.owner = m.member AND d.conversation = m.conversation
	WHERE m.member = $1 AND (NOT m.thread OR EXISTS (SELECT 1 FROM members r WHERE r.conversation = c.parent AND r.member = $1 AND r.leave_seq = 0 AND r.join_seq <= c.root)) AND `

// MembershipsAfter returns the conversations with ids above after that a user is or was in, ascending, at most limit.
func (s *Service) MembershipsAfter(ctx context.Context, u id.User, above id.Conversation, limit int) ([]Membership, error) {
	return s.queryMemberships(ctx, `m.conversation > $2 ORDER BY m.conversation LIMIT $3`, int64(u), int64(above), limit)
}

// RecentMemberships returns a user's present memberships after a cursor (nil: from the start), the last active first, at most limit. With
// former, it returns the memberships that have ended. It omits conversations that the user deleted. Threads are in neither.
func (s *Service) RecentMemberships(ctx context.Context, u id.User, former bool, behind *Cursor, limit int) ([]Membership, error) {
	which := `m.leave_seq = 0 AND NOT m.thread`
	if former {
		which = `m.leave_seq > 0 AND NOT m.thread`
	}
	return s.pageMemberships(ctx, u, which, behind, limit)
}

// RecentThreads is RecentMemberships of the threads that a user follows.
func (s *Service) RecentThreads(ctx context.Context, u id.User, behind *Cursor, limit int) ([]Membership, error) {
	return s.pageMemberships(ctx, u, `m.leave_seq = 0 AND m.thread`, behind, limit)
}

func (s *Service) pageMemberships(ctx context.Context, u id.User, which string, behind *Cursor, limit int) ([]Membership, error) {
	which += ` AND NOT coalesce(d.deleted, FALSE)`
	args := []any{int64(u), limit}
	if behind != nil {
		which += ` AND (m.active_ms, m.conversation) < ($3, $4)`
		args = append(args, behind.Ms, int64(behind.Conversation))
	}
	return s.queryMemberships(ctx, which+` ORDER BY m.active_ms DESC, m.conversation DESC LIMIT $2`, args...)
}

// MembershipsIn returns the memberships of a user in some conversations, in no order. It omits conversations that the user never was in.
func (s *Service) MembershipsIn(ctx context.Context, u id.User, conversations []id.Conversation) ([]Membership, error) {
	var list []Membership
	for some := range slices.Chunk(conversations, maxIDsPerQuery) {
		marks, args := sqldb.Placeholders(2, some, func(c id.Conversation) int64 { return int64(c) })
		found, err := s.queryMemberships(ctx, `m.conversation IN (`+marks+`)`, append([]any{int64(u)}, args...)...)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// RecordActivity stores the times of conversations' newest entries for a user's list, in a transaction of the caller. A time never
// decreases.
func (s *Service) RecordActivity(ctx context.Context, tx *sql.Tx, u id.User, list []Activity) error {
	for _, a := range list {
		if _, err := tx.ExecContext(ctx, `UPDATE members SET active_ms = $3 WHERE conversation = $1 AND member = $2 AND active_ms < $3`, int64(a.Conversation), int64(u), a.Ms); err != nil {
			return err
		}
	}
	return nil
}

// queryMemberships runs a query of one user's rows. If messages expire, Join is the first seq that has not.
func (s *Service) queryMemberships(ctx context.Context, where string, args ...any) ([]Membership, error) {
	if err := s.projections.wait(ctx); err != nil {
		return nil, err
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, membershipColumns+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Membership
	var expire []int // indexes of list
	for rows.Next() {
		var m Membership
		var retention uint32
		var cleared uint64
		if err := rows.Scan(&m.Conversation, &m.Join, &m.Leave, &m.Large, &m.ActiveMs, &retention, &m.Follower, &m.Channel.Followers, &m.Channel.Handle, &m.Thread, &cleared, &m.ClearedCounted, &m.Deleted); err != nil {
			return nil, err
		}
		if cleared != 0 {
			m.Join = max(m.Join, cleared+1)
		}
		if s.effectiveRetention(retention) != 0 {
			expire = append(expire, len(list))
		}
		list = append(list, m)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, i := range expire {
		st, err := s.linearizableState(ctx, list[i].Conversation)
		if err != nil {
			return nil, err
		}
		first, err := s.firstRetained(ctx, st)
		if err != nil {
			return nil, err
		}
		list[i].Join = max(list[i].Join, first)
	}
	return list, nil
}

// maxIDsPerQuery bounds the ids in one statement.
const maxIDsPerQuery = 256

// LargeGroups returns the large groups of each user, in the order of the users. It reads only the rows of large groups, because gateways
// call it for each connection. It returns all or fails. Users who do not follow the notices for everybody yet do from then on.
func (s *Service) LargeGroups(ctx context.Context, users []id.User) ([][]id.Conversation, error) {
	if err := s.projections.wait(ctx); err != nil {
		return nil, err
	}
	lists := make([][]id.Conversation, 0, len(users))
	for some := range slices.Chunk(users, maxIDsPerQuery) {
		of, err := s.queryLargeGroups(ctx, some)
		if err != nil {
			return nil, err
		}
		if err := s.addNotices(ctx, some, of); err != nil {
			return nil, err
		}
		for _, u := range some {
			lists = append(lists, of[u])
		}
	}
	return lists, nil
}

// queryLargeGroups returns the large groups of users, and as those of user 0 the notices that everybody follows.
func (s *Service) queryLargeGroups(ctx context.Context, users []id.User) (map[id.User][]id.Conversation, error) {
	marks, args := sqldb.Placeholders(1, users, func(u id.User) int64 { return int64(u) })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member, conversation FROM members WHERE member IN (`+marks+`) AND large AND leave_seq = 0
		UNION ALL SELECT 0, id FROM conversations WHERE notices = 1 AND NOT dissolved AND large > 0`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	lists := map[id.User][]id.Conversation{}
	for rows.Next() {
		var u id.User
		var c id.Conversation
		if err := rows.Scan(&u, &c); err != nil {
			return nil, err
		}
		lists[u] = append(lists[u], c)
	}
	return lists, rows.Err()
}
