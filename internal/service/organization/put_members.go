package organization

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errPlaces     = errs.New(errs.Invalid, "too_many_departments", "a member has at most 20 departments, each once")
	errNumber     = errs.New(errs.Conflict, "employee_number_taken", "another member has this employee number; change that one first")
	errNoExternal = errs.New(errs.NotFound, "no_user", "no user has this id, external id or employee number; the user has to sign in once first")
	errFull       = errs.New(errs.Exhausted, "organization_full", "an organization has at most 200,000 members; remove some first")
	errMemberOf   = errs.New(errs.Exhausted, "too_many_organizations", "a user is in at most 20 organizations; remove the user from another one first")
	errTwice      = errs.New(errs.Invalid, "member_twice", "name each member once in a call")
)

// PutOrganizationMembers adds and changes members.
func (s *Service) PutOrganizationMembers(ctx context.Context, by id.Caller, r *chatv1.PutOrganizationMembersRequest) (*chatv1.PutOrganizationMembersResponse, error) {
	if len(r.Members) == 0 || len(r.Members) > maxPerCall {
		return nil, errCount
	}
	for _, in := range r.Members {
		if err := checkInput(in); err != nil {
			return nil, err
		}
	}
	// Before others are looked up: only admins learn who exists.
	if o, err := s.GetOrganization(ctx, by.User, r.Organization); err != nil {
		return nil, err
	} else if o.Role < roleAdmin {
		return nil, errNotAdmin
	}
	members, err := s.resolve(ctx, r.Organization, r.Members)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(members, nil); i >= 0 {
		return nil, errNoExternal
	}
	if without, err := s.withoutConsent(ctx, by, r.Organization, members); err != nil {
		return nil, err
	} else if len(without) > 0 {
		return nil, errConsent
	}
	var out *chatv1.PutOrganizationMembersResponse
	err = s.change(ctx, by.User, r.Organization, func(tx *sql.Tx, _ *chatv1.Organization) ([]clusterevent.Event, error) {
		out = &chatv1.PutOrganizationMembersResponse{}
		var events []clusterevent.Event
		out.Added, out.Changed, events, err = s.putMembers(ctx, tx, r.Organization, members)
		for _, m := range members {
			out.Users = append(out.Users, m.User)
		}
		return events, err
	})
	return out, err
}

// checkInput checks the texts of a member.
func checkInput(in *chatv1.OrganizationMemberInput) error {
	for _, t := range []struct {
		text string
		most int
	}{{in.ExternalId, 256}, {in.EmployeeNumber, 64}, {in.Title, 100}, {in.Phone, 32}} {
		if err := checkLine(t.text, t.most); err != nil {
			return err
		}
	}
	if in.Name != "" {
		if _, err := parseName(in.Name); err != nil {
			return err
		}
	}
	seen := map[uint64]bool{}
	for _, d := range in.Departments {
		if seen[d.Department] {
			return errPlaces
		}
		seen[d.Department] = true
	}
	if len(seen) > maxPlaces {
		return errPlaces
	}
	return nil
}

// resolve returns the members that inputs describe, nil for those whose user is not known. It makes a few queries for each 200.
func (s *Service) resolve(ctx context.Context, org uint64, inputs []*chatv1.OrganizationMemberInput) ([]*chatv1.OrganizationMember, error) {
	members := make([]*chatv1.OrganizationMember, len(inputs))
	for first := 0; first < len(inputs); first += maxPerCall {
		some := inputs[first:min(first+maxPerCall, len(inputs))]
		users, err := s.usersOf(ctx, org, some)
		if err != nil {
			return nil, err
		}
		profiles, err := s.deps.Accounts.GetUsers(ctx, &accountv1.GetUsersRequest{Users: append(slices.Clone(users), 0)[:len(users)]})
		if err != nil {
			return nil, err
		}
		names := map[uint64]string{}
		for _, p := range profiles {
			names[p.Id] = p.DisplayName
		}
		for i, in := range some {
			profile, exists := names[users[i]]
			if !exists {
				continue
			}
			m := &chatv1.OrganizationMember{User: users[i], Name: strings.TrimSpace(in.Name), Title: in.Title, EmployeeNumber: in.EmployeeNumber, Phone: in.Phone, Role: roleMember}
			if m.Name == "" {
				m.Name = profile
			}
			if in.Admin {
				m.Role = roleAdmin
			}
			for _, d := range in.Departments {
				m.Departments = append(m.Departments, &chatv1.DepartmentMembership{Department: d.Department, Manager: d.Manager})
			}
			slices.SortFunc(m.Departments, func(a, b *chatv1.DepartmentMembership) int {
				return int(min(1, max(-1, int64(a.Department)-int64(b.Department))))
			})
			members[first+i] = m
		}
	}
	return members, nil
}

