package organization

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
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
	return v, scanAll(rows, err, func(rows *sql.Rows) error {
		var d uint64
		err := rows.Scan(&d)
		v.above[d] = true
		return err
	})
}

func (v *viewer) isAdmin() bool { return v.org.Role >= roleAdmin }

// isIn reports whether a hidden department is shown to the viewer: a member of it, or of one below it, or an admin.
func (v *viewer) isIn(d uint64) bool { return v.isAdmin() || v.above[d] }

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
	if sees, ok := v.known[d]; ok {
		return sees, nil
	}
	found, visible := false, true
	rows, err := v.s.deps.DB.Read().QueryContext(ctx, `WITH RECURSIVE above (id, parent, hidden) AS (SELECT id, parent, hidden FROM departments WHERE id = $1 AND organization = $2
			UNION SELECT d.id, d.parent, d.hidden FROM departments d JOIN above ON d.id = above.parent)
		SELECT id, hidden FROM above`, int64(d), int64(v.org.Id))
	err = scanAll(rows, err, func(rows *sql.Rows) error {
		var at uint64
		var hidden bool
		found = true
		err := rows.Scan(&at, &hidden)
		visible = visible && (!hidden || v.isIn(at))
		return err
	})
	v.known[d] = found && visible
	return found && visible, err
}

// filter drops members of hidden departments only, and what the viewer may not know of the others.
func (v *viewer) filter(ctx context.Context, members []*chatv1.OrganizationMember) ([]*chatv1.OrganizationMember, error) {
	if v.isAdmin() {
		return members, nil
	}
	shown := members[:0]
	for _, m := range members {
		own := id.User(m.User) == v.by
		var seen []*chatv1.DepartmentMembership
		for _, d := range m.Departments {
			sees, err := v.sees(ctx, d.Department)
			if err != nil {
				return nil, err
			}
			if sees {
				seen = append(seen, d)
			}
		}
		if len(seen) == 0 && len(m.Departments) > 0 && !own {
			continue
		}
		if m.Departments = seen; v.org.HidePhones && !own {
			m.Phone = ""
		}
		shown = append(shown, m)
	}
	return shown, nil
}
