package organization_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	toEveryone     = chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_EVERYONE
	toOrganization = chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_ORGANIZATION
	toInside       = chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_INSIDE
	toDepartment   = chatv1.OrganizationMessaging_ORGANIZATION_MESSAGING_DEPARTMENT
)

func TestDepartmentsFormNoCycle(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	d := w.departments(org, "a", "b", "c")
	move := func(pairs ...uint64) error {
		r := &chatv1.PutDepartmentsRequest{Organization: org}
		for i := 0; i < len(pairs); i += 2 {
			r.Departments = append(r.Departments, &chatv1.DepartmentInput{Id: pairs[i], Parent: pairs[i+1], Name: "x"})
		}
		_, err := w.PutDepartments(t.Context(), boss, r)
		return err
	}
	w.refused("a below c", move(d[0], d[2]), "department_cycle")
	w.refused("a below itself", move(d[0], d[0]), "department_cycle")
	w.refused("a swap in one call that leaves b below c", move(d[1], d[2]), "department_cycle")
	must(t, move(d[1], 0, d[0], d[1], d[2], d[0])) // what is a cycle in between may be none at the end
	must(t, move(d[0], 0, d[1], 0, d[2], 0))
	for range 20 { // of two moves below each other, one is refused, in any order
		results := make([]error, 2)
		var both sync.WaitGroup
		for i := range results {
			both.Go(func() { results[i] = move(d[i], d[1-i]) })
		}
		both.Wait()
		if got := []string{reason(results[0]), reason(results[1])}; !slices.Contains(got, "") || !slices.Contains(got, "department_cycle") {
			t.Fatalf("two moves below each other are answered with %q", got)
		}
		must(t, move(d[0], 0, d[1], 0))
	}
}

func TestBatchesAreAppliedWholeOrNotAtAll(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	d := w.departments(org, "a")
	_, err := w.PutDepartments(t.Context(), boss, &chatv1.PutDepartmentsRequest{Organization: org, Departments: []*chatv1.DepartmentInput{{Name: "good"}, {Name: "bad", Parent: 77}}})
	w.refused("departments with a wrong one", err, "no_department")
	_, err = w.PutOrganizationMembers(t.Context(), id.Caller{User: boss}, &chatv1.PutOrganizationMembersRequest{Organization: org, Members: []*chatv1.OrganizationMemberInput{input(anna, d[0]), input(ben, 77)}})
	w.refused("members with a wrong one", err, "no_department")
	err = w.RemoveDepartments(t.Context(), boss, &chatv1.RemoveDepartmentsRequest{Organization: org, Departments: []uint64{d[0], d[0]}})
	must(t, err)
	d = w.departments(org, "a")
	w.put(org, anna, d[0])
	free := w.departments(org, "free")
	err = w.RemoveDepartments(t.Context(), boss, &chatv1.RemoveDepartmentsRequest{Organization: org, Departments: []uint64{free[0], d[0]}})
	w.refused("the removal of one with members", err, "department_not_empty")
	_, err = w.RemoveOrganizationMembers(t.Context(), boss, &chatv1.RemoveOrganizationMembersRequest{Organization: org, Users: []uint64{uint64(anna), uint64(boss)}})
	w.refused("the removal of the owner", err, "organization_owner")
	w.counts(org, 2, "a 1, free 0")
}

// counts compares the stored numbers of members and departments with the rows.
func (w *fixture) counts(org uint64, members uint32, want string) {
	w.t.Helper()
	o, err := w.GetOrganization(w.t.Context(), boss, org)
	must(w.t, err)
	list, err := w.ListDepartments(w.t.Context(), boss, &chatv1.ListDepartmentsRequest{Organization: org})
	must(w.t, err)
	var departments []string
	for _, d := range list.Departments {
		departments = append(departments, fmt.Sprintf("%s %d", d.Name, d.Members))
	}
	slices.Sort(departments)
	var rows, stored, all int
	must(w.t, w.db.Read().QueryRowContext(w.t.Context(), `SELECT (SELECT count(*) FROM organization_members WHERE organization = $1), (SELECT departments FROM organizations WHERE id = $1), (SELECT count(*) FROM departments WHERE organization = $1)`, int64(org)).
		Scan(&rows, &stored, &all))
	if got := strings.Join(departments, ", "); o.Members != members || rows != int(members) || got != want || stored != all {
		w.t.Errorf("the organization counts %d members of %d, %d departments of %d, and %s; want %d, and %s", o.Members, rows, stored, all, got, members, want)
	}
}