// usersOf returns the users that at most 200 inputs name; 0 for unknown ones.
func (s *Service) usersOf(ctx context.Context, org uint64, inputs []*chatv1.OrganizationMemberInput) ([]uint64, error) {
	var external []string
	for _, in := range inputs {
		if in.User == 0 && in.ExternalId != "" {
			external = append(external, in.ExternalId)
		}
	}
	byExternal := map[string]id.User{}
	var err error
	if len(external) > 0 {
		if byExternal, err = s.deps.Accounts.UsersByExternalID(ctx, external); err != nil {
			return nil, err
		}
	}
	users := make([]uint64, len(inputs))
	for i, in := range inputs {
		switch {
		case in.User != 0:
			users[i] = in.User
			if in.User > 1<<63-1 {
				users[i] = 0
			}
		case in.ExternalId != "":
			users[i] = uint64(byExternal[in.ExternalId])
		case in.EmployeeNumber != "":
			err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT member FROM organization_members WHERE organization = $1 AND employee_number = $2`, int64(org), in.EmployeeNumber).Scan(&users[i])
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return nil, err
			}
		}
	}
	return users, nil
}

// putMembers stores at most 200 members, all of different users, and returns the events of those that changed.
func (s *Service) putMembers(ctx context.Context, tx *sql.Tx, org uint64, members []*chatv1.OrganizationMember) (added, changed uint32, events []clusterevent.Event, err error) {
	seen := map[uint64]bool{}
	var users []id.User
	for _, m := range members {
		if seen[m.User] {
			return 0, 0, nil, errTwice
		}
		seen[m.User] = true
		users = append(users, id.User(m.User))
	}
	before, err := membersOf(ctx, tx, org, users)
	if err != nil {
		return 0, 0, nil, err
	}
	if err := checkDepartments(ctx, tx, org, members); err != nil {
		return 0, 0, nil, err
	}
	counts := map[uint64]int{}
	for _, m := range members {
		old := before[m.User]
		if old != nil && old.Role == roleOwner {
			m.Role = roleOwner
		}
		if old != nil && proto.Equal(old, m) {
			continue
		}
		if old == nil {
			if err := checkMemberships(ctx, tx, id.User(m.User)); err != nil {
				return 0, 0, nil, err
			}
			if _, err := s.endInvitation(ctx, tx, org, id.User(m.User)); err != nil {
				return 0, 0, nil, err
			}
			added++
		} else {
			changed++
		}
		if old.GetRole() == roleAdmin && m.Role < roleAdmin {
			if err := s.endInvitationsBy(ctx, tx, org, id.User(m.User)); err != nil {
				return 0, 0, nil, err
			}
		}
		if err := putMemberRow(ctx, tx, org, m); err != nil {
			return 0, 0, nil, err
		}
		if old != nil && slices.EqualFunc(old.Departments, m.Departments, func(a, b *chatv1.DepartmentMembership) bool { return proto.Equal(a, b) }) {
			continue // neither relations nor groups depend on the rest
		}
		if err := putPlaces(ctx, tx, org, id.User(m.User), old.GetDepartments(), m.Departments, counts); err != nil {
			return 0, 0, nil, err
		}
		events = append(events, clusterevent.Event{Kind: memberEvent, User: id.User(m.User)})
	}
	if len(events) == 0 {
		return added, changed, nil, nil
	}
	return added, changed, events, addCounts(ctx, tx, org, int(added), counts)
}

// checkMemberships fails if a user is in too many organizations.
func checkMemberships(ctx context.Context, tx *sql.Tx, u id.User) error {
	var n int
	err := tx.QueryRowContext(ctx, `SELECT count(*) FROM organization_members WHERE member = $1`, int64(u)).Scan(&n)
	if err == nil && n >= maxMemberOf {
		err = errMemberOf
	}
	return err
}

// checkDepartments fails unless all departments of members are in the organization.
func checkDepartments(ctx context.Context, tx *sql.Tx, org uint64, members []*chatv1.OrganizationMember) error {
	var list []uint64
	for _, m := range members {
		for _, d := range m.Departments {
			list = append(list, d.Department)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	for some := range slices.Chunk(list, maxPerCall) {
		marks, args := sqldb.Placeholders(2, some, func(d uint64) int64 { return int64(d) })
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM departments WHERE organization = $1 AND id IN (`+marks+`)`, append([]any{int64(org)}, args...)...).Scan(&n); err != nil {
			return err
		}
		if n < len(some) {
			return errNoDepartment
		}
	}
	return nil
}

