package organization

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errCycle     = errs.New(errs.Invalid, "department_cycle", "a department cannot be below itself; choose another parent")
	errDepth     = errs.New(errs.Exhausted, "department_depth", "departments are at most 16 levels deep; move them further up")
	errTooMany   = errs.New(errs.Exhausted, "too_many_departments", "an organization has at most 10,000 departments; remove some first")
	errNotEmpty  = errs.New(errs.Denied, "department_not_empty", "this department has departments below it, members, or groups that follow it; move or remove them first")
	errAmbiguous = errs.New(errs.Conflict, "department_exists", "another department has this external id; name that one by it, or choose another")
)

// tree has the departments of an organization.
type tree struct {
	of         map[uint64]*chatv1.Department
	byExternal map[string]uint64
}

// readTree reads all departments of an organization, of which there are at most 10,000. Only changes by admins do.
func readTree(ctx context.Context, tx *sql.Tx, org uint64) (*tree, error) {
	t := &tree{of: map[uint64]*chatv1.Department{}, byExternal: map[string]uint64{}}
	rows, err := tx.QueryContext(ctx, `SELECT id, parent, name, external_id, position, hidden, members FROM departments WHERE organization = $1`, int64(org))
	return t, sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		d, err := scanDepartment(rows)
		t.add(d)
		return err
	})
}

func (t *tree) add(d *chatv1.Department) {
	if old := t.of[d.Id]; old != nil {
		delete(t.byExternal, old.ExternalId)
	}
	t.of[d.Id] = d
	if d.ExternalId != "" {
		t.byExternal[d.ExternalId] = d.Id
	}
}

func scanDepartment(rows *sql.Rows) (*chatv1.Department, error) {
	d := &chatv1.Department{}
	var external sql.NullString
	err := rows.Scan(&d.Id, &d.Parent, &d.Name, &external, &d.Position, &d.Hidden, &d.Members)
	d.ExternalId = external.String
	return d, err
}

// checkPosition fails if a department is below itself, or too deep.
func (t *tree) checkPosition(d uint64) error {
	above := map[uint64]bool{d: true}
	for at := t.of[d].Parent; at != 0; at = t.of[at].Parent {
		if above[at] {
			return errCycle
		}
		above[at] = true
	}
	if len(above) > maxDepth {
		return errDepth
	}
	return nil
}

// checkDepth fails if a department is too deep.
func (t *tree) checkDepth() error {
	for d := range t.of {
		if err := t.checkPosition(d); err != nil {
			return err
		}
	}
	return nil
}

// place returns the department that an input changes, or a new one, with what the input says.
func (t *tree) place(in *chatv1.DepartmentInput, next uint64) (d *chatv1.Department, isNew bool, err error) {
	parent := in.Parent
	if in.ParentExternalId != "" {
		parent = t.byExternal[in.ParentExternalId]
		if parent == 0 {
			return nil, false, errNoDepartment
		}
	}
	if parent != 0 && t.of[parent] == nil {
		return nil, false, errNoDepartment
	}
	d = &chatv1.Department{Id: in.Id, ExternalId: in.ExternalId}
	if other := t.byExternal[in.ExternalId]; in.ExternalId != "" && other != 0 && other != in.Id {
		if in.Id != 0 {
			return nil, false, errAmbiguous
		}
		d.Id = other
	}
	if d.Id == 0 {
		if isNew = true; len(t.of) >= maxDepartments {
			return nil, false, errTooMany
		}
		d.Id = next
	} else if before := t.of[d.Id]; before == nil {
		return nil, false, errNoDepartment
	} else {
		d.Members = before.Members
	}
	d.Parent, d.Name, d.Position, d.Hidden = parent, strings.TrimSpace(in.Name), in.Position, in.Hidden
	return d, isNew, nil
}

// PutDepartments adds and changes departments.
func (s *Service) PutDepartments(ctx context.Context, by id.User, r *chatv1.PutDepartmentsRequest) (*chatv1.PutDepartmentsResponse, error) {
	if len(r.Departments) == 0 || len(r.Departments) > maxPerCall {
		return nil, errCount
	}
	for _, in := range r.Departments {
		if _, err := parseName(in.Name); err != nil {
			return nil, err
		}
		if err := checkLine(in.ExternalId, 64); err != nil {
			return nil, err
		}
	}
	ids, err := s.nextIDs(ctx, len(r.Departments))
	if err != nil {
		return nil, err
	}
	var out *chatv1.PutDepartmentsResponse
	err = s.change(ctx, by, r.Organization, func(tx *sql.Tx, o *chatv1.Organization) ([]clusterevent.Event, error) {
		out = &chatv1.PutDepartmentsResponse{}
		t, err := readTree(ctx, tx, r.Organization)
		if err != nil {
			return nil, err
		}
		moved := false
		for i, in := range r.Departments {
			d, isNew, err := t.place(in, ids[i])
			if err != nil {
				return nil, err
			}
			moved = moved || !isNew && t.of[d.Id].Parent != d.Parent
			t.add(d)
			if err := putDepartment(ctx, tx, r.Organization, d, isNew); err != nil {
				return nil, err
			}
			out.Departments = append(out.Departments, d)
		}
		if err := t.checkDepth(); err != nil {
			return nil, err
		}
		if !moved {
			return nil, nil
		}
		var events []clusterevent.Event
		if o.Messaging == chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_DEPARTMENT { // no other rule reads the tree
			events = append(events, clusterevent.Event{Kind: everybodyEvent})
		}
		return events, markPending(ctx, tx, r.Organization)
	})
	return out, err
}