func TestConcurrentChangesAreCounted(t *testing.T) {
	w := open(t)
	other := w.node("node-2")
	org := w.create("Acme")
	d := w.departments(org, "a")
	var group sync.WaitGroup
	for i := range 20 {
		s := w.Service
		if i%2 == 1 {
			s = other
		}
		group.Go(func() {
			u := id.User(100 + i%10) // each member is put by both nodes
			if _, err := s.PutOrganizationMembers(t.Context(), id.Caller{User: boss}, &chatv1.PutOrganizationMembersRequest{Organization: org, Members: []*chatv1.OrganizationMemberInput{input(u, d[0])}}); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() { // those of others come and go
			u := id.User(200 + i)
			if _, err := s.PutOrganizationMembers(t.Context(), id.Caller{User: boss}, &chatv1.PutOrganizationMembersRequest{Organization: org, Members: []*chatv1.OrganizationMemberInput{input(u, d[0])}}); err != nil {
				t.Error(err)
			}
			if _, err := s.RemoveOrganizationMembers(t.Context(), boss, &chatv1.RemoveOrganizationMembersRequest{Organization: org, Users: []uint64{uint64(u)}}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	w.counts(org, 11, "a 10")
}

// Of two organizations the strictest decides, whichever of the two users it is.
func TestTheStrictestOrganizationWins(t *testing.T) {
	w := open(t)
	one, two := w.create("one"), w.create("two")
	d := w.departments(one, "a", "b")
	e := w.departments(two, "c", "d")
	w.put(one, anna, d[0])
	w.put(one, ben, d[1])
	w.put(two, ben, e[1])
	w.put(two, cleo, e[0])
	relation := func(a, b id.User) string {
		refused, friendsOnly, likeFriends, err := w.RelationOf(t.Context(), a, b)
		must(t, err)
		again, friendsAgain, likeAgain, err := w.RelationOf(t.Context(), b, a)
		if must(t, err); again != refused || friendsAgain != friendsOnly || likeAgain != likeFriends {
			t.Errorf("the relation of %d and %d depends on their order", a, b)
		}
		switch {
		case refused:
			return "refused"
		case friendsOnly:
			return "friends"
		}
		return "allowed"
	}
	for _, c := range []struct {
		one, two                  chatv1.OrganizationMessaging
		annaBen, benCleo, annaDan string
	}{
		{toEveryone, toEveryone, "allowed", "allowed", "allowed"},
		{toOrganization, toEveryone, "allowed", "friends", "friends"},
		{toEveryone, toOrganization, "friends", "allowed", "allowed"},
		{toOrganization, toInside, "refused", "friends", "friends"},
		{toInside, toEveryone, "allowed", "refused", "refused"},
		{toInside, toOrganization, "friends", "refused", "refused"},
		{toDepartment, toEveryone, "allowed", "refused", "refused"},
		{toEveryone, toDepartment, "refused", "allowed", "allowed"},
		{toInside, toInside, "refused", "refused", "refused"},
	} {
		w.messaging(one, c.one)
		w.messaging(two, c.two)
		if got := [3]string{relation(anna, ben), relation(ben, cleo), relation(anna, dan)}; got != [3]string{c.annaBen, c.benCleo, c.annaDan} {
			t.Errorf("%v and %v: %q, want %q", c.one, c.two, got, []string{c.annaBen, c.benCleo, c.annaDan})
		}
	}
}

// A change that may concern relations raises their version, also on the other nodes and before it returns. No other change does: all cached
// relations of a server would be read again because somebody has a new title.
func TestVersionsOfRelations(t *testing.T) {
	w := open(t)
	other := w.node("node-2")
	w.run(w.Service)
	w.run(other)
	org := w.create("Acme")
	d := w.departments(org, "a", "b")
	w.put(org, anna, d[0])
	raises := func(what string, want bool, change func()) {
		t.Helper()
		own, others := w.Version(anna, ben), other.Version(anna, ben)
		change()
		if got, there := w.Version(anna, ben) != own, other.Version(anna, ben) != others; got != want || there != want {
			t.Errorf("%s raises the version: %v, on another node: %v; want %v", what, got, there, want)
		}
	}
	name := "New"
	raises("a member", true, func() { w.put(org, ben, d[1]) })
	raises("the same member", false, func() { w.put(org, ben, d[1]) })
	raises("another department", true, func() { w.put(org, ben, d[0]) })
	raises("a title", false, func() {
		in := input(ben, d[0])
		in.Title = "clerk"
		w.putInput(org, in)
	})
	raises("a name", false, func() {
		_, err := w.UpdateOrganization(t.Context(), boss, &chatv1.UpdateOrganizationRequest{Organization: org, Name: &name})
		must(t, err)
	})
	move := func(parent uint64) {
		_, err := w.PutDepartments(t.Context(), boss, &chatv1.PutDepartmentsRequest{Organization: org, Departments: []*chatv1.DepartmentInput{{Id: d[1], Name: "b", Parent: parent}}})
		must(t, err)
	}
	raises("a move where no rule reads the tree", false, func() { move(0) })
	raises("a rule", true, func() { w.messaging(org, toDepartment) })
	raises("a move", true, func() { move(d[0]) })
	raises("the end of a membership", true, func() { w.remove(org, anna) })
}

func TestRepeatedImportsChangeNothing(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	// Two departments of the same name, and one whose name looks like a path.
	_, err := w.PutDepartments(t.Context(), boss, &chatv1.PutDepartmentsRequest{Organization: org, Departments: []*chatv1.DepartmentInput{{Name: "Sales"}, {Name: "Sales"}, {Name: "R/D"}}})
	must(t, err)
	csv := "user,employee_number,departments,manager_of\n"
	for i := range 300 {
		csv += fmt.Sprintf("%d,n%d,Sales;R/D,Sales/South\n", 100+i, i)
	}
	run := func() string {
		t.Helper()
		out, err := w.ImportOrganizationMembers(t.Context(), id.Caller{User: boss}, &chatv1.ImportOrganizationMembersRequest{Organization: org, Csv: csv})
		must(t, err)
		return fmt.Sprint(out.Added, out.Changed, out.Unchanged, out.DepartmentsAdded, out.Wrong)
	}
	if got := run(); got != "300 0 0 3 0" { // R, R/D below it, and Sales/South
		t.Errorf("the first import: %s", got)
	}
	for range 10 { // a map has no order
		if got := run(); got != "0 0 300 0 0" {
			t.Fatalf("a repeated import: %s", got)
		}
	}
	w.counts(org, 301, "R 0, R/D 0, Sales 0, Sales 300")
}

// One user who is in too many organizations keeps no others from an import.
func TestImportReportsUsersOfTooManyOrganizations(t *testing.T) {
	w := open(t)
	for i := range 20 {
		w.put(w.create(fmt.Sprint("other ", i)), anna)
	}
	// Boss is in 20, too; so another user owns this one.
	o, err := w.CreateOrganization(t.Context(), id.Caller{Server: true}, &chatv1.CreateOrganizationRequest{Name: "Acme", Owner: uint64(ben)})
	must(t, err)
	out, err := w.ImportOrganizationMembers(t.Context(), id.Caller{User: ben}, &chatv1.ImportOrganizationMembersRequest{Organization: o.Id, Partial: true, Csv: fmt.Sprintf("user\n%d\n%d\n", anna, cleo)})
	must(t, err)
	if out.Added != 1 || len(out.Errors) != 1 || out.Errors[0].Line != 2 || out.Errors[0].Reason != "too_many_organizations" {
		t.Errorf("the import gives %v", out)
	}
}

// A page names nobody whom the reader does not see, also not in the token of the next page.
func TestPagesDoNotNameHiddenMembers(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	d := w.departments(org, "hidden", "below")
	open := w.departments(org, "open")
	_, err := w.PutDepartments(t.Context(), boss, &chatv1.PutDepartmentsRequest{Organization: org, Departments: []*chatv1.DepartmentInput{{Id: d[0], Name: "hidden", ExternalId: "hidden", Hidden: true}}})
	must(t, err)
	w.put(org, anna)
	w.put(org, ben, d[1])
	w.put(org, cleo, open[0], d[0])
	var r chatv1.PutOrganizationMembersRequest
	for i := range 200 {
		r.Members = append(r.Members, input(id.User(1000+i), d[i%2]))
	}
	r.Organization = org
	_, err = w.PutOrganizationMembers(t.Context(), id.Caller{User: boss}, &r)
	must(t, err)
	w.put(org, dan, open[0])
	w.put(org, id.User(2000))
	pages := func(by id.User, q *chatv1.ListOrganizationMembersRequest) (users []uint64) {
		t.Helper()
		for q.Organization = org; ; {
			page, err := w.ListOrganizationMembers(t.Context(), by, q)
			must(t, err)
			for _, m := range page.Members {
				users = append(users, m.User)
				if by == anna && slices.ContainsFunc(m.Departments, func(m *chatv1.DepartmentMembership) bool { return m.Department != open[0] }) {
					t.Errorf("member %d is shown with %v", m.User, m.Departments)
				}
			}
			if q.Page = page.Next; page.Next == "" {
				return users
			}
			if last := fmt.Sprint(users[len(users)-1]); page.Next != last && !strings.HasPrefix(page.Next, last+".") {
				t.Errorf("after %v the next page is %q", users, page.Next)
			}
		}
	}
	for limit := range uint32(4) {
		if got := pages(anna, &chatv1.ListOrganizationMembersRequest{Limit: limit}); !slices.Equal(got, []uint64{uint64(boss), uint64(anna), uint64(cleo), uint64(dan), 2000}) {
			t.Errorf("with limit %d anna sees %v", limit, got)
		}
		if got := pages(anna, &chatv1.ListOrganizationMembersRequest{Limit: limit, Department: open[0]}); !slices.Equal(got, []uint64{uint64(cleo), uint64(dan)}) {
			t.Errorf("with limit %d anna sees %v in a department", limit, got)
		}
	}
	if got := pages(boss, &chatv1.ListOrganizationMembersRequest{Limit: 50}); len(got) != 206 {
		t.Errorf("an admin sees %d members", len(got))
	}
	_, err = w.CreateOrganizationGroup(t.Context(), id.Caller{User: anna}, &chatv1.CreateOrganizationGroupRequest{Organization: org, Title: "x", Key: "x", Members: []uint64{uint64(ben)}})
	w.refused("a circle with a hidden member", err, "not_in_organization")
}

func TestHiddenDepartmentsAreNotInPages(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	w.put(org, anna)
	_, err := w.PutDepartments(t.Context(), boss, &chatv1.PutDepartmentsRequest{Organization: org, Departments: []*chatv1.DepartmentInput{{Name: "a", Hidden: true}, {Name: "b"}, {Name: "c", Hidden: true}, {Name: "d"}}})
	must(t, err)
	list, err := w.ListDepartments(t.Context(), anna, &chatv1.ListDepartmentsRequest{Organization: org, Limit: 1})
	must(t, err)
	next, err := w.ListDepartments(t.Context(), anna, &chatv1.ListDepartmentsRequest{Organization: org, Limit: 1, Page: list.Next})
	must(t, err)
	if len(list.Departments) != 1 || list.Departments[0].Name != "b" || list.Next != fmt.Sprint("0.", list.Departments[0].Id) || len(next.Departments) != 1 || next.Departments[0].Name != "d" || next.Next != "" {
		t.Errorf("the pages are %v and %v", list, next)
	}
}

// A member leaves alone, and in nobody else's name. The owner stays, and with the owner an admin.
func TestMembersLeave(t *testing.T) {
	w := open(t)
	org := w.create("Acme")
	d := w.departments(org, "a")
	w.put(org, anna, d[0])
	w.put(org, ben, d[0])
	group, err := w.group(boss, &chatv1.CreateOrganizationGroupRequest{Organization: org, Department: d[0], Key: "a"})
	must(t, err)
	leave := func(by id.User, users ...uint64) error {
		_, err := w.RemoveOrganizationMembers(t.Context(), by, &chatv1.RemoveOrganizationMembersRequest{Organization: org, Users: users})
		return err
	}
	w.refused("a member who removes another", leave(anna, uint64(ben)), "not_organization_admin")
	w.refused("a member who takes another along", leave(anna, uint64(anna), uint64(ben)), "not_organization_admin")
	w.refused("the owner who leaves", leave(boss, uint64(boss)), "organization_owner")
	w.counts(org, 3, "a 2")
	before := w.Version(anna, ben)
	must(t, leave(anna, uint64(anna)))
	w.counts(org, 2, "a 1")
	if _, err := w.GetOrganization(t.Context(), anna, org); reason(err) != "no_organization" {
		t.Errorf("a former member reads the organization: %v", err)
	}
	if w.Version(anna, ben) == before {
		t.Error("after a member has left, the relations of that user are not checked again")
	}
	if slices.Contains(w.membersOf(group), anna) {
		t.Error("a former member is still in a group of the organization")
	}
	w.refused("leaving again", leave(anna, uint64(anna)), "no_organization")
}