func putMemberRow(ctx context.Context, tx *sql.Tx, org uint64, m *chatv1.OrganizationMember) error {
	if m.EmployeeNumber != "" {
		var other int64
		err := tx.QueryRowContext(ctx, `SELECT member FROM organization_members WHERE organization = $1 AND employee_number = $2 AND member <> $3`, int64(org), m.EmployeeNumber, int64(m.User)).Scan(&other)
		if err == nil {
			err = errNumber
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO organization_members (organization, member, role, name, name_key, title, title_key, employee_number, phone) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (organization, member) DO UPDATE SET role = $3, name = $4, name_key = $5, title = $6, title_key = $7, employee_number = $8, phone = $9`,
		int64(org), int64(m.User), m.Role, m.Name, searchKey(m.Name), m.Title, searchKey(m.Title), orNull(m.EmployeeNumber), m.Phone)
	return err
}

// searchKey is a text as it is compared. It is bytes, which both databases order alike.
func searchKey(text string) []byte { return []byte(strings.ToLower(text)) }

// putPlaces makes a member's departments those of now, and counts the difference.
func putPlaces(ctx context.Context, tx *sql.Tx, org uint64, u id.User, before, now []*chatv1.DepartmentMembership, counts map[uint64]int) error {
	for _, d := range before {
		counts[d.Department]--
	}
	if len(before) > 0 {
		if _, err := tx.ExecContext(ctx, `DELETE FROM department_members WHERE member = $1 AND organization = $2`, int64(u), int64(org)); err != nil {
			return err
		}
	}
	for _, d := range now {
		counts[d.Department]++
		if _, err := tx.ExecContext(ctx, `INSERT INTO department_members (department, member, organization, manager) VALUES ($1, $2, $3, $4)`, int64(d.Department), int64(u), int64(org), d.Manager); err != nil {
			return err
		}
	}
	return nil
}

// addCounts changes the numbers of members, and marks the groups of the organization as pending if their members may change.
func addCounts(ctx context.Context, tx *sql.Tx, org uint64, members int, departments map[uint64]int) error {
	for d, n := range departments {
		if n == 0 {
			continue
		}
		if _, err := tx.ExecContext(ctx, `UPDATE departments SET members = members + $3 WHERE id = $1 AND organization = $2`, int64(d), int64(org), n); err != nil {
			return err
		}
	}
	var total int
	if err := tx.QueryRowContext(ctx, `UPDATE organizations SET members = members + $2 WHERE id = $1 RETURNING members`, int64(org), members).Scan(&total); err != nil {
		return err
	}
	if total > maxMembers && members > 0 {
		return errFull
	}
	if members >= 0 && len(departments) == 0 { // no group has members of no department, and nobody leaves a circle
		return nil
	}
	return markPending(ctx, tx, org)
}

// errOwner: the owner is the admin who always remains, so an organization never lacks one.
var errOwner = errs.New(errs.Denied, "organization_owner", "the owner can neither leave the organization nor be removed from it; transfer it first")

// RemoveOrganizationMembers ends memberships, and takes the users out of the organization's groups. Each member may end the own one.
func (s *Service) RemoveOrganizationMembers(ctx context.Context, by id.User, r *chatv1.RemoveOrganizationMembersRequest) (*chatv1.RemoveOrganizationMembersResponse, error) {
	if len(r.Users) == 0 || len(r.Users) > maxPerCall {
		return nil, errCount
	}
	users := make([]id.User, len(r.Users))
	for i, u := range r.Users {
		users[i] = id.User(u)
	}
	least := roleAdmin
	if len(users) == 1 && users[0] == by {
		least = roleMember
	}
	var removed uint32
	err := s.changeAs(ctx, by, least, r.Organization, func(tx *sql.Tx, o *chatv1.Organization) (events []clusterevent.Event, err error) {
		removed = 0
		before, err := membersOf(ctx, tx, r.Organization, users)
		if err != nil {
			return nil, err
		}
		counts := map[uint64]int{}
		for u, m := range before {
			if u == o.Owner {
				return nil, errOwner
			}
			if _, err := tx.ExecContext(ctx, `DELETE FROM organization_members WHERE organization = $1 AND member = $2`, int64(r.Organization), int64(u)); err != nil {
				return nil, err
			}
			if err := putPlaces(ctx, tx, r.Organization, id.User(u), m.Departments, nil, counts); err != nil {
				return nil, err
			}
			if err := s.endInvitationsBy(ctx, tx, r.Organization, id.User(u)); err != nil {
				return nil, err
			}
			removed++
			events = append(events, clusterevent.Event{Kind: memberEvent, User: id.User(u)})
		}
		if removed == 0 {
			return nil, nil
		}
		return events, addCounts(ctx, tx, r.Organization, -int(removed), counts)
	})
	if err != nil {
		return nil, err
	}
	// Also if nothing changed: an earlier call may have failed here.
	return &chatv1.RemoveOrganizationMembersResponse{Removed: removed}, s.takeOut(ctx, r.Organization, users)
}
