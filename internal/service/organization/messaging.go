package organization

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// membership of two users in an organization.
type membership struct {
	messaging chatv1.OrganizationMessaging
	friends   bool
	has       [2]bool
}

// RelationOf reports whether two users may not write to each other, whether they may only as friends, and whether they may where only friends
// may. Each organization of either of them decides; the strictest wins.
func (s *Service) RelationOf(ctx context.Context, a, b id.User) (refused, friendsOnly, likeFriends bool, err error) {
	of := map[int64]*membership{}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT m.organization, m.member, o.messaging, o.colleagues_are_friends FROM organization_members m
		JOIN organizations o ON o.id = m.organization WHERE m.member = $1 OR m.member = $2`, int64(a), int64(b))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var org int64
		var u id.User
		var m membership
		if err := rows.Scan(&org, &u, &m.messaging, &m.friends); err != nil {
			return err
		}
		if of[org] == nil {
			of[org] = &m
		}
		if u == a {
			of[org].has[0] = true
		} else {
			of[org].has[1] = true
		}
		return nil
	})
	for org, m := range of {
		if err != nil {
			return false, false, false, err
		}
		colleagues := m.has[0] && m.has[1]
		likeFriends = likeFriends || colleagues && m.friends
		switch m.messaging {
		case chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_ORGANIZATION:
			friendsOnly = friendsOnly || !colleagues
		case chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_INSIDE:
			refused = refused || !colleagues
		case chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_DEPARTMENT:
			related := false
			if colleagues {
				related, err = s.inOneLine(ctx, org, a, b)
			}
			refused = refused || !related
		}
	}
	return refused, friendsOnly, likeFriends, err
}

// inOneLine reports whether a department of one user is a department of the other, or is above or below one.
func (s *Service) inOneLine(ctx context.Context, org int64, a, b id.User) (bool, error) {
	for _, users := range [][2]id.User{{a, b}, {b, a}} {
		var n int
		err := s.deps.DB.Read().QueryRowContext(ctx, `WITH RECURSIVE above (id, parent) AS (
				SELECT d.id, d.parent FROM department_members m JOIN departments d ON d.id = m.department WHERE m.member = $1 AND m.organization = $3
				UNION SELECT d.id, d.parent FROM departments d JOIN above ON d.id = above.parent)
			SELECT count(*) FROM department_members m JOIN above ON above.id = m.department WHERE m.member = $2 AND m.organization = $3`, int64(users[0]), int64(users[1]), org).Scan(&n)
		if err != nil || n > 0 {
			return n > 0, err
		}
	}
	return false, nil
}
