package organization

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// viewer is a member who reads the address book.
type viewer struct {
	s     *Service
	org   *chatv1.Organization
	by    id.User
	above map[uint64]bool // the viewer's departments, and those above them
	known map[uint64]bool // whether departments are visible
}

// viewer returns what a member may see.
func (s *Service) viewer(ctx context.Context, org uint64, by id.User) (*viewer, error) {
	o, err := readOrganization(ctx, s.deps.DB.Read(), org, by)
	if err != nil {
		return nil, err
	}
	v := &viewer{s: s, org: o, by: by, above: map[uint64]bool{}, known: map[uint64]bool{}}
	if v.isAdmin() {
		return v, nil
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `WITH RECURSIVE above (id, parent) AS (
			SELECT d.id, d.parent FROM department_members m JOIN departments d ON d.id = m.department WHERE m.member = $1 AND m.organization = $2
			UNION SELECT d.id, d.parent FROM departments d JOIN above ON d.id = above.parent)
		SELECT id FROM above`, int64(by), int64(org))
	return v, sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var d uint64
		err := rows.Scan(&d)
		v.above[d] = true
		return err
	})
}

func (v *viewer) isAdmin() bool { return v.org.Role >= roleAdmin }

// isIn reports whether a hidden department is shown to the viewer: a member of it, or of one below it, or an admin.
func (v *viewer) isIn(d uint64) bool { return v.isAdmin() || v.above[d] }

// shown lists the hidden departments that the viewer sees as query parameters, numbered from first. It is never empty, since a list in SQL may
// not be: 0 is no department.
func (v *viewer) shown(first int) (marks string, args []any) {
	list := append(slices.Sorted(maps.Keys(v.above)), 0)
	return sqldb.Placeholders(first, list, func(d uint64) int64 { return int64(d) })
}

// mustSee fails with errNoDepartment for departments of others, and hidden ones.
func (v *viewer) mustSee(ctx context.Context, d uint64) error {
	sees, err := v.sees(ctx, d)
	if err == nil && !sees {
		err = errNoDepartment
	}
	return err
}

// sees reports whether the viewer sees a department: neither it nor one above it is hidden from the viewer.
func (v *viewer) sees(ctx context.Context, d uint64) (bool, error) {
	err := v.load(ctx, []uint64{d})
	return v.known[d], err
}

// load finds out which of some departments the viewer sees, with one query for each 200.
func (v *viewer) load(ctx context.Context, departments []uint64) error {
	unknown := slices.DeleteFunc(departments, func(d uint64) bool { _, known := v.known[d]; return known })
	slices.Sort(unknown)
	for some := range slices.Chunk(slices.Compact(unknown), maxPerCall) {
		marks, args := sqldb.Placeholders(2, some, func(d uint64) int64 { return int64(d) })
		found, hidden := map[uint64]bool{}, map[uint64]bool{}
		rows, err := v.s.deps.DB.Read().QueryContext(ctx, `WITH RECURSIVE above (of_id, id, parent, hidden) AS (SELECT id, id, parent, hidden FROM departments WHERE organization = $1 AND id IN (`+marks+`)
				UNION SELECT above.of_id, d.id, d.parent, d.hidden FROM departments d JOIN above ON d.id = above.parent)
			SELECT of_id, id, hidden FROM above`, append([]any{int64(v.org.Id)}, args...)...)
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var of, at uint64
			var hides bool
			err := rows.Scan(&of, &at, &hides)
			found[of] = true
			hidden[of] = hidden[of] || hides && !v.isIn(at)
			return err
		})
		if err != nil {
			return err
		}
		for _, d := range some {
			v.known[d] = found[d] && !hidden[d]
		}
	}
	return nil
}

// filter drops members of hidden departments only, and what the viewer may not know of the others.
func (v *viewer) filter(ctx context.Context, members []*chatv1.OrganizationMember) ([]*chatv1.OrganizationMember, error) {
	if v.isAdmin() {
		return members, nil
	}
	var departments []uint64
	for _, m := range members {
		for _, d := range m.Departments {
			departments = append(departments, d.Department)
		}
	}
	if err := v.load(ctx, departments); err != nil {
		return nil, err
	}
	shown := members[:0]
	for _, m := range members {
		own := id.User(m.User) == v.by
		had := len(m.Departments)
		m.Departments = slices.DeleteFunc(m.Departments, func(d *chatv1.DepartmentMembership) bool { return !v.known[d.Department] })
		if len(m.Departments) == 0 && had > 0 && !own {
			continue
		}
		if v.org.HidePhones && !own {
			m.Phone = ""
		}
		shown = append(shown, m)
	}
	return shown, nil
}

// members returns those of at most 201 users who are members and whom the viewer sees, in the order of the users.
func (v *viewer) members(ctx context.Context, users []id.User) ([]*chatv1.OrganizationMember, error) {
	of, err := membersOf(ctx, v.s.deps.DB.Read(), v.org.Id, users)
	if err != nil {
		return nil, err
	}
	var list []*chatv1.OrganizationMember
	for _, u := range users {
		if m := of[uint64(u)]; m != nil {
			list = append(list, m)
			delete(of, uint64(u))
		}
	}
	return v.filter(ctx, list)
}

// mustSeeMembers fails with errNoMember unless all users are members whom the viewer sees.
func (v *viewer) mustSeeMembers(ctx context.Context, users []uint64) error {
	users = slices.Clone(users)
	slices.Sort(users)
	users = slices.Compact(users)
	for some := range slices.Chunk(users, maxPerCall) {
		list := make([]id.User, len(some))
		for i, u := range some {
			list[i] = id.User(u)
		}
		if seen, err := v.members(ctx, list); err != nil {
			return err
		} else if len(seen) < len(list) {
			return errNoMember
		}
	}
	return nil
}
