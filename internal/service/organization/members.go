package organization

import (
	"context"
	"database/sql"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// membersOf returns those of at most 200 users who are members, with their departments by id.
func membersOf(ctx context.Context, q sqldb.Querier, org uint64, users []id.User) (map[uint64]*chatv1.OrganizationMember, error) {
	of := map[uint64]*chatv1.OrganizationMember{}
	if len(users) == 0 {
		return of, nil
	}
	marks, args := sqldb.Placeholders(2, users, func(u id.User) int64 { return int64(u) })
	args = append([]any{int64(org)}, args...)
	rows, err := q.QueryContext(ctx, `SELECT member, role, name, title, employee_number, phone FROM organization_members WHERE organization = $1 AND member IN (`+marks+`)`, args...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
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
	return of, sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
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
	if len(r.Users) > 0 {
		users := make([]id.User, len(r.Users))
		for i, u := range r.Users {
			users[i] = id.User(u)
		}
		list, err := v.members(ctx, users)
		return &chatv1.ListOrganizationMembersResponse{Members: list}, err
	}
	if r.Department != 0 {
		if err := v.mustSee(ctx, r.Department); err != nil {
			return nil, err
		}
	}
	return v.page(ctx, r)
}

// maxReads bounds the reads for a page: members whom the viewer does not see may be between others.
const maxReads = 50

// page returns the members whom the viewer sees from a page on. Its next page names the last one of them, and nobody whom the viewer does not see, as
// long as there are fewer than 10,000 of these in a row.
func (v *viewer) page(ctx context.Context, r *chatv1.ListOrganizationMembersRequest) (*chatv1.ListOrganizationMembersResponse, error) {
	limit := pageLimit(r.Limit)
	out := &chatv1.ListOrganizationMembersResponse{}
	at, last, reads := r.Page, "", 0
	for n := limit + 1; ; n = maxPerCall {
		places, err := v.read(ctx, r, at, n)
		if err != nil {
			return nil, err
		}
		users := make([]id.User, len(places))
		tokens := map[uint64]string{}
		for i, p := range places {
			users[i], tokens[uint64(p.user)], at = p.user, p.token, p.token
		}
		list, err := v.members(ctx, users)
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			if len(out.Members) == limit {
				out.Next = last
				return out, nil
			}
			out.Members, last = append(out.Members, m), tokens[m.User]
		}
		if len(places) < n {
			return out, nil
		}
		if reads++; reads == maxReads {
			out.Next = at
			return out, nil
		}
	}
}

// place is a member in the order of a list, and the token of the page behind.
type place struct {
	user  id.User
	token string
}

// read returns the next members of a list, whether or not the viewer sees them.
func (v *viewer) read(ctx context.Context, r *chatv1.ListOrganizationMembersRequest, page string, n int) ([]place, error) {
	switch {
	case r.Department != 0:
		return v.s.placesOfDepartment(ctx, r.Department, page, n)
	case r.TitlePrefix != "":
		return v.s.placesByKey(ctx, `SELECT title_key, member FROM organization_members WHERE organization = $1 AND (title_key, member) > ($2, $3) AND title_key < $4 ORDER BY title_key, member LIMIT $5`,
			r.Organization, r.TitlePrefix, page, n)
	}
	return v.s.placesByKey(ctx, `SELECT name_key, member FROM organization_members WHERE organization = $1 AND (name_key, member) > ($2, $3) AND name_key < $4 ORDER BY name_key, member LIMIT $5`,
		r.Organization, r.NamePrefix, page, n)
}

// placesOfDepartment returns a department's next members, by user id.
func (s *Service) placesOfDepartment(ctx context.Context, department uint64, page string, n int) (list []place, err error) {
	after := uint64(0)
	if page != "" {
		if after, err = strconv.ParseUint(page, 10, 63); err != nil {
			return nil, pagetoken.ErrBad
		}
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member FROM department_members WHERE department = $1 AND member > $2 ORDER BY member LIMIT $3`, int64(department), int64(after), n)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var p place
		err := rows.Scan(&p.user)
		p.token = p.user.String()
		list = append(list, p)
		return err
	})
	return list, err
}

// placesByKey returns the next members by a text that begins with a prefix.
func (s *Service) placesByKey(ctx context.Context, query string, org uint64, prefix, page string, n int) (list []place, err error) {
	key := searchKey(prefix)
	end := append(searchKey(prefix), 0xff) // no UTF-8 text has this byte
	after := uint64(0)
	if page != "" {
		number, text, _ := strings.Cut(page, ".")
		var err1 error
		after, err = strconv.ParseUint(number, 10, 63)
		if key, err1 = hex.DecodeString(text); err != nil || err1 != nil || len(text) > 2000 {
			return nil, pagetoken.ErrBad
		}
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, int64(org), key, int64(after), end, n)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var p place
		var at []byte
		err := rows.Scan(&at, &p.user)
		p.token = p.user.String() + "." + hex.EncodeToString(at)
		list = append(list, p)
		return err
	})
	return list, err
}