// nextIDs generates ids before a transaction, which must not wait for them.
func (s *Service) nextIDs(ctx context.Context, n int) ([]uint64, error) {
	ids := make([]uint64, n)
	for i := range ids {
		var err error
		if ids[i], err = s.deps.IDs.Next(ctx); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func putDepartment(ctx context.Context, tx *sql.Tx, org uint64, d *chatv1.Department, isNew bool) error {
	if isNew {
		if _, err := tx.ExecContext(ctx, `UPDATE organizations SET departments = departments + 1 WHERE id = $1`, int64(org)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO departments (id, organization, parent, name, external_id, hidden, position) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			int64(d.Id), int64(org), int64(d.Parent), d.Name, orNull(d.ExternalId), d.Hidden, d.Position)
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE departments SET parent = $3, name = $4, external_id = $5, hidden = $6, position = $7 WHERE id = $1 AND organization = $2`,
		int64(d.Id), int64(org), int64(d.Parent), d.Name, orNull(d.ExternalId), d.Hidden, d.Position)
	return err
}

// RemoveDepartments removes empty departments.
func (s *Service) RemoveDepartments(ctx context.Context, by id.User, r *chatv1.RemoveDepartmentsRequest) error {
	if len(r.Departments) == 0 || len(r.Departments) > maxPerCall {
		return errCount
	}
	return s.change(ctx, by, r.Organization, func(tx *sql.Tx, _ *chatv1.Organization) ([]clusterevent.Event, error) {
		for _, d := range r.Departments {
			var uses int
			if err := tx.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM departments WHERE organization = $2 AND parent = $1) + (SELECT count(*) FROM organization_groups WHERE organization = $2 AND department = $1)
				+ (SELECT count(*) FROM departments WHERE organization = $2 AND id = $1 AND members > 0)`, int64(d), int64(r.Organization)).Scan(&uses); err != nil {
				return nil, err
			}
			if uses > 0 && d != 0 {
				return nil, errNotEmpty
			}
			done, err := tx.ExecContext(ctx, `DELETE FROM departments WHERE id = $1 AND organization = $2`, int64(d), int64(r.Organization))
			if err != nil {
				return nil, err
			}
			n, err := done.RowsAffected()
			if err == nil {
				_, err = tx.ExecContext(ctx, `UPDATE organizations SET departments = departments - $2 WHERE id = $1`, int64(r.Organization), n)
			}
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}

// ListDepartments returns a page of the departments below one.
func (s *Service) ListDepartments(ctx context.Context, by id.User, r *chatv1.ListDepartmentsRequest) (*chatv1.ListDepartmentsResponse, error) {
	v, err := s.viewer(ctx, r.Organization, by)
	if err != nil {
		return nil, err
	}
	if r.Parent != 0 {
		if err := v.mustSee(ctx, r.Parent); err != nil {
			return nil, err
		}
	}
	limit := pageLimit(r.Limit)
	position, after := int64(-1<<31), int64(0)
	if r.Page != "" {
		first, second, _ := strings.Cut(r.Page, ".")
		p, err1 := strconv.ParseInt(first, 10, 32)
		a, err2 := strconv.ParseInt(second, 10, 64)
		if err1 != nil || err2 != nil {
			return nil, pagetoken.ErrBad
		}
		position, after = p, a
	}
	out := &chatv1.ListDepartmentsResponse{}
	shown, args := v.shown(7)
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, parent, name, external_id, position, hidden, members FROM departments
		WHERE organization = $1 AND parent = $2 AND (position, id) > ($3, $4) AND ($5 OR NOT hidden OR id IN (`+shown+`))
		ORDER BY position, id LIMIT $6`, append([]any{int64(r.Organization), int64(r.Parent), position, after, v.isAdmin(), limit + 1}, args...)...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		d, err := scanDepartment(rows)
		out.Departments = append(out.Departments, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(out.Departments) > limit {
		out.Departments = out.Departments[:limit]
		last := out.Departments[limit-1]
		out.Next = strconv.Itoa(int(last.Position)) + "." + strconv.FormatUint(last.Id, 10)
	}
	return out, nil
}

func pageLimit(limit uint32) int {
	if limit == 0 || limit > maxPerCall {
		return maxPerCall
	}
	return int(limit)
}
