package organization

import (
	"context"
	"database/sql"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// membersOf returns those of at most 200 users who are members, with their departments by id.
func membersOf(ctx context.Context, q querier, org uint64, users []id.User) (map[uint64]*chatv1.OrganizationMember, error) {
	of := map[uint64]*chatv1.OrganizationMember{}
	if len(users) == 0 {
		return of, nil
	}
	marks, args := sqldb.Placeholders(2, users, func(u id.User) int64 { return int64(u) })
	args = append([]any{int64(org)}, args...)
	rows, err := q.QueryContext(ctx, `SELECT member, role, name, title, employee_number, phone FROM organization_members WHERE organization = $1 AND member IN (`+marks+`)`, args...)
	err = scanAll(rows, err, func(rows *sql.Rows) error {
		m := &chatv1.OrganizationMember{}
		var number sql.NullString
		err := rows.Scan(&m.User, &m.Role, &m.Name, &m.Title, &number, &m.Phone)
		m.EmployeeNumber, of[m.User] = number.String, m
		return err
	})
	if err != nil {
		return nil, err
	}
	rows, err = q.QueryContext(ctx, `SELECT member, department, manager FROM department_members WHERE organization = $1 AND member IN (`+marks+`) ORDER BY member, department`, args...)
	return of, scanAll(rows, err, func(rows *sql.Rows) error {
		var u uint64
		d := &chatv1.DepartmentMembership{}
		if err := rows.Scan(&u, &d.Department, &d.Manager); err != nil {
			return err
		}
		if of[u] != nil {
			of[u].Departments = append(of[u].Departments, d)
		}
		return nil
	})
}

// ListOrganizationMembers returns a page of the address book.
func (s *Service) ListOrganizationMembers(ctx context.Context, by id.User, r *chatv1.ListOrganizationMembersRequest) (*chatv1.ListOrganizationMembersResponse, error) {
	v, err := s.viewer(ctx, r.Organization, by)
	if err != nil {
		return nil, err
	}
	if len(r.Users) > maxPerCall {
		return nil, errCount
	}
	for _, prefix := range []string{r.NamePrefix, r.TitlePrefix} {
		if err := checkLine(prefix, 100); err != nil {
			return nil, err
		}
	}
	limit := pageLimit(r.Limit)
	out := &chatv1.ListOrganizationMembersResponse{}
	var users []id.User
	switch {
	case len(r.Users) > 0:
		for _, u := range r.Users {
			users = append(users, id.User(u))
		}
	case r.Department != 0:
		if err := v.mustSee(ctx, r.Department); err != nil {
			return nil, err
		}
		users, out.Next, err = s.pageOfDepartment(ctx, r.Department, r.Page, limit)
	case r.TitlePrefix != "":
		users, out.Next, err = s.pageByKey(ctx, `SELECT title_key, member FROM organization_members WHERE organization = $1 AND (title_key, member) > ($2, $3) AND title_key < $4 ORDER BY title_key, member LIMIT $5`,
			r.Organization, r.TitlePrefix, r.Page, limit)
	default:
		users, out.Next, err = s.pageByKey(ctx, `SELECT name_key, member FROM organization_members WHERE organization = $1 AND (name_key, member) > ($2, $3) AND name_key < $4 ORDER BY name_key, member LIMIT $5`,
			r.Organization, r.NamePrefix, r.Page, limit)
	}
	if err != nil {
		return nil, err
	}
	of, err := membersOf(ctx, s.deps.DB.Read(), r.Organization, users)
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		if m := of[uint64(u)]; m != nil {
			out.Members = append(out.Members, m)
			delete(of, uint64(u))
		}
	}
	out.Members, err = v.filter(ctx, out.Members)
	return out, err
}

// pageOfDepartment returns a page of a department's members, by user id.
func (s *Service) pageOfDepartment(ctx context.Context, department uint64, page string, limit int) (users []id.User, next string, err error) {
	after := uint64(0)
	if page != "" {
		if after, err = strconv.ParseUint(page, 10, 63); err != nil {
			return nil, "", errPage
		}
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member FROM department_members WHERE department = $1 AND member > $2 ORDER BY member LIMIT $3`, int64(department), int64(after), limit+1)
	err = scanAll(rows, err, func(rows *sql.Rows) error {
		var u id.User
		err := rows.Scan(&u)
		users = append(users, u)
		return err
	})
	if err == nil && len(users) > limit {
		users = users[:limit]
		next = users[limit-1].String()
	}
	return users, next, err
}

// pageByKey returns a page of members by a text that begins with a prefix.
func (s *Service) pageByKey(ctx context.Context, query string, org uint64, prefix, page string, limit int) (users []id.User, next string, err error) {
	key := searchKey(prefix)
	end := append(searchKey(prefix), 0xff) // no UTF-8 text has this byte
	after := uint64(0)
	if page != "" {
		number, text, _ := strings.Cut(page, ".")
		var err1 error
		after, err = strconv.ParseUint(number, 10, 63)
		if key, err1 = hex.DecodeString(text); err != nil || err1 != nil || len(text) > 2000 {
			return nil, "", errPage
		}
	}
	var last []byte
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, int64(org), key, int64(after), end, limit+1)
	err = scanAll(rows, err, func(rows *sql.Rows) error {
		var u id.User
		var at []byte
		if err := rows.Scan(&at, &u); err != nil {
			return err
		}
		if users = append(users, u); len(users) == limit {
			last = at
		}
		return nil
	})
	if err == nil && len(users) > limit {
		users = users[:limit]
		next = users[limit-1].String() + "." + hex.EncodeToString(last)
	}
	return users, next, err
}
